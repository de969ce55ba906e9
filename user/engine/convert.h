/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A conversion: what is read once (files, pipes, FIFOs, and what the rings of processes hold now)
 * goes into the sink. It ends where the inputs end; or at a signal, with the output finished: at once
 * if all inputs are files, else when the pipes have ended, whose writers get a second for it.
 */
#ifndef ENGINE_CONVERT_H
#define ENGINE_CONVERT_H

#include "engine/context.h"

enum engine_end convert_run(struct engine *e);

#endif
