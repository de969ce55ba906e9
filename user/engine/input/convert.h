/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A conversion: moves the events of inputs that are read once (files, pipes, FIFOs, and the current
 * content of processes' rings) into the sink. It ends with the inputs, or at a signal: immediately
 * if all inputs are files, else when the pipes end, for which their writers have a second. The
 * output is finished in either case.
 */
#ifndef ENGINE_INPUT_CONVERT_H
#define ENGINE_INPUT_CONVERT_H

#include "engine/context.h"

enum engine_end convert_run(struct engine *e);

#endif
