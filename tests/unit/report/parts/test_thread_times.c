/* SPDX-License-Identifier: BSD-2-Clause */
/* Times of threads: when they are trimmed, and which threads are dropped. */
#include "report/parts/thread_times.h"

#include "tests/tap.h"

#define THREADS	  256 /* that are kept without a search for those which have ended */
#define INTERVALS 64  /* likewise of a thread */

static void add(struct thread_times *t, uint32_t tid, uint64_t end_ns)
{
	struct off_cpu_interval i = {.of = {.begin_ns = end_ns - 1, .end_ns = end_ns}};
	if (thread_times_add(t, tid, &i))
		abort();
}

static uint32_t intervals(const struct thread_times *t, uint32_t tid)
{
	const struct off_cpu *o = thread_times_get(t, tid);
	return o ? o->count : 0;
}

static void test_thread(void)
{
	struct thread_times t = {0};
	ok(!thread_times_get(&t, 1), "of a thread without an interval nothing is known");
	for (unsigned i = 0; i < INTERVALS; i++)
		add(&t, 1, 10 + 10 * i);
	is(intervals(&t, 1), INTERVALS, "intervals are kept");
	ok(!thread_times_is_due(&t, 1), "without a look at which are needed");
	add(&t, 1, 1000);
	ok(thread_times_is_due(&t, 1), "up to some number");
	ok(!thread_times_is_due(&t, 2), "of the same thread");
	add(&t, 2, 20);
	is(thread_times_trim(&t, 1, 605), 0, "what ended before a moment is dropped");
	is(intervals(&t, 1), 5, "and the others are not");
	is(intervals(&t, 2), 1, "nor those of another thread");
	thread_times_done(&t);
	ok(!thread_times_get(&t, 1) && !t.count, "nothing is left");
}

static void test_threads(void)
{
	struct thread_times t = {0};
	for (uint32_t i = 1; i <= THREADS; i++)
		add(&t, i, i);
	ok(!thread_times_is_due(&t, THREADS + 1), "256 threads are kept");
	add(&t, THREADS + 1, THREADS + 1);
	ok(thread_times_is_due(&t, THREADS + 2), "before one more those that ended are searched");
	ok(!thread_times_is_due(&t, 1), "but not for one that is known");
	is(thread_times_trim(&t, 1, 100), 0, "trimming a thread that is known");
	is(t.count, THREADS + 1, "drops no thread");
	is(intervals(&t, 1), 0, "but its intervals");
	is(thread_times_trim(&t, THREADS + 2, 200), 0, "another one");
	is(t.count, THREADS + 1 - 199, "drops those without an interval that is needed");
	ok(!thread_times_get(&t, 199) && thread_times_get(&t, 200), "exactly those");
	/* The next search waits until there are twice as many as were left. */
	static const uint32_t left[] = {58, 128, 129, 200, 257};
	for (unsigned i = 0; i < sizeof(left) / sizeof(*left); i++) {
		thread_times_done(&t);
		for (uint32_t k = 1; k <= THREADS + 1; k++)
			add(&t, k, k <= left[i] ? 1000 : 1);
		thread_times_trim(&t, 5000, 500);
		uint32_t kept = t.count, most = 2 * kept > THREADS ? 2 * kept : THREADS;
		for (uint32_t k = 2000; !thread_times_is_due(&t, 5000); k++)
			add(&t, k, 1000);
		ok(kept == left[i] && t.count == most + 1,
		   "where %u are left, the next search is behind %u", kept, most);
	}
	thread_times_done(&t);
}

int main(void)
{
	test_thread();
	test_threads();
	return tap_done();
}
