/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pause is the same for all that report pauses: the statistics, their blame, the event `pause`
 * and the trigger get the same threads of a domain, which yield to each other, and find the same
 * pauses. Times are in microseconds.
 */
#include "format/ebt/span_watch.h"
#include "report/parts/ids.h"
#include "report/stat/model/blame.h"
#include "report/stat/pause_events.h"
#include "session/offcpu.h"
#include "tests/random.h"
#include "tests/tap.h"
#include "tests/unit/stat_fixture.h"

#include <stdio.h>
#include <string.h>

#define FULL	 PHASE_explicit_gc_full_major
#define MAJOR	 PHASE_major
#define MINOR	 PHASE_minor
#define PAUSES	 64
#define THREADS	 (PAUSE_CLOCK_WAITING + 3)
#define ROUNDS	 200
#define STEPS	 400
#define LONG_TID 90

/* The lengths of pauses, in the order of their ends. */
struct lengths {
	unsigned count;
	uint64_t sum, at[PAUSES], begin[PAUSES];
};

struct users {
	struct stat_run stat;
	struct blame *blame;
	struct blame_sums sums; /* as of the last read_sums() */
	struct span_watch *watch;
	struct sink sink, *events;
	struct lengths by_event, by_watch;
};

static void add(struct lengths *l, uint64_t begin_ns, uint64_t ns)
{
	unsigned i = l->count++ % PAUSES;
	l->sum += ns;
	l->at[i] = ns;
	l->begin[i] = begin_ns;
}

static int take_events(struct sink *k, const struct ebt_event *ev, size_t n)
{
	struct users *u = (struct users *)((char *)k - offsetof(struct users, sink));
	for (size_t i = 0; i < n; i++)
		if (ev[i].kind == EBT_PAUSE)
			add(&u->by_event, 0, ev[i].pos);
	return 0;
}

static const struct sink_ops sink_ops = {.events = take_events};
static const struct span_rule any = {"pause>0", SPAN_WATCH_PAUSE, 0};

static void begin(struct users *u)
{
	memset(u, 0, sizeof(*u));
	stat_run_begin(&u->stat, 0);
	u->sink.ops = &sink_ops;
	struct session *s = u->stat.session;
	if (blame_new(s, PAUSES, &u->blame) || span_watch_new(s, &any, 1, &u->watch) ||
	    pause_events_new(s, &u->sink, 0, NULL, &u->events))
		abort();
}

static const struct blame_sums *read_sums(struct users *u)
{
	blame_sums_done(&u->sums);
	if (blame_snapshot(u->blame, &u->sums))
		abort();
	return &u->sums;
}

static void push_event(struct users *u, const struct ebt_event *ev)
{
	struct span_hit hit;
	stat_run_push(&u->stat, ev);
	int hits = span_watch_push(u->watch, ev, &hit);
	if (hits < 0 || blame_events(u->blame, ev, 1) || sink_events(u->events, ev, 1))
		abort();
	if (hits)
		add(&u->by_watch, hit.begin_ns, hit.ns);
}

static void push(struct users *u, uint64_t us, uint32_t tid, uint16_t kind, uint32_t id)
{
	struct ebt_event ev = {.ts = us * US,
			       .pos = EBT_NO_POS,
			       .kind = kind,
			       .id = id,
			       .pid = 7,
			       .tid = tid,
			       .cpu = EBT_NO_CPU,
			       .flags = EBT_F_BPF};
	if (kind == EBT_LOST)
		EBT_LOST_SINCE(&ev) = ev.ts;
	push_event(u, &ev);
}

static void off(struct users *u, uint32_t tid, uint64_t from, uint64_t until)
{
	struct offcpu o = {.begin_ns = from * US,
			   .end_ns = until * US,
			   .reason = EBT_OFFCPU_SLEEP,
			   .syscall = BLAME_NO_CALL};
	struct ebt_event ev = {.ts = until * US,
			       .kind = EBT_OFFCPU,
			       .pid = 7,
			       .domain = EBT_NO_DOMAIN,
			       .tid = tid,
			       .cpu = EBT_NO_CPU};
	if (offcpu_put(u->stat.session, &ev, &o) || blame_events(u->blame, &ev, 1))
		abort();
	session_drop_event(u->stat.session, &ev);
}

static void done(struct users *u)
{
	sink_free(u->events);
	span_watch_free(u->watch);
	blame_sums_done(&u->sums);
	blame_free(u->blame);
	stat_run_done(&u->stat);
}

/* "pauses/their sum", as each of the four has it. */
static void show(struct users *u, char *ret, size_t cap)
{
	stat_run_end(&u->stat, 0);
	const struct stat_process *p = u->stat.end.first;
	const struct stat_pauses *ps = &p->numbers.pauses;
	const struct blame_sum *total = &read_sums(u)->total;
	snprintf(ret, cap, "stat %u/%u blame %u/%u events %u/%u trigger %u/%u",
		 (unsigned)ps->whole.count, (unsigned)(ps->whole.sum / US), (unsigned)total->pauses,
		 (unsigned)(total->pause_ns / US), u->by_event.count,
		 (unsigned)(u->by_event.sum / US), u->by_watch.count,
		 (unsigned)(u->by_watch.sum / US));
}

/* A full major collection of thread 1 from 2000 to 2112, which yields from 2006 to 2106. */
static void push_yields(struct users *u, uint32_t tid, uint32_t other)
{
	push(u, 2000, tid, EBT_BEGIN, FULL);
	push(u, 2001, tid, EBT_BEGIN, MAJOR);
	push(u, 2006, tid, EBT_END, MAJOR);
	off(u, LONG_TID, 2007, 2008);
	push(u, 2050, other, EBT_BEGIN, MINOR);
	push(u, 2052, other, EBT_END, MINOR);
	off(u, tid, 2007, 2105);
	push(u, 2106, tid, EBT_BEGIN, MAJOR);
	push(u, 2110, tid, EBT_END, MAJOR);
	push(u, 2112, tid, EBT_END, FULL);
}

static void test_yields(void)
{
	struct users u;
	char got[128];
	begin(&u);
	off(&u, LONG_TID, 1, 2);
	push_yields(&u, 1, 2);
	const struct blame_sums *sums = read_sums(&u);
	const struct blame_pause *p = sums->longest.at;
	ok(sums->longest.count == 2 && p->ns == 12 * US && p->begin_ns == 2000 * US &&
		   p->end_ns == 2112 * US,
	   "a pause that waits for another thread is as long as its own parts");
	is(p->split.ns[BLAME_CPU] / US, 12, "the sleep of its thread meanwhile is no part of it");
	ok(u.by_watch.at[1] == 12 * US && u.by_watch.begin[1] == 2000 * US,
	   "a trigger's capture holds it from its begin");
	show(&u, got, sizeof(got));
	is_str(got, "stat 2/14 blame 2/14 events 2/14 trigger 2/14",
	       "statistics, blame, events and trigger find the same pauses");
	done(&u);
	begin(&u);
	push_yields(&u, 0, 0);
	show(&u, got, sizeof(got));
	is_str(got, "stat 1/112 blame 1/112 events 1/112 trigger 1/112",
	       "where threads are not known, too");
	done(&u);
}

static void test_open(void)
{
	struct users u;
	struct blame_pause p;
	begin(&u);
	push(&u, 2000, 1, EBT_BEGIN, FULL);
	push(&u, 2010, 1, EBT_BEGIN, MAJOR);
	push(&u, 2010, 1, EBT_END, MAJOR);
	push(&u, 2050, 2, EBT_BEGIN, MINOR);
	ok(blame_open(u.blame, 2055 * US, &p) && p.tid == 1 && p.ns == 10 * US,
	   "of the open pauses one that waits is as long as it was");
	ok(blame_open(u.blame, 2070 * US, &p) && p.tid == 2 && p.ns == 20 * US,
	   "until one that goes on is longer");
	done(&u);
}

/* The kernel's counts of a pause hold what its thread did while it waited. */
static void test_counts(void)
{
	struct users u;
	const struct pause_counts counts = {{0}};
	struct ebt_event ev = {.ts = 2112 * US,
			       .pos = EBT_NO_POS,
			       .kind = EBT_END,
			       .id = FULL,
			       .pid = 7,
			       .tid = 1,
			       .cpu = EBT_NO_CPU};
	begin(&u);
	push(&u, 2000, 1, EBT_BEGIN, FULL);
	push(&u, 2050, 2, EBT_BEGIN, MINOR);
	push(&u, 2052, 2, EBT_END, MINOR);
	if (pause_counts_put(u.stat.session, &ev, &counts))
		abort();
	push_event(&u, &ev);
	session_drop_event(u.stat.session, &ev);
	ok(read_sums(&u)->total.pauses == 2 && !read_sums(&u)->total.counted,
	   "what the kernel counted while the thread waited is not the pause's");
	done(&u);
}

/* What threads of a domain do at random: those that hold a lock yield inside of their pauses. */
static bool agree(uint64_t state, char *got, size_t cap)
{
	struct users u;
	struct {
		uint32_t open[4];
		unsigned depth;
	} t[THREADS + 1] = {{{0}, 0}};
	static const uint32_t ids[] = {FULL, MAJOR, MINOR, PHASE_domain_condition_wait};
	uint64_t us = 1000;
	uint32_t tid = 1;
	begin(&u);
	for (unsigned i = 0; i < STEPS; i++) {
		us += random_next(&state) % 20;
		if (!(random_next(&state) % 4))
			tid = 1 + (uint32_t)(random_next(&state) % THREADS);
		uint64_t what = random_next(&state) % 40;
		if (!what) {
			push(&u, us, 0, EBT_LOST, 0);
			memset(t, 0, sizeof(t));
		} else if (what == 1) {
			push(&u, us, tid, EBT_COUNTER, 0);
		} else if (t[tid].depth < 4 && random_next(&state) % 2) {
			uint32_t id = ids[random_next(&state) % 4];
			push(&u, us, tid, EBT_BEGIN, t[tid].open[t[tid].depth++] = id);
		} else if (t[tid].depth) {
			push(&u, us, tid, EBT_END, t[tid].open[--t[tid].depth]);
		}
	}
	show(&u, got, cap);
	const struct stat_pauses *ps = &u.stat.end.first->numbers.pauses;
	const struct blame_sum *total = &read_sums(&u)->total;
	bool same = ps->whole.count == total->pauses && ps->whole.sum == total->pause_ns &&
		    total->pauses == u.by_event.count && total->pause_ns == u.by_event.sum &&
		    total->pause_ns == u.by_watch.sum;
	done(&u);
	return same;
}

int main(void)
{
	char got[128] = "";
	uint64_t bad = 0;
	test_yields();
	test_open();
	test_counts();
	for (uint64_t seed = 1; seed <= ROUNDS && !bad; seed++)
		bad = agree(seed, got, sizeof(got)) ? 0 : seed;
	is(bad, 0, "they agree on threads that yield at random; seed");
	if (bad)
		printf("# %s\n", got);
	return tap_done();
}
