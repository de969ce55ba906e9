/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long a process lives, by what is known of its begin and its end, and what of that was not
 * watched. Times are in microseconds; the run lasts from 1000 to 9000.
 */
#include <stdio.h>

#include "report/parts/ids.h"
#include "tests/tap.h"
#include "tests/unit/stat_fixture.h"

#define NONE  EBT_NO_DOMAIN
#define MINOR PHASE_minor

struct step {
	uint64_t us;
	uint16_t kind, domain;
	uint32_t id, pid;
	uint64_t arg; /* the child, or since when not watched */
};

static struct ebt_event event_of(const struct step *s)
{
	struct ebt_event ev = {.ts = s->us * US,
			       .kind = s->kind,
			       .domain = s->domain,
			       .id = s->id,
			       .pid = s->pid,
			       .tid = s->pid,
			       .pos = EBT_NO_POS,
			       .cpu = EBT_NO_CPU,
			       .flags = EBT_F_BPF};
	ev.arg[0] = s->arg;
	if (s->kind == EBT_LOST) {
		EBT_LOST_SINCE(&ev) = s->arg * US;
		ev.flags |= EBT_F_HISTORY;
		ev.arg[0] = EBT_LOST_UNCOUNTED;
	}
	return ev;
}

/* For each process its pid, wall time, elapsed, GC time, uncovered, and what was not watched. */
static void check(const char *name, const struct step *s, const char *want)
{
	struct stat_run run;
	char got[512] = "", *at = got;
	stat_run_begin(&run, 1000);
	for (; s->us; s++) {
		struct ebt_event ev = event_of(s);
		stat_run_push(&run, &ev);
	}
	stat_run_end(&run, 9000);
	for (const struct stat_process *p = run.end.first; p; p = p->next)
		at += sprintf(at, "%s%u: %u %u-%u-%u %u", at == got ? "" : "; ", (unsigned)p->pid,
			      (unsigned)(p->wall_ns / US), (unsigned)(p->numbers.elapsed_ns / US),
			      (unsigned)(p->numbers.gc_ns / US),
			      (unsigned)(p->numbers.uncovered_ns / US),
			      (unsigned)(p->numbers.lost.unwatched_ns / US));
	is_str(got, want, name);
	stat_run_done(&run);
}

#define S(...)                           \
	(const struct step[])            \
	{                                \
		__VA_ARGS__,             \
		{                        \
			0, 0, 0, 0, 0, 0 \
		}                        \
	}
#define FORK(us, parent, child)                                        \
	{                                                              \
		us, EBT_PROCESS, NONE, EBT_PROCESS_FORK, parent, child \
	}
#define EXEC(us, pid)                                           \
	{                                                       \
		us, EBT_PROCESS, NONE, EBT_PROCESS_EXEC, pid, 0 \
	}
#define EXIT(us, pid)                                           \
	{                                                       \
		us, EBT_PROCESS, NONE, EBT_PROCESS_EXIT, pid, 0 \
	}
#define GC(us, pid, domain)                              \
	{us, EBT_BEGIN, domain, MINOR, pid, 0},          \
	{                                                \
		us + 100, EBT_END, domain, MINOR, pid, 0 \
	}
#define UNWATCHED(since, us, pid)                 \
	{                                         \
		us, EBT_LOST, NONE, 0, pid, since \
	}

static void test_life(void)
{
	check("a process that nobody has seen begin was there when the run began",
	      S(GC(5000, 7, 0)), "7: 8000 8000-100-0 0");
	check("one that was forked lives from there", S(FORK(4000, 1, 7), GC(5000, 7, 0)),
	      "7: 5000 5000-100-0 0");
	check("to its exit", S(FORK(4000, 1, 7), GC(5000, 7, 0), EXIT(6000, 7)),
	      "7: 2000 2000-100-0 0");
	check("one that executed a program and has no events before lives from there",
	      S(FORK(4000, 1, 7), EXEC(4500, 7), GC(5000, 7, 0), EXIT(6000, 7)),
	      "7: 1500 1500-100-0 0");
	check("its first thread is as old, where there is no domain",
	      S(FORK(4000, 1, 7), GC(5000, 7, NONE), EXIT(6000, 7)), "7: 2000 2000-100-0 0");
	check("a program that another one follows ends there, and that one begins",
	      S(FORK(4000, 1, 7), GC(4100, 7, 0), EXEC(4500, 7), GC(5000, 7, 0), EXIT(6000, 7)),
	      "7: 2000 2000-200-0 0");
	check("a pid that comes again has the lives of both",
	      S(FORK(2000, 1, 7), GC(2100, 7, 0), EXIT(3000, 7), FORK(5000, 1, 7), GC(5100, 7, 0),
		EXIT(6000, 7)),
	      "7: 4000 2000-200-0 0");
	check("and the second one need not have ended",
	      S(FORK(2000, 1, 7), GC(2100, 7, 0), EXIT(3000, 7), FORK(5000, 1, 7), GC(5100, 7, 0)),
	      "7: 7000 5000-200-0 0");
	check("a pid that has ended says nothing of who has it next",
	      S(FORK(2000, 1, 7), EXIT(3000, 7), GC(5000, 7, 0)), "7: 8000 8000-100-0 0");
	check("a thread whose process was not seen to begin is as old as its first event",
	      S(GC(5000, 7, NONE)), "7: 8000 4000-100-0 0");
	check("a fork of a process that is there begins no other",
	      S(FORK(2000, 1, 7), GC(2100, 7, 0), FORK(3000, 7, 8), EXIT(4000, 7)),
	      "7: 2000 2000-100-0 0");
	check("a process without events is not in the report", S(FORK(2000, 1, 7), EXIT(3000, 7)),
	      "");
}

static void test_unwatched(void)
{
	check("time before the probes were in place is a hole",
	      S(FORK(4000, 1, 7), UNWATCHED(4000, 4200, 7), GC(5000, 7, 0), EXIT(6000, 7)),
	      "7: 2000 2000-100-200 200");
	check("in the first thread's time, too",
	      S(FORK(4000, 1, 7), UNWATCHED(4000, 4200, 7), GC(5000, 7, NONE), EXIT(6000, 7)),
	      "7: 2000 2000-100-200 200");
	check("and says itself when the process began",
	      S(UNWATCHED(4000, 4200, 7), GC(5000, 7, 0), EXIT(6000, 7)),
	      "7: 2000 2000-100-200 200");
	check("a process of which nothing was seen is in the report for it, with its life",
	      S(UNWATCHED(4000, 4200, 7), EXIT(4300, 7)), "7: 300 300-0-200 200");
	check("what lies before the run is none",
	      S(UNWATCHED(500, 1300, 7), GC(5000, 7, 0), EXIT(6000, 7)),
	      "7: 5000 5000-100-300 300");
	check("one in the middle of a life cuts what is open",
	      S(FORK(2000, 1, 7), GC(2100, 7, 0), UNWATCHED(3000, 3500, 7), GC(5000, 7, 0),
		EXIT(6000, 7)),
	      "7: 4000 4000-200-500 500");
	check("one behind an exec is counted with the new program",
	      S(FORK(2000, 1, 7), GC(2100, 7, 0), EXEC(3000, 7), UNWATCHED(3000, 3500, 7),
		GC(5000, 7, 0), EXIT(6000, 7)),
	      "7: 4000 4000-200-500 500");
	check("other processes were watched",
	      S(FORK(2000, 1, 7), GC(2100, 7, 0), FORK(4000, 7, 8), UNWATCHED(4000, 4500, 8),
		GC(5000, 8, 0), EXIT(6000, 8), EXIT(6000, 7)),
	      "7: 4000 4000-100-0 0; 8: 2000 2000-100-500 500");
}

int main(void)
{
	test_life();
	test_unwatched();
	return tap_done();
}
