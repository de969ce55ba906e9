/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sampled allocations of each process as counters over time: bytes that are live, and bytes
 * that were promoted so far, both estimated from the samples. They change with each event; no more
 * than two values within MEM_COUNTERS_NS of the trace's time are due. A value that holds longer
 * than that always is, and the last one.
 *
 * It keeps the live objects of a process.
 */
#ifndef REPORT_MEM_MODEL_COUNTERS_H
#define REPORT_MEM_MODEL_COUNTERS_H

#include "base/ptrarray.h"
#include "session/session.h"

#define MEM_COUNTERS_NS 1000000

/* What holds from ts on. */
struct mem_counters_value {
	uint64_t ts;
	uint32_t process;
	uint64_t live_bytes, promoted_bytes;
	bool has_generations; /* else nothing can be promoted, as far as is known */
};

struct mem_counters {
	const struct session *session;
	PTRARRAY(struct mem_counted) processes; /* by index */
};

/* Initialised by zeroes and the session. */
void mem_counters_done(struct mem_counters *c);
/* Takes an alloc, promote or collect. 1: *ret, which is older than it, is due; 0; -ENOMEM. */
int mem_counters_event(struct mem_counters *c, const struct ebt_event *ev,
		       struct mem_counters_value *ret);
/* Forgets a process. True: *ret is its last value, which was not due before. */
bool mem_counters_forget(struct mem_counters *c, uint32_t process, struct mem_counters_value *ret);
/* Forgets any process. True: *ret is its last value, which was not due before; false: no process is
 * left. */
bool mem_counters_end(struct mem_counters *c, struct mem_counters_value *ret);

#endif
