/* SPDX-License-Identifier: BSD-2-Clause */
/* Ring files as inputs: one source reads all of them through one buffer. */
#ifndef ENGINE_INPUT_RING_H
#define ENGINE_INPUT_RING_H

#include "engine/input/input.h"

extern const struct input_kind input_ring;

/* As input_ring.open(), for the current content of the rings of a process. */
enum engine_end input_ring_process(const struct engine *e, pid_t pid, struct source **source);
/* As input_ring.info(), for the current content of the rings of a process. */
enum engine_end input_ring_process_info(const struct engine *e, pid_t pid, struct input_info *ret);

#endif
