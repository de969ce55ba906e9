/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tracer has used: it, and the processes that it has started for itself, as those that
 * hold its probes; not the program that it traces. The kernel's buffers are not in its memory.
 */
#ifndef ENGINE_LIVE_COST_H
#define ENGINE_LIVE_COST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cost {
	uint64_t cpu_ns;       /* since the tracer began; it may be a little less than before */
	uint64_t memory_bytes; /* shared pages are divided among those that share them */
};

/* program: that is traced, or 0. memory: read that, too, which takes 50 us a process. */
void cost_read(pid_t program, bool memory, struct cost *ret);

#endif
