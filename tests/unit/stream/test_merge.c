/* SPDX-License-Identifier: BSD-2-Clause */
/* merge: the rules as tables. */
#include "tests/unit/merge_fixture.h"

#define END -1000 /* in a lane: it has ended */

/* Two lanes of times, END or nothing at the end; horizons; the expected times, -EAGAIN or 0. */
static void check(const char *name, const int *a, const int *b, uint64_t ha, uint64_t hb,
		  const int *want)
{
	struct merge *m;
	struct script *c = begin(&m, 2);
	const int *in[2] = {a, b};
	for (int i = 0; i < 2; i++) {
		for (; *in[i] > 0; in[i]++)
			put(&c->lane[i], (uint64_t)*in[i], (uint16_t)i, c->lane[i].count * 2ull);
		c->lane[i].ended = *in[i] == END;
		c->lane[i].horizon = i ? hb : ha;
	}
	merge_poll(m);
	int good = 1, last = 0;
	for (; good; want++) {
		struct ebt_event ev;
		int got = next(m, &ev);
		got = got == 1 ? (int)ev.ts : got;
		good = got == *want;
		last = got;
		if (*want <= 0)
			break;
	}
	if (!ok(good, "%s", name))
		diag("came %d, expected %d", last, *want);
	merge_free(m);
	free(c);
}

#define T(...)                 \
	(const int[])          \
	{                      \
		__VA_ARGS__, 0 \
	}

static void test_rules(void)
{
	check("two lanes come out sorted", T(1, 3, 5, END), T(2, 4, END), 0, 0,
	      T(1, 2, 3, 4, 5, 0));
	check("nothing at all is the end", T(END), T(END), 0, 0, T(0));
	check("a silent lane holds back what it might still precede", T(5, END), T(0), 0, 2,
	      T(-EAGAIN));
	check("what is older than a silent lane's horizon passes", T(1, 5, END), T(0), 0, 2,
	      T(1, -EAGAIN));
	check("a horizon is not a promise about its own moment", T(2, END), T(0), 0, 2, T(-EAGAIN));
	check("an ended lane holds nothing back", T(5, END), T(END), 0, 2, T(5, 0));
	check("a lane that ran dry holds back like a silent one", T(1, 9, END), T(2, 3), 0, 4,
	      T(1, 2, 3, -EAGAIN));
	check("events of one moment from both lanes both come", T(7, 7, END), T(7, END), 0, 0,
	      T(7, 7, 7, 0));
}

/* Whether the next four events have these positions. */
static bool are_next(struct merge *m, const uint64_t pos[4])
{
	bool same = true;
	for (int i = 0; i < 4; i++) {
		struct ebt_event ev;
		same &= next(m, &ev) == 1 && ev.pos == pos[i];
	}
	return same;
}

static void test_order_of_a_moment(void)
{
	struct merge *m;
	struct script *c = begin(&m, 2);
	/* two of the same domain and time in each lane, as a ring and BPF give them */
	for (int i = 0; i < 2; i++) {
		put(&c->lane[i], 10, 3, 100);
		put(&c->lane[i], 10, 3, 102);
		c->lane[i].ended = 1;
	}
	merge_poll(m);
	ok(are_next(m, (const uint64_t[]){100, 100, 102, 102}),
	   "two records of one event are neighbours, also when others have their time");
	merge_free(m);
	free(c);
}

/*
 * A loss has no position of its own: its pos says since when. It stands in front of the event at
 * which its ring goes on, and of what BPF has seen of that, whatever it says.
 */
static void test_loss_beside(void)
{
	for (int ring = 0; ring < 2; ring++) {
		struct merge *m;
		struct script *c = begin(&m, 2);
		put(&c->lane[ring], 10, 3, 99999);
		c->lane[ring].ev[0].kind = EBT_LOST;
		put(&c->lane[ring], 10, 3, 104);
		put(&c->lane[!ring], 10, 3, 102);
		put(&c->lane[!ring], 10, 3, 104);
		c->lane[0].ended = c->lane[1].ended = 1;
		merge_poll(m);
		ok(are_next(m, (const uint64_t[]){99999, 102, 104, 104}),
		   "a loss comes first of its moment, and the pair behind it is not parted");
		merge_free(m);
		free(c);
	}
	/* Other processes and domains have their own order. */
	struct merge *m;
	struct script *c = begin(&m, 3);
	struct ebt_event ev;
	put(&c->lane[0], 10, 2, 5);
	put(&c->lane[1], 10, 1, 9);
	put(&c->lane[2], 10, 0, 7);
	c->lane[2].ev[0].pid = 2;
	c->lane[0].ended = c->lane[1].ended = c->lane[2].ended = 1;
	merge_poll(m);
	uint64_t order = 0;
	while (next(m, &ev) == 1)
		order = order * 10 + ev.pos;
	is(order, 957, "events of a moment are sorted by process, domain and position");
	merge_free(m);
	free(c);
}

static bool restarts(struct source *s, uint32_t *ret)
{
	struct script *c = (struct script *)s;
	*ret = 0;
	bool again = c->polls == 2 && c->lane[0].ended;
	c->lane[0].ended &= !again;
	return again;
}

/* An ended lane of which more is to come holds back the others until it is read. */
static void test_begins_again(void)
{
	static const struct source_ops again = {.poll = script_poll,
						.read = script_read,
						.horizon = script_horizon,
						.begins_again = restarts};
	struct merge *m;
	struct script *c = begin(&m, 2);
	c->base.ops = &again;
	struct ebt_event ev;
	put(&c->lane[0], 1, 0, 1);
	c->lane[0].ended = 1;
	put(&c->lane[1], 5, 1, 5);
	c->lane[1].horizon = 10;
	merge_poll(m);
	ok(next(m, &ev) == 1 && ev.ts == 1 && next(m, &ev) == 1 && ev.ts == 5 &&
		   next(m, &ev) == -EAGAIN,
	   "a lane that has ended holds back nothing");
	put(&c->lane[1], 100, 1, 100);
	c->lane[1].horizon = 110;
	c->lane[0].horizon = 20;
	merge_poll(m);
	is(next(m, &ev), -EAGAIN, "one that begins again does, until it is read");
	merge_poll(m);
	is(next(m, &ev), -EAGAIN, "and then up to its horizon");
	put(&c->lane[0], 50, 0, 50);
	c->lane[0].ended = 1;
	merge_poll(m);
	ok(next(m, &ev) == 1 && ev.ts == 50 && !(ev.flags & EBT_F_LATE) && next(m, &ev) == 1 &&
		   ev.ts == 100,
	   "so that its events come in their place");
	merge_free(m);
	free(c);
}

/* Lane 1 sleeps until it is woken; `reads` of it are counted, and all that sleep have one
 * horizon. */
static uint32_t sleeper_reads, sleeper_wakes;
static uint64_t sleeper_horizon;

static int sleeper_read(struct source *s, uint32_t lane, struct ebt_event *ev, size_t cap)
{
	sleeper_reads += lane == 1;
	return script_read(s, lane, ev, cap);
}
static uint64_t sleeper_horizon_of(struct source *s, uint32_t lane)
{
	return lane == SOURCE_ASLEEP ? sleeper_horizon : script_horizon(s, lane);
}
static bool sleeper_woken(struct source *s, uint32_t *ret)
{
	(void)s;
	*ret = 1;
	return sleeper_wakes && sleeper_wakes--;
}

static void test_sleep(void)
{
	static const struct source_ops sleeps = {.poll = script_poll,
						 .wakes = sleeper_woken,
						 .read = sleeper_read,
						 .horizon = sleeper_horizon_of};
	struct merge *m;
	struct script *c = begin(&m, 2);
	struct ebt_event ev;
	c->base.ops = &sleeps;
	put(&c->lane[0], 30, 0, 0);
	c->lane[0].ended = 1;
	c->lane[1].horizon = sleeper_horizon = 20;
	for (int i = 0; i < 3; i++) {
		merge_poll(m);
		is(next(m, &ev), -EAGAIN, "a lane that sleeps holds back what it may precede");
	}
	is(sleeper_reads, 1, "and is not read");
	put(&c->lane[1], 25, 1, 0);
	c->lane[1].horizon = sleeper_horizon = 40;
	sleeper_wakes = 1;
	merge_poll(m);
	ok(next(m, &ev) == 1 && ev.ts == 25 && next(m, &ev) == 1 && ev.ts == 30,
	   "once it is woken its events come in their place");
	is(next(m, &ev), -EAGAIN, "it sleeps again, and has not ended");
	is(merge_horizon(m), 40, "with the horizon of the others that do");
	uint32_t reads = sleeper_reads;
	merge_poll(m);
	is(next(m, &ev), -EAGAIN, "so it is not read");
	is(sleeper_reads, reads, "by another poll");
	c->lane[1].ended = 1;
	sleeper_wakes = 1;
	merge_poll(m);
	is(next(m, &ev), 0, "it wakes to end");
	merge_free(m);
	free(c);
}

/* A lane with an earlier horizon than those that sleep is awake. */
static void test_cannot_sleep(void)
{
	static const struct source_ops sleeps = {.poll = script_poll,
						 .wakes = sleeper_woken,
						 .read = sleeper_read,
						 .horizon = sleeper_horizon_of};
	struct merge *m;
	struct script *c = begin(&m, 2);
	struct ebt_event ev;
	c->base.ops = &sleeps;
	put(&c->lane[0], 30, 0, 0);
	c->lane[0].ended = 1;
	c->lane[1].horizon = 20;
	sleeper_horizon = 40;
	sleeper_reads = 0;
	for (int i = 0; i < 3; i++) {
		merge_poll(m);
		next(m, &ev);
	}
	is(sleeper_reads, 3, "one with an earlier horizon is read after each poll");
	/* A source that fails: what sleeps ends with it. */
	sleeper_horizon = 20;
	merge_poll(m);
	next(m, &ev);
	c->fails = -EIO;
	static const struct source_ops fails = {.poll = script_poll,
						.wakes = sleeper_woken,
						.read = sleeper_read,
						.horizon = sleeper_horizon_of,
						.stop = script_stop};
	c->base.ops = &fails;
	merge_poll(m);
	ok(next(m, &ev) == 1 && ev.ts == 30 && next(m, &ev) == 0,
	   "the lanes of a source that fails wake, and end");
	merge_free(m);
	free(c);
}

/* At the moment up to which a lane is held, before and behind it. */
static void test_edge_of_time(void)
{
	for (uint64_t ts = 59; ts <= 61; ts++) {
		struct merge *m;
		struct script *c = begin(&m, 3);
		struct ebt_event ev;
		put(&c->lane[0], 60, 0, 0);
		c->lane[0].ended = 1;
		c->lane[1].horizon = 61;
		c->lane[2].ended = 1;
		merge_poll(m);
		next(m, &ev);
		put(&c->lane[1], ts, 1, 0);
		c->lane[1].ended = 1;
		merge_poll(m);
		is(next(m, &ev), 1, "what comes behind its lane's horizon comes at once");
		ok(!(ev.flags & EBT_F_LATE) == (ts >= 60) && ev.ts == (ts < 60 ? 60 : ts),
		   "it is late if its time has been passed on, and not at that moment");
		merge_free(m);
		free(c);
	}
}

/* A lane that begins to hold back when a part of a moment has gone out already. */
static void test_rest_of_a_moment(void)
{
	struct merge *m;
	struct script *c = begin(&m, 2);
	struct ebt_event ev;
	put(&c->lane[0], 50, 0, 0);
	c->lane[0].horizon = c->lane[1].horizon = 51;
	merge_poll(m);
	next(m, &ev);
	put(&c->lane[0], 50, 0, 2);
	put(&c->lane[0], 51, 0, 4);
	c->lane[0].ended = 1;
	c->lane[1].horizon = 50;
	merge_poll(m);
	ok(next(m, &ev) == 1 && ev.ts == 50,
	   "the rest of a moment that has begun to go out is not held back");
	is(next(m, &ev), -EAGAIN, "the next moment is");
	merge_free(m);
	free(c);
}

static void test_late(void)
{
	struct merge *m;
	struct script *c = begin(&m, 2);
	struct ebt_event ev;
	put(&c->lane[0], 50, 0, 0);
	c->lane[0].ended = 1;
	c->lane[1].horizon = 60;
	merge_poll(m);
	next(m, &ev);
	put(&c->lane[1], 40, 1, 0);
	c->lane[1].ended = 1;
	merge_poll(m);
	is(next(m, &ev), 1, "an event behind its lane's horizon is not withheld");
	ok(ev.flags & EBT_F_LATE && ev.domain == 1, "it is marked as late");
	is(ev.ts, 50, "and moved to the last moment passed on, so the output stays sorted");
	merge_free(m);
	free(c);
}

/* Their own times are those of a lifetime, or of an interval: exact in microseconds. */
static void test_late_own_time(void)
{
	static const uint16_t kinds[] = {EBT_ALLOC, EBT_PAGE_FREE, EBT_OFFCPU};
	struct merge *m;
	struct script *c = begin(&m, 2);
	struct ebt_event ev;
	put(&c->lane[0], 50000000, 0, 0);
	c->lane[0].ended = 1;
	c->lane[1].horizon = 60000000;
	merge_poll(m);
	next(m, &ev);
	for (unsigned i = 0; i < 3; i++) {
		put(&c->lane[1], 40000000 + 1000000 * i, 1, 0);
		c->lane[1].ev[i].kind = kinds[i];
		/* It was late already when it was read. */
		c->lane[1].ev[i].size = 700;
	}
	c->lane[1].ended = 1;
	merge_poll(m);
	for (uint64_t i = 0; i < 3; i++)
		ok(next(m, &ev) == 1 && ev.flags & EBT_F_LATE && ev.ts == 50000000 &&
			   EBT_OWN_TS(&ev) == 40000000 + 1000000 * i - 700000,
		   "a late event of kind %u keeps its own time", kinds[i]);
	merge_free(m);
	free(c);
}

/* Events of three lanes that are read at once, over a minute and more. */
static bool sorts(uint64_t span_ns)
{
	enum { EVENTS = 300 };
	struct merge *m;
	struct script *c = begin(&m, 3);
	struct ebt_event ev;
	uint64_t last = 0, events = 0, back = 0;
	for (uint64_t i = 0; i <= EVENTS; i++)
		put(&c->lane[(i * 7 + i / 5) % 3], 1 + i * (span_ns / EVENTS), 0, i);
	for (unsigned i = 0; i < 3; i++)
		c->lane[i].ended = 1;
	merge_poll(m);
	for (; next(m, &ev) == 1; events++) {
		back += ev.ts < last || ev.flags & EBT_F_LATE;
		last = ev.ts;
	}
	merge_free(m);
	free(c);
	return events == EVENTS + 1 && !back;
}

static void test_long_windows(void)
{
	unsigned good = 0, tried = 0;
	for (uint64_t span = 1ull << 32; span < 1ull << 48; span += span / 4, tried++)
		good += sorts(span);
	is(good, tried, "events of seconds to days are sorted");
}

static void test_last_moment(void)
{
	struct merge *m;
	struct script *c = begin(&m, 1);
	struct ebt_event ev;
	put(&c->lane[0], UINT64_MAX, 0, 0);
	c->lane[0].ended = 1;
	merge_poll(m);
	is(next(m, &ev), 1, "no moment is so late that nobody waits for it and it never comes");
	is(next(m, &ev), 0, "and the end comes behind it");
	merge_free(m);
	free(c);
}

static void test_growing(void)
{
	struct merge *m;
	struct script *c = begin(&m, 1);
	struct ebt_event ev;
	put(&c->lane[0], 1, 0, 0);
	c->lane[0].horizon = 5;
	merge_poll(m);
	next(m, &ev);
	c->grow_to = 2;
	put(&c->lane[1], 3, 1, 0);
	c->lane[0].ended = c->lane[1].ended = 1;
	merge_poll(m);
	ok(next(m, &ev) == 1 && ev.domain == 1, "a lane that is added while running is read");
	is(next(m, &ev), 0, "and the end comes when both have ended");
	merge_free(m);
	free(c);
}

/* A source that works, one that fails at the second poll and holds events still. */
static void test_failing_source(void)
{
	struct merge *m;
	struct script *good = begin(&m, 1), *bad = calloc(1, sizeof(*bad));
	struct ebt_event ev;
	if (!bad)
		abort();
	bad->base.ops = &ops;
	bad->base.lanes = 2;
	merge_add(m, &bad->base);
	put(&good->lane[0], 10, 0, 0);
	put(&bad->lane[0], 5, 1, 0);
	good->lane[0].horizon = 20;
	bad->lane[0].horizon = bad->lane[1].horizon = 6;
	merge_poll(m);
	ok(next(m, &ev) == 1 && ev.ts == 5 && next(m, &ev) == -EAGAIN,
	   "a source that works holds back what it may still precede");
	bad->fails = -EIO;
	put(&bad->lane[0], 12, 1, 2);
	put(&good->lane[0], 14, 0, 2);
	merge_poll(m);
	ok(next(m, &ev) == 1 && ev.ts == 10 && next(m, &ev) == 1 && ev.ts == 12 && ev.domain == 1,
	   "what a source whose poll has failed still holds is read, in its place");
	ok(next(m, &ev) == 1 && ev.ts == 14, "and then it holds back no other source");
	is(next(m, &ev), -EAGAIN, "the others may bring more");
	is(merge_horizon(m), 20, "nor the horizon");
	merge_poll(m);
	ok(bad->polls == 2 && bad->stops == 1, "it is stopped, once, and not polled again");
	is(merge_error(m), -EIO, "its error is kept");
	good->lane[0].ended = 1;
	merge_poll(m);
	is(next(m, &ev), 0, "and the end comes when the others have ended");
	merge_free(m);
	free(good);
	free(bad);
}

/* Whatever the order in which the registry met the processes. */
static void test_order_of_pids(void)
{
	static struct processes ps;
	uint32_t high, low, again;
	if (processes_init(&ps, NULL) || processes_of(&ps, 1000, &high) ||
	    processes_of(&ps, 999, &low))
		abort();
	processes_end(&ps, high);
	if (processes_begin(&ps, 1000, NULL, &again))
		abort();
	struct merge *m, *unused;
	struct script *c = begin(&unused, 3);
	merge_free(unused);
	if (merge_new(&ps, &m) || merge_add(m, &c->base))
		abort();
	struct ebt_event ev;
	const uint32_t process[] = {again, high, low}, pos[] = {3, 2, 1};
	for (unsigned i = 0; i < 3; i++) {
		put(&c->lane[i], 10, 0, pos[i]);
		c->lane[i].ev[0].process = process[i];
		c->lane[i].ended = 1;
	}
	merge_poll(m);
	uint64_t order = 0;
	while (next(m, &ev) == 1)
		order = order * 10 + ev.pos;
	is(order, 123, "processes are sorted by pid, those of one pid by age");
	merge_free(m);
	free(c);
	processes_done(&ps);
}

static void test_buffers(void)
{
	static struct script s = {.base = {.ops = &ops, .lanes = LANES}};
	struct lanes l = {0};
	for (int i = 0; i < LANES; i++) {
		put(&s.lane[i], 10, 0, 1);
		s.lane[i].ended = 1;
	}
	if (lanes_add(&l, &s.base) || lanes_poll(&l) || lanes_refill(&l))
		abort();
	is(l.buffers, LANES, "each lane with an event has a buffer");
	for (uint32_t i = 0; i < l.count; i++)
		l.lane[i].at = l.lane[i].count;
	if (lanes_poll(&l) || lanes_refill(&l) || lanes_poll(&l) || lanes_refill(&l))
		abort();
	ok(!l.live_count && !l.buffers && !l.buffered,
	   "lanes that have ended give theirs back, so that those of others may be larger");
	lanes_done(&l);
}

/* One lane alone, then so many that all buffers together would be too large. */
static void test_buffers_shrink(void)
{
	enum { MANY = 600 };
	static struct script one = {.base = {.ops = &ops, .lanes = 1}};
	struct script *more = calloc(MANY / LANES, sizeof(*more));
	struct lanes l = {0};
	if (!more || lanes_add(&l, &one.base))
		abort();
	put(&one.lane[0], 10, 0, 1);
	if (lanes_poll(&l) || lanes_refill(&l))
		abort();
	is(l.lane[0].cap, LANE_EVENTS_MAX, "the buffer of a lane that is alone is long");
	for (int i = 0; i < MANY / LANES; i++) {
		more[i].base = (struct source){.ops = &ops, .lanes = LANES};
		for (int k = 0; k < LANES; k++)
			put(&more[i].lane[k], 20, 0, 1);
		if (lanes_add(&l, &more[i].base))
			abort();
	}
	if (lanes_poll(&l) || lanes_refill(&l))
		abort();
	l.lane[0].at = l.lane[0].count;
	put(&one.lane[0], 30, 0, 2);
	for (int i = 0; i < 2; i++)
		if (lanes_poll(&l) || lanes_refill(&l))
			abort();
	ok(lane_left(&l.lane[0]) == 1 && l.lane[0].cap < LANE_EVENTS_MAX,
	   "it becomes shorter where many lanes have one");
	lanes_done(&l);
	free(more);
}

/* A source may have as many lanes as keys of events have numbers for. */
static void test_most_lanes(void)
{
	static struct script one = {.base = {.ops = &ops, .lanes = 1}};
	struct lanes l = {.count = LANES_MAX};
	if (lanes_add(&l, &one.base))
		abort();
	ok(lanes_poll(&l) == -ENOMEM && l.count == LANES_MAX && !l.lane,
	   "one lane more than there may be is refused");
	l.count = 0;
	lanes_done(&l);
}

int main(void)
{
	test_buffers();
	test_most_lanes();
	test_buffers_shrink();
	test_begins_again();
	test_sleep();
	test_cannot_sleep();
	test_rules();
	test_order_of_a_moment();
	test_order_of_pids();
	test_loss_beside();
	test_edge_of_time();
	test_rest_of_a_moment();
	test_late();
	test_late_own_time();
	test_long_windows();
	test_last_moment();
	test_growing();
	test_failing_source();
	return tap_done();
}
