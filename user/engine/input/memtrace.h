/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocation traces of memtrace (.ctf) as inputs. */
#ifndef ENGINE_INPUT_MEMTRACE_H
#define ENGINE_INPUT_MEMTRACE_H

#include "engine/input/input.h"

extern const struct input_kind input_memtrace;

#endif
