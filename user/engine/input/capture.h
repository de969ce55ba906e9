/* SPDX-License-Identifier: BSD-2-Clause */
/* Captures as inputs. */
#ifndef ENGINE_INPUT_CAPTURE_H
#define ENGINE_INPUT_CAPTURE_H

#include "engine/input/input.h"

extern const struct input_kind input_capture;

#endif
