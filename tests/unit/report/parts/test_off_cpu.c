/* SPDX-License-Identifier: BSD-2-Clause */
/* A stretch of a thread's time is split into parts that add up. Times are in microseconds. */
#include "report/parts/off_cpu.h"
#include "session/session.h"
#include "tests/random.h"
#include "tests/tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define US 1000u

static uint64_t sum(const struct blame_split *s)
{
	uint64_t ns = 0;
	for (unsigned i = 0; i < BLAME_PARTS; i++)
		ns += s->ns[i];
	return ns;
}

/* An interval from..until, of which the last `wait` were waiting; delay by the kernel's account. */
struct row {
	uint64_t from, until, wait, delay;
	enum blame_part blocked;
};

static void check(const char *name, const struct row *r, uint64_t from, uint64_t to,
		  const char *want)
{
	struct off_cpu o = {0};
	struct blame_split s = {0};
	char got[128];
	for (; r->until; r++) {
		struct off_cpu_interval i = {.of = {.begin_ns = r->from * US,
						    .end_ns = r->until * US,
						    .wait_ns = r->wait * US,
						    .run_delay_ns = r->delay * US,
						    .runner = 7,
						    .waker = 8},
					     .blocked = r->blocked};
		if (off_cpu_add(&o, &i))
			abort();
	}
	off_cpu_split(&o, from * US, to * US, &s);
	snprintf(got, sizeof(got), "cpu %u wait %u futex %u io %u by %u",
		 (unsigned)(s.ns[BLAME_CPU] / US), (unsigned)(s.ns[BLAME_WAIT] / US),
		 (unsigned)(s.ns[BLAME_FUTEX] / US), (unsigned)(s.ns[BLAME_IO] / US),
		 s.longest.tid);
	is_str(got, want, name);
	is(sum(&s), (to - from) * US, "and the parts add up");
	off_cpu_done(&o);
}

#define R(...)                        \
	(const struct row[])          \
	{                             \
		__VA_ARGS__,          \
		{                     \
			0, 0, 0, 0, 0 \
		}                     \
	}

static void test_rules(void)
{
	const enum blame_part f = BLAME_FUTEX, io = BLAME_IO;
	check("without intervals it was on the CPU", R({0, 0, 0, 0, 0}), 10, 30,
	      "cpu 20 wait 0 futex 0 io 0 by 0");
	check("a thread that was preempted waits", R({12, 20, 8, 8, f}), 10, 30,
	      "cpu 12 wait 8 futex 0 io 0 by 7");
	check("what the kernel counts before the switch is waiting, too", R({15, 20, 5, 8, f}), 10,
	      30, "cpu 12 wait 8 futex 0 io 0 by 7");
	check("but not what was before the stretch", R({11, 20, 9, 99, f}), 10, 30,
	      "cpu 10 wait 10 futex 0 io 0 by 7");
	check("nor what was before an interval that the stretch begins in", R({5, 20, 15, 40, f}),
	      10, 30, "cpu 10 wait 10 futex 0 io 0 by 7");
	check("one that was blocked waits at the end", R({12, 20, 3, 0, f}), 10, 30,
	      "cpu 12 wait 3 futex 5 io 0 by 8");
	check("as long as the kernel says, if that is longer", R({12, 20, 1, 6, f}), 10, 30,
	      "cpu 12 wait 6 futex 2 io 0 by 7");
	check("intervals are cut at the begin", R({5, 14, 3, 0, f}), 10, 30,
	      "cpu 16 wait 3 futex 1 io 0 by 7");
	check("and at the end", R({25, 40, 3, 0, f}), 10, 30, "cpu 15 wait 0 futex 5 io 0 by 8");
	check("each reason is a part, and the longest is named",
	      R({1, 2, 0, 0, f}, {12, 14, 0, 0, f}, {15, 19, 1, 0, io}, {20, 21, 1, 0, f},
		{40, 50, 0, 0, f}),
	      10, 30, "cpu 13 wait 2 futex 2 io 3 by 8");
}

/* Who of an interval is named, and whether that is the tracer. */
static void test_cause(void)
{
	static const struct {
		const char *name;
		uint64_t wait;
		bool ran, woke, interrupt, is_tracer;
		const char *comm;
		uint32_t tid;
	} rows[] = {
		{"who ran instead", 8, true, false, false, true, "runner", 7},
		{"who ran, and not who woke", 8, false, true, false, false, "runner", 7},
		{"who woke it", 0, false, true, false, true, "waker", 8},
		{"who woke it, and not who ran", 0, true, false, false, false, "waker", 8},
		{"nobody, of an interrupt", 0, true, true, true, false, "", 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct off_cpu o = {0};
		struct blame_split s = {0};
		struct off_cpu_interval v = {.of = {.begin_ns = 12,
						    .end_ns = 20,
						    .wait_ns = rows[i].wait,
						    .runner = 7,
						    .waker = 8,
						    .interrupt = rows[i].interrupt,
						    .runner_comm = "runner",
						    .waker_comm = "waker"},
					     .tracer_ran = rows[i].ran,
					     .tracer_woke = rows[i].woke,
					     .blocked = BLAME_FUTEX};
		if (off_cpu_add(&o, &v))
			abort();
		off_cpu_split(&o, 10, 30, &s);
		ok(s.longest.ns == 8 && s.longest.is_tracer == rows[i].is_tracer &&
			   s.longest.tid == rows[i].tid && !strcmp(s.longest.comm, rows[i].comm),
		   "a cause is %s", rows[i].name);
		off_cpu_done(&o);
	}
}

/* One that was recorded while it was open, and what follows, are one interval. */
static void test_open_parts(void)
{
	struct off_cpu o = {0};
	struct blame_split s = {0};
	for (unsigned i = 0; i < 3; i++) {
		struct off_cpu_interval v = {.of = {.begin_ns = 12 + 10 * i,
						    .end_ns = 22 + 10 * i,
						    .wait_ns = i,
						    .run_delay_ns = 4,
						    .open = i < 2},
					     .blocked = BLAME_FUTEX};
		if (off_cpu_add(&o, &v))
			abort();
	}
	off_cpu_split(&o, 10, 50, &s);
	ok(o.count == 1 && s.ns[BLAME_WAIT] == 12 && s.ns[BLAME_FUTEX] == 18 &&
		   s.ns[BLAME_CPU] == 10,
	   "parts of an open interval add up, and what the kernel counts of them, too");
	off_cpu_done(&o);
}

/* Stacks are held as long as their intervals are kept. */
static void test_stacks_held(void)
{
	struct session *session;
	struct off_cpu o = {0};
	if (session_new(&session))
		abort();
	o.stacks = session->stacks;
	for (uint64_t i = 0; i < OFF_CPU_KEPT + 100; i++) {
		struct frame f = {.address = i + 1, .has_address = true};
		uint32_t frame = frames_put(session->frames, &f);
		struct off_cpu_interval v = {.of = {.begin_ns = 10 * i + 1, .end_ns = 10 * i + 5},
					     .stack = stacks_push(session->stacks, 0, frame)};
		if (off_cpu_add(&o, &v))
			abort();
		frames_drop(session->frames, frame);
	}
	stacks_free_unheld(session->stacks);
	is(stacks_count(session->stacks), OFF_CPU_KEPT,
	   "stacks of intervals that are kept are held");
	off_cpu_trim(&o, 10 * (OFF_CPU_KEPT + 90));
	stacks_free_unheld(session->stacks);
	is(stacks_count(session->stacks), o.count, "those of others are not");
	off_cpu_done(&o);
	stacks_free_unheld(session->stacks);
	is(stacks_count(session->stacks), 0, "at the end none is");
	session_free(session);
}

/* Against a line of single microseconds. */
static void test_random(void)
{
	static uint8_t line[4000];
	uint64_t state = 11;
	unsigned same = 0, added = 0, rounds = 300;
	for (unsigned k = 0; k < rounds; k++) {
		struct off_cpu o = {0};
		memset(line, BLAME_CPU, sizeof(line));
		for (uint64_t at = 0;;) {
			uint64_t from = at + random_next(&state) % 40;
			uint64_t until = from + 1 + random_next(&state) % 30;
			uint64_t wait = random_next(&state) % (until - from + 1);
			enum blame_part blocked = random_next(&state) % 2 ? BLAME_IO : BLAME_MEMORY;
			if (until >= sizeof(line))
				break;
			for (uint64_t i = from; i < until; i++)
				line[i] = (uint8_t)(i < until - wait ? blocked : BLAME_WAIT);
			struct off_cpu_interval i = {
				.of = {.begin_ns = from, .end_ns = until, .wait_ns = wait},
				.blocked = blocked};
			at = until;
			if (off_cpu_add(&o, &i))
				abort();
		}
		uint64_t from = random_next(&state) % sizeof(line);
		uint64_t to = from + random_next(&state) % (sizeof(line) - from);
		if (k % 2)
			off_cpu_trim(&o, from);
		struct blame_split s = {0}, want = {0};
		off_cpu_split(&o, from, to, &s);
		for (uint64_t i = from; i < to; i++)
			want.ns[line[i]]++;
		same += !memcmp(s.ns, want.ns, sizeof(s.ns));
		added += sum(&s) == to - from;
		off_cpu_done(&o);
	}
	is(same, rounds, "any stretch of any intervals is split as each moment is");
	is(added, rounds, "the parts of each add up");
}

static void test_limit(void)
{
	struct off_cpu o = {0};
	for (uint64_t i = 0; i < 3 * OFF_CPU_KEPT; i++) {
		struct off_cpu_interval k = {.of = {.begin_ns = 10 * i, .end_ns = 10 * i + 5}};
		if (off_cpu_add(&o, &k))
			abort();
	}
	struct blame_split s = {0};
	off_cpu_split(&o, 0, 30 * OFF_CPU_KEPT, &s);
	ok(o.count == OFF_CPU_KEPT && o.cap < 4 * OFF_CPU_KEPT, "memory is bounded");
	is(sum(&s), 30 * OFF_CPU_KEPT, "what was dropped is not known, and adds up");
	is(s.ns[BLAME_UNKNOWN], 20 * OFF_CPU_KEPT - 5,
	   "up to the end of the last one that was dropped it is no time on the CPU");
	off_cpu_done(&o);
}

/* As a hostile capture may have them. */
static void test_overlaps(void)
{
	struct off_cpu o = {0};
	uint64_t state = 17;
	unsigned added = 0;
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t from = random_next(&state) % 5000;
		struct off_cpu_interval k = {.of = {.begin_ns = from,
						    .end_ns = from + random_next(&state) % 900,
						    .wait_ns = random_next(&state),
						    .run_delay_ns = random_next(&state)},
					     .blocked = BLAME_IO};
		struct blame_split s = {0};
		if (off_cpu_add(&o, &k))
			abort();
		off_cpu_split(&o, 1000, 4000, &s);
		added += sum(&s) == 3000;
	}
	is(added, 1000, "intervals in any order that overlap add up, too");
	off_cpu_done(&o);
}

int main(void)
{
	test_rules();
	test_cause();
	test_open_parts();
	test_stacks_held();
	test_random();
	test_limit();
	test_overlaps();
	return tap_done();
}
