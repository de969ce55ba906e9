/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When the threads of a process did not run lately (off_cpu.h), by their numbers. Intervals that no
 * pause needs any more are dropped, and so are threads that have ended: before it adds an interval,
 * the caller trims if that is due. Zeroed memory has none.
 */
#ifndef REPORT_PARTS_THREAD_TIMES_H
#define REPORT_PARTS_THREAD_TIMES_H

#include "base/ptrmap.h"
#include "report/parts/off_cpu.h"

struct thread_times {
	struct stacks *stacks; /* as of struct off_cpu */
	PTRMAP(struct thread_time) threads;
	uint32_t count, sweep_at;
};

/* NULL: nothing is known of the thread, which may have run all the time. */
const struct off_cpu *thread_times_get(const struct thread_times *t, uint32_t tid);
/* Whether thread_times_trim() is due before an interval of this thread is added. */
bool thread_times_is_due(const struct thread_times *t, uint32_t tid);
/* Forgets what ended before this moment. 0 or -ENOMEM. */
int thread_times_trim(struct thread_times *t, uint32_t tid, uint64_t needed_ns);
/* 0 or -ENOMEM. */
int thread_times_add(struct thread_times *t, uint32_t tid, const struct off_cpu_interval *i);
void thread_times_done(struct thread_times *t);

#endif
