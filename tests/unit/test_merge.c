/* SPDX-License-Identifier: BSD-2-Clause */
/* merge: the rules as tables, then random lanes against a sort. */
#include "core/merge.h"
#include "tests/tap.h"

#include <errno.h>

#define LANES 16
#define MAX   4000
#define END   -1000 /* in a lane: it has ended */

struct lane_script {
	struct ebt_event ev[MAX];
	int count, at;
	int ended;
	uint64_t horizon;
};
struct script {
	struct source base;
	struct lane_script lane[LANES];
	int grow_to; /* lanes after the next poll */
	int fails;   /* what poll returns */
	int polls, stops;
};

static int script_poll(struct source *s)
{
	struct script *c = (struct script *)s;
	c->polls++;
	if (c->grow_to)
		s->lanes = (uint32_t)c->grow_to;
	return c->fails;
}
static int script_stop(struct source *s)
{
	((struct script *)s)->stops++;
	return 0;
}
static int script_read(struct source *s, uint32_t lane, struct ebt_event *ev, size_t cap)
{
	struct lane_script *l = &((struct script *)s)->lane[lane];
	int n = l->count - l->at;
	if (!n)
		return l->ended ? 0 : -EAGAIN;
	n = n > (int)cap ? (int)cap : n;
	memcpy(ev, l->ev + l->at, (size_t)n * sizeof(*ev));
	l->at += n;
	return n;
}
static uint64_t script_horizon(struct source *s, uint32_t lane)
{
	return ((struct script *)s)->lane[lane].horizon;
}
static const struct source_ops ops = {
	.poll = script_poll, .read = script_read, .horizon = script_horizon, .stop = script_stop};

static void put(struct lane_script *l, uint64_t ts, uint16_t domain, uint64_t pos)
{
	l->ev[l->count++] = (struct ebt_event){
		.ts = ts, .domain = domain, .pos = pos, .kind = EBT_BEGIN, .pid = 1};
}

static struct script *begin(struct merge **m, unsigned lanes)
{
	struct script *c = calloc(1, sizeof(*c));
	if (!c || merge_new(m) || merge_add(*m, &c->base))
		abort();
	c->base.ops = &ops;
	c->base.lanes = lanes;
	return c;
}

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
		int got = merge_next(m, &ev);
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
	uint64_t pos[4];
	for (int i = 0; i < 4; i++) {
		struct ebt_event ev;
		merge_next(m, &ev);
		pos[i] = ev.pos;
	}
	ok(pos[0] == 100 && pos[1] == 100 && pos[2] == 102 && pos[3] == 102,
	   "two records of one event are neighbours, also when others have their time");
	merge_free(m);
	free(c);
}

/*
 * A loss has no position of its own: its pos says since when. It stands in front of the event at which
 * its ring goes on, and of what BPF has seen of that, whatever it says.
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
		uint64_t pos[4];
		for (int i = 0; i < 4; i++) {
			struct ebt_event ev;
			merge_next(m, &ev);
			pos[i] = ev.pos;
		}
		ok(pos[0] == 99999 && pos[1] == 102 && pos[2] == 104 && pos[3] == 104,
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
	while (merge_next(m, &ev) == 1)
		order = order * 10 + ev.pos;
	is(order, 957, "events of a moment are sorted by process, domain and position");
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
		merge_next(m, &ev);
		put(&c->lane[1], ts, 1, 0);
		c->lane[1].ended = 1;
		merge_poll(m);
		is(merge_next(m, &ev), 1, "what comes behind its lane's horizon comes at once");
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
	for (int i = 0; i < 3; i++)
		put(&c->lane[0], i < 2 ? 50 : 51, 0, 2 * (uint64_t)i);
	c->lane[0].ended = 1;
	c->lane[1].horizon = 51;
	merge_poll(m);
	merge_next(m, &ev);
	c->lane[1].horizon = 50;
	merge_poll(m);
	ok(merge_next(m, &ev) == 1 && ev.ts == 50,
	   "the rest of a moment that has begun to go out is not held back");
	is(merge_next(m, &ev), -EAGAIN, "the next moment is");
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
	merge_next(m, &ev);
	put(&c->lane[1], 40, 1, 0);
	c->lane[1].ended = 1;
	merge_poll(m);
	is(merge_next(m, &ev), 1, "an event behind its lane's horizon is not withheld");
	ok(ev.flags & EBT_F_LATE && ev.domain == 1, "it is marked as late");
	is(ev.ts, 50, "and moved to the last moment passed on, so the output stays sorted");
	merge_free(m);
	free(c);
}

static void test_last_moment(void)
{
	struct merge *m;
	struct script *c = begin(&m, 1);
	struct ebt_event ev;
	put(&c->lane[0], UINT64_MAX, 0, 0);
	c->lane[0].ended = 1;
	merge_poll(m);
	is(merge_next(m, &ev), 1,
	   "no moment is so late that nobody waits for it and it never comes");
	is(merge_next(m, &ev), 0, "and the end comes behind it");
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
	merge_next(m, &ev);
	c->grow_to = 2;
	put(&c->lane[1], 3, 1, 0);
	c->lane[0].ended = c->lane[1].ended = 1;
	merge_poll(m);
	ok(merge_next(m, &ev) == 1 && ev.domain == 1, "a lane that is added while running is read");
	is(merge_next(m, &ev), 0, "and the end comes when both have ended");
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
	ok(merge_next(m, &ev) == 1 && ev.ts == 5 && merge_next(m, &ev) == -EAGAIN,
	   "a source that works holds back what it may still precede");
	bad->fails = -EIO;
	put(&bad->lane[0], 12, 1, 2);
	put(&good->lane[0], 14, 0, 2);
	merge_poll(m);
	ok(merge_next(m, &ev) == 1 && ev.ts == 10 && merge_next(m, &ev) == 1 && ev.ts == 12 &&
		   ev.domain == 1,
	   "what a source whose poll has failed still holds is read, in its place");
	ok(merge_next(m, &ev) == 1 && ev.ts == 14, "and then it holds back no other source");
	is(merge_horizon(m), 20, "nor the horizon");
	is(merge_next(m, &ev), -EAGAIN, "the others may bring more");
	merge_poll(m);
	ok(bad->polls == 2 && bad->stops == 1, "it is stopped, once, and not polled again");
	is(merge_error(m), -EIO, "its error is kept");
	good->lane[0].ended = 1;
	merge_poll(m);
	is(merge_next(m, &ev), 0, "and the end comes when the others have ended");
	merge_free(m);
	free(good);
	free(bad);
}

static int by_time(const void *a, const void *b)
{
	const struct ebt_event *x = a, *y = b;
	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	if (x->domain != y->domain)
		return x->domain < y->domain ? -1 : 1;
	return x->pos < y->pos ? -1 : x->pos > y->pos;
}

/*
 * Random lanes, revealed bit by bit with true horizons, must come out as a sort of them all; lanes
 * may take turns within one moment.
 */
static int model_round(unsigned seed)
{
	struct merge *m;
	int lanes = 1 + (int)(seed % LANES);
	struct script *c = begin(&m, (unsigned)lanes), *whole = calloc(1, sizeof(*whole));
	struct ebt_event *all = calloc(MAX * LANES, sizeof(*all));
	int total = 0, out = 0, good = 1, shown[LANES] = {0};
	uint64_t next_pos[LANES] = {0};
	srand(seed);
	for (int i = 0; i < lanes; i++) {
		uint64_t ts = 0;
		for (int n = rand() % 700; n > 0; n--) {
			put(&whole->lane[i], ts += (uint64_t)(rand() % 4), (uint16_t)i,
			    whole->lane[i].count * 2ull);
			all[total++] = whole->lane[i].ev[whole->lane[i].count - 1];
		}
	}
	qsort(all, (size_t)total, sizeof(*all), by_time);
	for (int got = -EAGAIN; got;) {
		struct ebt_event ev;
		while ((got = merge_next(m, &ev)) == 1) {
			good &= out < total && ev.ts == all[out].ts &&
				ev.pos == next_pos[ev.domain];
			next_pos[ev.domain] += 2;
			out++;
		}
		int i = rand() % lanes;
		struct lane_script *from = &whole->lane[i], *to = &c->lane[i];
		for (int n = rand() % 300; n > 0 && shown[i] < from->count; n--)
			to->ev[to->count++] = from->ev[shown[i]++];
		to->ended = shown[i] == from->count;
		to->horizon = to->ended ? UINT64_MAX : from->ev[shown[i]].ts;
		merge_poll(m);
		got = got ? got : -EAGAIN * (out < total);
	}
	merge_free(m);
	free(c);
	free(whole);
	free(all);
	return good && out == total;
}

int main(void)
{
	test_rules();
	test_order_of_a_moment();
	test_loss_beside();
	test_edge_of_time();
	test_rest_of_a_moment();
	test_late();
	test_last_moment();
	test_growing();
	test_failing_source();
	int bad = 0;
	for (unsigned seed = 1; seed <= 200; seed++)
		bad += !model_round(seed);
	is(bad, 0, "200 random sets of lanes, shown bit by bit, come out as a sort of them");
	return tap_done();
}
