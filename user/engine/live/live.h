/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A live run: traces processes or a program that it starts, until they end, the duration is over,
 * or a signal asks for the end. It ends in this order: detach, stop, drain, then the program is
 * waited for.
 */
#ifndef ENGINE_LIVE_LIVE_H
#define ENGINE_LIVE_LIVE_H

#include "engine/context.h"

enum engine_end live_run(struct engine *e);

#endif
