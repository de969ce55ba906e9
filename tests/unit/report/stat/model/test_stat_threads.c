/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pauses of threads that share a domain. Times are in microseconds. What is compared: pauses, their
 * sum, what was cut (start, loss, end), the domain's GC time.
 */
#include <stdio.h>

#include "report/parts/ids.h"
#include "tests/tap.h"
#include "tests/unit/stat_fixture.h"

#define FULL  PHASE_explicit_gc_full_major
#define MAJOR PHASE_major
#define MINOR PHASE_minor

struct step {
	uint64_t us;
	uint32_t tid;
	uint16_t kind;
	uint32_t id;
};

static void check(const char *name, const struct step *s, const char *want)
{
	struct stat_run run;
	char got[128];
	stat_run_begin(&run, 1000);
	for (; s->us; s++) {
		struct ebt_event ev = {.ts = s->us * US,
				       .pos = EBT_NO_POS,
				       .kind = s->kind,
				       .id = s->id,
				       .pid = 7,
				       .tid = s->tid,
				       .cpu = EBT_NO_CPU,
				       .flags = EBT_F_BPF};
		if (s->kind == EBT_LOST)
			EBT_LOST_SINCE(&ev) = ev.ts;
		stat_run_push(&run, &ev);
	}
	stat_run_end(&run, 3000);
	const struct stat_process *p = run.end.first;
	const struct stat_pauses *ps = &p->numbers.pauses;
	snprintf(got, sizeof(got), "%u/%u cut %u/%u/%u gc %u", (unsigned)ps->whole.count,
		 (unsigned)(ps->whole.sum / US), (unsigned)ps->cut[STAT_CUT_START],
		 (unsigned)ps->cut[STAT_CUT_LOSS], (unsigned)ps->cut[STAT_CUT_END],
		 (unsigned)(p->numbers.gc_ns / US));
	is_str(got, want, name);
	stat_run_done(&run);
}

#define S(...)                     \
	(const struct step[])      \
	{                          \
		__VA_ARGS__,       \
		{                  \
			0, 0, 0, 0 \
		}                  \
	}
#define B EBT_BEGIN
#define E EBT_END

/* A full major collection of `a` from 2000 to 2112, in which it gives way from 2006 to 2106. */
#define GIVES_WAY(a, b)                                                                    \
	{2000, a, B, FULL}, {2001, a, B, MAJOR}, {2006, a, E, MAJOR}, {2050, b, B, MINOR}, \
		{2052, b, E, MINOR}, {2106, a, B, MAJOR}, {2110, a, E, MAJOR},             \
	{                                                                                  \
		2112, a, E, FULL                                                           \
	}

static void test_many(void)
{
	struct step s[64] = {{0}};
	unsigned n = 0;
	for (uint32_t tid = 1; tid <= PAUSE_CLOCK_WAITING + 3; tid++)
		s[n++] = (struct step){2000 + 10 * tid, tid, B, FULL};
	for (uint32_t tid = PAUSE_CLOCK_WAITING + 3; tid; tid--)
		s[n++] = (struct step){2400 - 10 * tid, tid, E, FULL};
	/* The first 8 count nothing while they wait; the rest are one. */
	check("more threads than are remembered are as one", s, "9/220 cut 0/0/0 gc 220");
}

int main(void)
{
	check("of a pause only the time of its own thread counts", S(GIVES_WAY(11, 12)),
	      "2/14 cut 0/0/0 gc 14");
	check("phases of threads that give way to each other do not nest",
	      S({2000, 11, B, FULL}, {2005, 11, B, MAJOR}, {2010, 12, B, MINOR},
		{2013, 12, B, MAJOR}, {2020, 11, E, MAJOR}, {2022, 11, E, FULL},
		{2030, 12, E, MAJOR}, {2034, 12, E, MINOR}),
	      "2/14 cut 0/0/0 gc 14");
	check("where threads are not known all of it does", S(GIVES_WAY(0, 0)),
	      "1/112 cut 0/0/0 gc 112");
	check("an event of another thread outside of pauses changes nothing",
	      S({2000, 11, B, MINOR}, {2010, 11, E, MINOR}, {2020, 12, B, MINOR},
		{2030, 12, E, MINOR}, {2040, 11, B, MINOR}, {2050, 11, E, MINOR}),
	      "3/30 cut 0/0/0 gc 30");
	check("a loss cuts the pause of a thread that waits, too",
	      S({2000, 11, B, FULL}, {2010, 12, B, MINOR}, {2020, 0, EBT_LOST, 0},
		{2030, 12, B, MINOR}, {2040, 12, E, MINOR}),
	      "1/10 cut 0/2/0 gc 20");
	check("and so does the end",
	      S({2000, 11, B, FULL}, {2001, 11, B, MAJOR}, {2006, 11, E, MAJOR},
		{2010, 12, B, MINOR}, {2020, 12, E, MINOR}),
	      "1/10 cut 0/0/1 gc 16");
	test_many();
	return tap_done();
}
