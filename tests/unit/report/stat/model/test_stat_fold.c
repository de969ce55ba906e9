/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that the registry releases while the stream goes on: the same events as of processes
 * that stay, and the same sums, but of few processes numbers of their own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/parts/ids.h"
#include "report/stat/model/snapshot.h"
#include "tests/tap.h"

#define PROCESSES 300
#define AT_ONCE	  3
#define MS	  1000000u

/* A model, with a registry whose processes are released as they end, or not. */
struct side {
	bool releases;
	struct session *session;
	struct stat_model m;
	struct stat_snapshot end;
	struct histogram interval;
	uint32_t process[AT_ONCE];
};

static void side_init(struct side *s, bool releases, bool lines)
{
	*s = (struct side){.releases = releases};
	if (session_new(&s->session) || stat_model_init(&s->m, s->session, 0))
		abort();
	/* The first one that is announced stays in the registry. */
	uint32_t first;
	if (processes_begin(&s->session->processes, 1, NULL, &first))
		abort();
	processes_announce(&s->session->processes, first);
	s->session->run_begin = moment_at(MS);
	if (lines)
		stat_model_count_intervals(&s->m, &s->interval);
}

static int end(struct side *s)
{
	return stat_snapshot_take(&s->end, &s->m, s->session->run_end);
}

static void side_done(struct side *s)
{
	stat_snapshot_done(&s->end);
	stat_model_done(&s->m);
	histogram_done(&s->interval);
	session_free(s->session);
}

static void push(struct side *s, uint32_t process, uint64_t ts, uint16_t kind, uint32_t id)
{
	struct ebt_event ev = {.ts = ts,
			       .process = process,
			       .kind = kind,
			       .id = id,
			       .domain = ts / MS % 2 ? 0 : EBT_NO_DOMAIN,
			       .tid = 7,
			       .pos = ts / MS % 2 ? ts : EBT_NO_POS,
			       .cpu = EBT_NO_CPU};
	if (stat_model_events(&s->m, &ev, 1))
		abort();
}

/* The life of process `n`: two pauses, of which every seventh process loses the second one's
 * end. */
static void live(struct side *s, uint32_t n, uint64_t ts)
{
	struct processes *ps = &s->session->processes;
	uint32_t *process = &s->process[n % AT_ONCE];
	if (*process) {
		processes_end(ps, *process);
		processes_unref(ps, *process);
		while (s->releases && processes_gone(ps)) {
			uint32_t gone = processes_take_gone(ps);
			if (!gone)
				continue;
			if (stat_model_forget(&s->m, gone))
				abort();
			processes_release(ps, gone);
		}
	}
	if (processes_begin(ps, 100 + n, NULL, process))
		abort();
	processes_ref(ps, *process);
	struct process *p = processes_announce(ps, *process);
	snprintf(p->comm, sizeof(p->comm), "program %u", n % 4);
	/* By no order of n: 1 to PROCESSES, each once. */
	uint64_t length = 1 + n * 7 % PROCESSES;
	push(s, *process, ts, EBT_BEGIN, PHASE_minor);
	push(s, *process, ts + length, EBT_END, PHASE_minor);
	push(s, *process, ts + 1000, EBT_BEGIN, PHASE_major);
	if (n % 7)
		push(s, *process, ts + 1000 + length, EBT_END, PHASE_major);
}

static bool same_numbers(const struct stat_numbers *a, const struct stat_numbers *b)
{
	return a->elapsed_ns == b->elapsed_ns && a->gc_ns == b->gc_ns &&
	       a->uncovered_ns == b->uncovered_ns &&
	       a->pauses.whole.count == b->pauses.whole.count &&
	       a->pauses.whole.sum == b->pauses.whole.sum &&
	       a->pauses.whole.max == b->pauses.whole.max &&
	       !memcmp(a->pauses.cut, b->pauses.cut, sizeof(a->pauses.cut)) &&
	       !memcmp(a->phases, b->phases, sizeof(a->phases)) &&
	       stat_numbers_minors(a) == stat_numbers_minors(b);
}

/* All processes, by program. */
static void sum(const struct stat_snapshot *m, struct stat_programs *ret)
{
	int err = stat_programs_merge(ret, m->programs);
	for (const struct stat_process *p = m->first; p && !err; p = p->next)
		err = stat_programs_add(ret, p);
	if (err)
		abort();
}

static const struct stat_program *find(const struct stat_programs *ps, const char *comm)
{
	const struct stat_program *g = ps->first;
	while (g && strcmp(g->comm, comm))
		g = g->next;
	return g;
}

static bool same_programs(const struct stat_snapshot *a, const struct stat_snapshot *b)
{
	struct stat_programs x = {0}, y = {0};
	sum(a, &x);
	sum(b, &y);
	bool same = x.count == y.count && x.count == 4;
	for (const struct stat_program *g = x.first; g && same; g = g->next) {
		const struct stat_program *h = find(&y, g->comm);
		same = h && g->processes == h->processes && g->begin_ns == h->begin_ns &&
		       g->wall_ns == h->wall_ns && same_numbers(&g->numbers, &h->numbers);
	}
	stat_programs_done(&x);
	stat_programs_done(&y);
	return same;
}

/* Those with numbers of their own that were released have no less GC time than any that have
 * none. */
static bool keeps_most(const struct stat_snapshot *folded, const struct stat_snapshot *all)
{
	uint64_t least = UINT64_MAX, above = 0;
	for (const struct stat_process *p = folded->first; p; p = p->next)
		if (!p->process && p->numbers.gc_ns < least)
			least = p->numbers.gc_ns;
	for (const struct stat_process *p = all->first; p; p = p->next)
		above += p->numbers.gc_ns > least;
	return above >= STAT_OWN - 1 && above < STAT_OWN + AT_ONCE;
}

static void test_sums(bool lines)
{
	const char *with = lines ? "with lines: " : "";
	struct side stays, goes;
	unsigned wrong = 0;
	side_init(&stays, false, lines);
	side_init(&goes, true, lines);
	for (uint32_t n = 0; n < PROCESSES; n++) {
		uint64_t ts = MS + n * (uint64_t)MS;
		live(&stays, n, ts);
		live(&goes, n, ts);
		if (!lines || n % 3)
			continue;
		struct stat_marks a = stat_model_marks(&stays.m, ts + MS / 2);
		struct stat_marks b = stat_model_marks(&goes.m, ts + MS / 2);
		/* The time of one that is gone has ended; of one that stays it runs to the end. */
		wrong += a.minors != n + 1 || b.minors != n + 1 || a.majors != b.majors;
		wrong += b.elapsed_ns > a.elapsed_ns || b.gc_ns > a.gc_ns;
	}
	is(wrong, 0, "what all processes have counted never loses those that were released");
	uint64_t later = (PROCESSES + 1) * (uint64_t)MS;
	uint64_t was_ns = stat_model_marks(&goes.m, later).elapsed_ns;
	is(stat_model_marks(&goes.m, later + MS).elapsed_ns - was_ns,
	   lines ? (uint64_t)AT_ONCE * MS : 0, "time of those that were released is over");
	struct stat_numbers a = {0}, b = {0};
	stays.session->run_end = goes.session->run_end = moment_at((PROCESSES + 2) * (uint64_t)MS);
	if (end(&goes) || stat_snapshot_total(&goes.end, &b))
		abort();
	/* What is known of the end of one that was released: its last event. */
	for (struct stat_process *p = stays.m.processes.first; p; p = p->next)
		if (p->number + AT_ONCE < PROCESSES)
			p->end = moment_at(p->last_ns);
	if (end(&stays) || stat_snapshot_total(&stays.end, &a))
		abort();
	ok(same_numbers(&a, &b), "%sthe total is that of processes which stay", with);
	ok(same_programs(&stays.end, &goes.end), "%sso is the sum of each program", with);
	is(goes.end.listed, STAT_OWN + AT_ONCE,
	   "few have numbers of their own, and those that were not released");
	is(goes.end.count, PROCESSES, "all are counted");
	ok(keeps_most(&goes.end, &stays.end), "%sthey are those with the most GC time", with);
	stat_numbers_done(&a);
	stat_numbers_done(&b);
	side_done(&stays);
	side_done(&goes);
}

/* Index and lanes are another process's; its numbers are not this one's. */
static void test_index_again(void)
{
	struct side s;
	side_init(&s, true, false);
	for (uint32_t n = 0; n < 2 * AT_ONCE; n++)
		live(&s, n, MS + n * (uint64_t)MS);
	ok(s.session->processes.count < 2 * AT_ONCE + 2, "indices are used again");
	if (end(&s))
		abort();
	unsigned own = 0;
	for (const struct stat_process *p = s.end.first; p; p = p->next)
		own += p->numbers.phases[PHASE_minor].begun == 1 && p->lane_count == 1;
	is(own, 2 * AT_ONCE, "each process has its own events and lanes");
	is_str(s.end.first->comm, "program 0", "and its name");
	side_done(&s);
}

/* From the begin of the first process to the end of the last, in whatever order they are added. */
static void test_program_time(void)
{
	struct stat_process early = {.begin_ns = 100, .wall_ns = 300},
			    around = {.begin_ns = 200, .wall_ns = 800},
			    inside = {.begin_ns = 500, .wall_ns = 100};
	struct stat_process *orders[][3] = {{&early, &around, &inside}, {&inside, &around, &early}};
	for (unsigned i = 0; i < 2; i++) {
		struct stat_programs ps = {0};
		for (unsigned k = 0; k < 3; k++)
			if (stat_programs_add(&ps, orders[i][k]))
				abort();
		ok(ps.count == 1 && ps.first->processes == 3 && ps.first->begin_ns == 100 &&
			   ps.first->wall_ns == 900,
		   "a program lasts from its first process's begin to its last one's end");
		stat_programs_done(&ps);
	}
}

int main(void)
{
	test_program_time();
	test_sums(false);
	test_sums(true);
	test_index_again();
	return tap_done();
}
