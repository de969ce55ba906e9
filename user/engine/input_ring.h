/* SPDX-License-Identifier: BSD-2-Clause */
/* Ring files as inputs: one source reads them all, out of one buffer. */
#ifndef ENGINE_INPUT_RING_H
#define ENGINE_INPUT_RING_H

#include <ebtrace/cursor.h>

#include "engine/input.h"

extern const struct input_kind input_ring;

/* A cursor on a ring file that is ready; takes its descriptor. ENGINE_OK, or the reason has been
 * reported. */
enum engine_end input_ring_cursor(const struct engine *e, struct input *in,
				  struct ebt_cursor **ret);
/* As input_ring.open(), of what the rings of a process hold now. */
enum engine_end input_ring_process(const struct engine *e, pid_t pid, struct source **source);

#endif
