/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/parts/thread_times.h"

#include <errno.h>
#include <stdlib.h>

#define TRIM_AT	 64  /* intervals of a thread */
#define SWEEP_AT 256 /* threads */

struct thread_time {
	uint32_t tid;
	struct off_cpu off_cpu;
};

static void free_thread(struct thread_time *t)
{
	off_cpu_done(&t->off_cpu);
	free(t);
}

const struct off_cpu *thread_times_get(const struct thread_times *t, uint32_t tid)
{
	const struct thread_time *thread = ptrmap_get(&t->threads, tid);
	return thread ? &thread->off_cpu : NULL;
}

static bool is_full(const struct thread_times *t)
{
	return t->count > (t->sweep_at ? t->sweep_at : SWEEP_AT);
}

bool thread_times_is_due(const struct thread_times *t, uint32_t tid)
{
	const struct off_cpu *o = thread_times_get(t, tid);
	return o ? o->count > TRIM_AT : is_full(t);
}

/* Drops the threads without an interval that a pause may still need: most have ended, and the next
 * interval of a live one adds it again. 0 or -ENOMEM. */
static int sweep(struct thread_times *t, uint64_t needed_ns)
{
	PTRMAP(struct thread_time) left = {{0}};
	size_t at = 0;
	int err = 0;
	t->count = 0;
	for (struct thread_time *one; (one = ptrmap_next(&t->threads, &at));) {
		off_cpu_trim(&one->off_cpu, needed_ns);
		bool keeps = one->off_cpu.count && !err;
		if (keeps)
			err = ptrmap_set(&left, one->tid, one);
		if (!keeps || err)
			free_thread(one);
		else
			t->count++;
	}
	ptrmap_done(&t->threads);
	t->threads.words = left.words;
	t->sweep_at = t->count * 2 > SWEEP_AT ? t->count * 2 : SWEEP_AT;
	return err;
}

int thread_times_trim(struct thread_times *t, uint32_t tid, uint64_t needed_ns)
{
	struct thread_time *one = ptrmap_get(&t->threads, tid);
	if (one)
		off_cpu_trim(&one->off_cpu, needed_ns);
	return !one && is_full(t) ? sweep(t, needed_ns) : 0;
}

int thread_times_add(struct thread_times *t, uint32_t tid, const struct off_cpu_interval *i)
{
	bool is_new;
	struct thread_time *one = ptrmap_make(&t->threads, tid, &is_new);
	if (!one)
		return -ENOMEM;
	if (is_new) {
		one->tid = tid;
		one->off_cpu.stacks = t->stacks;
		t->count++;
	}
	return off_cpu_add(&one->off_cpu, i);
}

void thread_times_done(struct thread_times *t)
{
	size_t at = 0;
	for (struct thread_time *one; (one = ptrmap_next(&t->threads, &at));)
		free_thread(one);
	ptrmap_done(&t->threads);
	*t = (struct thread_times){0};
}
