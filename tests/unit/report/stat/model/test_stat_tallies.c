/* SPDX-License-Identifier: BSD-2-Clause */
/* Tallies that wait for their time: each is added to its process once, and in order. */
#include "report/stat/model/tallies.h"

#include "tests/random.h"
#include "tests/tap.h"
#include "tests/unit/stat_fixture.h"

static struct tally *tally(uint32_t process, uint64_t at_us, uint64_t majors)
{
	struct tally *t = calloc(1, sizeof(*t));
	if (!t)
		abort();
	t->process = process;
	t->at_ns = t->last_ns = at_us * US;
	t->majors = majors;
	return t;
}

static uint64_t majors_of(struct stat_run *r, uint32_t process)
{
	const struct stat_process *p = stat_processes_find(&r->model.processes, process);
	return p ? p->numbers.majors : 0;
}

static bool is_sorted(const struct stat_tallies *ts, unsigned n)
{
	unsigned count = 0;
	for (const struct tally *t = ts->first; t; t = t->next, count++)
		if (t->next && t->next->at_ns < t->at_ns)
			return false;
	return count == n;
}

static void test_order(void)
{
	struct stat_tallies ts = {0};
	uint64_t state = 7;
	for (unsigned i = 0; i < 200; i++)
		stat_tallies_add(&ts, tally(1, random_next(&state) % 50, 1));
	ok(is_sorted(&ts, 200), "whatever their order, they wait in that of their times");
	stat_tallies_done(&ts);

	struct ebt_event ev[4] = {{.ts = 1 * US}, {.ts = 5 * US}, {.ts = 6 * US}, {.ts = 7 * US}};
	ok(stat_tallies_before(&ts, ev, 4) == 4, "without any, all events come first");
	stat_tallies_add(&ts, tally(1, 6, 1));
	ok(stat_tallies_before(&ts, ev, 4) == 2 && stat_tallies_before(&ts, ev, 1) == 1 &&
		   !stat_tallies_before(&ts, ev + 2, 2),
	   "else those before its time, and none of its time");
	stat_tallies_done(&ts);
}

static void test_apply(void)
{
	struct stat_run r;
	struct stat_tallies ts = {0};
	stat_run_begin(&r, 0);
	stat_tallies_add(&ts, tally(1, 10, 1));
	stat_tallies_add(&ts, tally(2, 20, 2));
	stat_tallies_add(&ts, tally(1, 30, 4));
	if (stat_tallies_apply(&ts, &r.model, 20 * US))
		abort();
	ok(majors_of(&r, 1) == 1 && majors_of(&r, 2) == 2,
	   "those up to a moment count, its own too");
	if (stat_tallies_apply(&ts, &r.model, 20 * US))
		abort();
	ok(majors_of(&r, 1) == 1 && majors_of(&r, 2) == 2, "once");
	if (stat_tallies_apply(&ts, &r.model, 99 * US))
		abort();
	ok(majors_of(&r, 1) == 5 && !ts.first, "the later one in its time");
	stat_tallies_add(&ts, tally(1, 40, 8));
	if (stat_tallies_apply(&ts, &r.model, 99 * US))
		abort();
	is(majors_of(&r, 1), 13, "and so do those that come when all were taken");
	const struct stat_process *p = stat_processes_find(&r.model.processes, 1);
	ok(stat_sets_is_busy(p->lanes, p->lanes->in_ring),
	   "losses and ends of its process concern the lane that they are of");
	stat_tallies_done(&ts);
	stat_run_end(&r, 0);
	stat_run_done(&r);
}

/* The last one is of the process that ends; another one follows. */
static void test_forget(void)
{
	struct stat_run r;
	struct stat_tallies ts = {0};
	stat_run_begin(&r, 0);
	stat_tallies_add(&ts, tally(1, 10, 1));
	stat_tallies_add(&ts, tally(2, 20, 2));
	if (stat_tallies_forget(&ts, &r.model, 2))
		abort();
	ok(majors_of(&r, 2) == 2 && !majors_of(&r, 1) && is_sorted(&ts, 1),
	   "a process that is forgotten has its own before their time");
	stat_tallies_add(&ts, tally(1, 30, 4));
	stat_tallies_add(&ts, tally(1, 25, 8));
	ok(is_sorted(&ts, 3), "those that come later follow the others");
	if (stat_tallies_apply(&ts, &r.model, 99 * US))
		abort();
	is(majors_of(&r, 1), 13, "and count");
	stat_tallies_done(&ts);
	stat_run_end(&r, 0);
	stat_run_done(&r);
}

/* A tally has what was counted since the one before it. */
static void test_counters(void)
{
	struct stat_run r;
	struct stat_tallies ts = {0};
	stat_run_begin(&r, 0);
	struct tally *first = tally(1, 10, 0), *second = tally(1, 20, 0);
	first->counter[TALLY_PROMOTED_WORDS] = 30;
	first->counter_seen[TALLY_PROMOTED_WORDS] = true;
	second->counter[TALLY_MINOR_WORDS] = 5;
	second->counter_seen[TALLY_MINOR_WORDS] = true;
	stat_tallies_add(&ts, first);
	stat_tallies_add(&ts, second);
	if (stat_tallies_apply(&ts, &r.model, 99 * US))
		abort();
	const struct stat_numbers *n = &stat_processes_find(&r.model.processes, 1)->numbers;
	ok(n->promoted_words.seen && n->promoted_words.words == 30 && n->minor_words.seen &&
		   n->minor_words.words == 5 && !n->major_words.seen && !n->minor_bytes.seen,
	   "a counter that has been seen stays so when no more comes to it");
	stat_tallies_done(&ts);
	stat_run_end(&r, 0);
	stat_run_done(&r);
}

int main(void)
{
	test_order();
	test_apply();
	test_counters();
	test_forget();
	return tap_done();
}
