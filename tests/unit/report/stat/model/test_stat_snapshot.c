/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A snapshot is what a model of the events up to then comes to at its end, and it changes nothing:
 * at random moments of random events a second model gets the events before, and ends there; a third
 * one gets them all, without a snapshot.
 */
#include <stdlib.h>

#include "report/parts/ids.h"
#include "report/stat/model/mutator.h"
#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"
#include "tests/unit/stat_random.h"

#define ROUNDS 300
#define EVENTS 300
#define US     1000u

static void begin(struct stat_model *m, const struct session *s)
{
	if (stat_model_init(m, s, 0))
		abort();
	stat_model_measure_mutators(m);
}

static bool same_least(const struct mmu *a, const struct mmu *b)
{
	return !memcmp(a->least, b->least, sizeof(a->least));
}

/* Windows of the mutators, of the same processes and lanes. */
static bool same_windows(const struct stat_snapshot *a, const struct stat_snapshot *b)
{
	const struct stat_process *p = a->first, *q = b->first;
	bool same = true;
	for (; p && q && same; p = p->next, q = q->next) {
		const struct stat_lane *l = p->lanes, *k = q->lanes;
		same = !p->mutator == !q->mutator &&
		       (!p->mutator || same_least(&p->mutator->windows, &q->mutator->windows));
		for (; l && k && same; l = l->next, k = k->next)
			same = !l->mutator == !k->mutator &&
			       (!l->mutator ||
				same_least(&l->mutator->windows, &k->mutator->windows));
	}
	return same;
}

static bool same(const struct stat_snapshot *a, const struct stat_snapshot *b)
{
	return stat_same(a, b) && same_windows(a, b);
}

static void push(struct stat_model *m, const struct ebt_event *ev, size_t n)
{
	if (stat_model_events(m, ev, n))
		abort();
}

static void take(struct stat_snapshot *s, struct stat_model *m, struct moment at)
{
	if (stat_snapshot_take(s, m, at))
		abort();
}

/* None of its lanes sleeps. */
static void wake_all(struct stat_model *m)
{
	for (struct stat_process *p = m->processes.first; p; p = p->next)
		for (struct stat_lane *l = p->lanes; l; l = l->next)
			stat_sets_wake(l);
}

/* The numbers of the first events, as of a moment, are those of a run that ends there. */
static bool is_right(const struct stat_snapshot *got, const struct session *session,
		     const struct ebt_event *ev, size_t n, struct moment at)
{
	struct stat_model m;
	struct stat_snapshot want = {0};
	begin(&m, session);
	push(&m, ev, n);
	wake_all(&m);
	take(&want, &m, at);
	bool is_same = same(got, &want) && got->count == want.count;
	stat_snapshot_done(&want);
	stat_model_done(&m);
	return is_same;
}

static bool try(uint32_t seed, bool lines)
{
	static struct ebt_event ev[EVENTS];
	struct stat_random r = {seed};
	struct session *session;
	struct stat_model m, whole;
	struct stat_snapshot s = {0}, end = {0};
	struct histogram pauses = {0};
	uint64_t now = 1000000000;
	if (session_new(&session) || enter_processes(session, 16))
		abort();
	begin(&m, session);
	begin(&whole, session);
	if (lines)
		stat_model_count_intervals(&m, &pauses);
	session->run_begin = (struct moment){now, stat_random_draw(&r, 2)};
	bool right = true;
	for (size_t i = 0; i < EVENTS && right; i++) {
		now += 1 + stat_random_draw(&r, stat_random_draw(&r, 50) ? 5000 : 900000000);
		ev[i] = stat_random_event(&r, now);
		push(&m, &ev[i], 1);
		push(&whole, &ev[i], 1);
		if (stat_random_draw(&r, 16))
			continue;
		struct moment at = {now + stat_random_draw(&r, 3) * 700, stat_random_draw(&r, 4)};
		take(&s, &m, at);
		right = is_right(&s, session, ev, i + 1, at);
		now += 2000; /* no event is before a snapshot */
	}
	take(&s, &m, moment_at(now));
	take(&end, &whole, moment_at(now));
	right = right && same(&s, &end);
	stat_snapshot_done(&end);
	stat_snapshot_done(&s);
	stat_model_done(&whole);
	stat_model_done(&m);
	histogram_done(&pauses);
	session_free(session);
	return right;
}

static uint32_t first_wrong(bool lines)
{
	uint32_t seed = 1;
	while (seed <= ROUNDS && try(seed, lines))
		seed++;
	return seed <= ROUNDS ? seed : 0;
}

static struct ebt_event of(uint64_t us, uint16_t kind, uint32_t id)
{
	return (struct ebt_event){
		.ts = us * US, .kind = kind, .id = id, .pid = 1, .pos = us, .cpu = EBT_NO_CPU};
}

/* A pause from 20 to 40 with a phase inside, of a recording that begins at 10. */
static void test_open(void)
{
	const struct ebt_event ev[] = {of(10, EBT_LIFECYCLE, LIFECYCLE_ring_start),
				       of(20, EBT_BEGIN, PHASE_minor),
				       of(25, EBT_BEGIN, PHASE_minor_local_roots)};
	struct session *session;
	struct stat_model m;
	struct stat_snapshot s = {0};
	if (session_new(&session) || enter_processes(session, 1))
		abort();
	begin(&m, session);
	take(&s, &m, moment_at(5 * US));
	ok(!s.first && !s.listed, "before the first event there is nothing");
	push(&m, ev, 3);
	take(&s, &m, moment_at(30 * US));
	const struct stat_numbers *n = &s.first->numbers;
	ok(n->gc_ns == 10 * US && n->elapsed_ns == 20 * US && n->pauses.cut[STAT_CUT_END] == 1,
	   "a pause that is open counts up to the moment, and is cut there");
	is(n->phases[PHASE_minor].self_ns, 5 * US, "what is open inside of it is not its own time");
	take(&s, &m, moment_at(35 * US));
	is(s.first->numbers.gc_ns, 15 * US, "a later one has more of it");
	take(&s, &m, (struct moment){0});
	is(s.first->wall_ns, 15 * US, "without a moment time ends with the last event");
	struct ebt_event ends = of(40, EBT_END, PHASE_minor);
	push(&m, &ends, 1);
	take(&s, &m, moment_at(50 * US));
	n = &s.first->numbers;
	ok(n->gc_ns == 20 * US && n->pauses.whole.count == 1 && !n->pauses.cut[STAT_CUT_END] &&
		   n->phases[PHASE_minor].count == 1,
	   "when it has ended it is a whole one");
	stat_snapshot_done(&s);
	stat_model_done(&m);
	session_free(session);
}

int main(void)
{
	test_open();
	is(first_wrong(false), 0, "a snapshot is what a run would come to that ends there; seed");
	is(first_wrong(true), 0, "also while intervals are counted; seed");
	return tap_done();
}
