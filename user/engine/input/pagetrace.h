/* SPDX-License-Identifier: BSD-2-Clause */
/* Go page traces (.pt) as an input. */
#ifndef ENGINE_INPUT_PAGETRACE_H
#define ENGINE_INPUT_PAGETRACE_H

#include "engine/input/input.h"

extern const struct input_kind input_pagetrace;

#endif
