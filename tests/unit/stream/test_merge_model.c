/* SPDX-License-Identifier: BSD-2-Clause */
/* merge: random lanes against a model that takes one event at a time. */
#include "tests/unit/merge_fixture.h"

static uint64_t order_pos(const struct ebt_event *ev)
{
	return ev->kind == EBT_LOST ? 0 : ev->pos;
}

static int compare(const struct ebt_event *a, const struct ebt_event *b)
{
	if (a->ts != b->ts)
		return a->ts < b->ts ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->domain != b->domain)
		return a->domain < b->domain ? -1 : 1;
	return order_pos(a) < order_pos(b) ? -1 : order_pos(a) > order_pos(b);
}

/* What must come out: always the first of the lanes' next events. */
static int expect(struct script *whole, int lanes, struct ebt_event *ret)
{
	uint64_t last = 0;
	for (int n = 0;; n++) {
		struct lane_script *first = NULL;
		for (int i = 0; i < lanes; i++) {
			struct lane_script *l = &whole->lane[i];
			if (l->at < l->count &&
			    (!first || compare(&l->ev[l->at], &first->ev[first->at]) < 0))
				first = l;
		}
		if (!first)
			return n;
		ret[n] = first->ev[first->at++];
		if (ret[n].ts < last) {
			ret[n].ts = last;
			ret[n].flags |= EBT_F_LATE;
		}
		last = ret[n].ts;
	}
}

/* Two lanes may be of one domain, as of a ring and BPF; some times go back, some events are
 * losses. */
static void make_lanes(struct script *whole, int lanes, unsigned spread, bool goes_back)
{
	for (int i = 0; i < lanes; i++) {
		struct lane_script *l = &whole->lane[i];
		uint64_t ts = 100;
		for (int n = rand() % 700; n > 0; n--) {
			bool back = goes_back && rand() % 50 == 0;
			ts += (uint64_t)rand() % spread - (back ? (uint64_t)rand() % 90 : 0);
			ts = ts < 100 || ts >> 63 ? 100 : ts;
			if (rand() % 300 == 0)
				ts += (uint64_t)1 << (rand() % 45);
			put(l, ts, (uint16_t)(i / 2), l->count * 2ull);
			l->ev[l->count - 1].pid = 1 + (uint32_t)(i / 4);
			if (rand() % 20 == 0)
				l->ev[l->count - 1].kind = EBT_LOST;
		}
	}
}

static uint64_t true_horizon(const struct lane_script *l, int from)
{
	uint64_t least = UINT64_MAX;
	for (int i = from; i < l->count; i++)
		least = l->ev[i].ts < least ? l->ev[i].ts : least;
	return least;
}

/* n events, and what else is of the moment of the last. */
static void show(const struct lane_script *from, struct lane_script *to, int *shown, int n)
{
	for (; *shown < from->count &&
	       (n > 0 || (*shown && from->ev[*shown].ts == from->ev[*shown - 1].ts));
	     n--)
		to->ev[to->count++] = from->ev[(*shown)++];
	to->ended = *shown == from->count;
	to->horizon = true_horizon(from, *shown);
}

/*
 * Random lanes, revealed bit by bit with true horizons, must come out as if always the first of
 * all next events had been taken.
 */
static int model_round(unsigned seed)
{
	struct merge *m;
	int lanes = 1 + (int)(seed % LANES);
	struct script *c = begin(&m, (unsigned)lanes), *whole = calloc(1, sizeof(*whole));
	struct ebt_event *all = calloc(MAX * LANES, sizeof(*all));
	int out = 0, good = 1, shown[LANES] = {0};
	srand(seed);
	bool at_once = seed % 3 == 0; /* a time that goes back is known before */
	make_lanes(whole, lanes, seed % 2 ? 4 : 400, at_once);
	int total = expect(whole, lanes, all);
	for (int got = -EAGAIN; got;) {
		struct ebt_event ev;
		while ((got = next(m, &ev)) == 1) {
			good &= out < total && !memcmp(&ev, &all[out], sizeof(ev));
			out++;
		}
		for (int i = at_once ? 0 : rand() % lanes, n = at_once ? lanes : 1; n > 0; n--, i++)
			show(&whole->lane[i], &c->lane[i], &shown[i], at_once ? MAX : rand() % 300);
		merge_poll(m);
		got = got ? got : -EAGAIN * (out < total);
	}
	merge_free(m);
	free(c);
	free(whole);
	free(all);
	return good && out == total;
}

/*
 * Horizons that are no promise: every event comes once, those of a lane in their order, and what
 * comes out is sorted.
 */
static int late_round(unsigned seed)
{
	struct merge *m;
	int lanes = 2 + (int)(seed % (LANES - 1));
	struct script *c = begin(&m, (unsigned)lanes), *whole = calloc(1, sizeof(*whole));
	int total = 0, out = 0, good = 1, open = lanes, shown[LANES] = {0}, came[LANES] = {0};
	uint64_t last = 0;
	srand(seed);
	make_lanes(whole, lanes, 9, true);
	for (int i = 0; i < lanes; i++) {
		total += whole->lane[i].count;
		for (int n = 0; n < whole->lane[i].count; n++)
			whole->lane[i].ev[n].tid = (uint32_t)i;
	}
	while (open) {
		struct ebt_event ev;
		int i = rand() % lanes;
		struct lane_script *from = &whole->lane[i], *to = &c->lane[i];
		for (int n = rand() % 300; n > 0 && shown[i] < from->count; n--)
			to->ev[to->count++] = from->ev[shown[i]++];
		open -= !to->ended && shown[i] == from->count;
		to->ended = shown[i] == from->count;
		to->horizon += (uint64_t)rand() % 1000;
		merge_poll(m);
		while (next(m, &ev) == 1) {
			const struct lane_script *l = &whole->lane[ev.tid];
			const struct ebt_event *was = &l->ev[came[ev.tid]++];
			bool late = ev.flags & EBT_F_LATE;
			good &= ev.pos == was->pos && ev.ts >= last && late == (was->ts < last) &&
				ev.ts == (late ? last : was->ts);
			last = ev.ts;
			out++;
		}
	}
	merge_free(m);
	free(c);
	free(whole);
	return good && out == total;
}

/* 600 lanes of 100 events: their buffers are small. Every fourth begins again once. */
#define MANY 600
#define EACH 100
static uint32_t many_read[MANY];
static bool many_told[MANY];

static int many_poll(struct source *s)
{
	(void)s;
	return 0;
}
static int many_events(struct source *s, uint32_t lane, struct ebt_event *ev, size_t cap)
{
	size_t n = 0;
	(void)s;
	for (; n < cap && many_read[lane] < EACH; n++) {
		uint32_t i = many_read[lane]++;
		ev[n] = (struct ebt_event){.ts = 1 + i * 7ull + lane % 13,
					   .pid = 1 + lane,
					   .pos = i,
					   .kind = EBT_BEGIN};
	}
	return (int)n;
}
static bool many_begins_again(struct source *s, uint32_t *ret)
{
	(void)s;
	for (uint32_t i = 0; i < MANY; i += 4)
		if (many_read[i] == EACH && !many_told[i]) {
			many_told[i] = true;
			many_read[i] = 0;
			*ret = i;
			return true;
		}
	return false;
}

static void test_many_lanes(void)
{
	static const struct source_ops many_ops = {
		.poll = many_poll, .read = many_events, .begins_again = many_begins_again};
	struct source many = {.ops = &many_ops, .lanes = MANY};
	struct ebt_event ev;
	struct merge *m;
	uint64_t last = 0;
	int came = 0, bad = 0, late = 0;
	batch_left = 0;
	if (merge_new(processes(), &m) || merge_add(m, &many))
		abort();
	do {
		merge_poll(m);
		while (next(m, &ev) == 1) {
			bad += ev.ts < last;
			late += !!(ev.flags & EBT_F_LATE);
			last = ev.ts;
			came++;
		}
	} while (came < EACH * (MANY + MANY / 4));
	is(bad, 0, "600 lanes come out sorted");
	ok(late > EACH * MANY / 4 - MANY,
	   "a lane that begins again brings its events, all late here");
	merge_poll(m);
	is(next(m, &ev), 0, "and the end comes once it has ended, too");
	merge_free(m);
}

int main(void)
{
	int bad = 0;
	for (unsigned seed = 1; seed <= TAP_ROUNDS(200); seed++)
		bad += !model_round(seed);
	is(bad, 0,
	   "200 random sets of lanes, shown bit by bit, come out as the first of all next events");
	bad = 0;
	for (unsigned seed = 1; seed <= TAP_ROUNDS(100); seed++)
		bad += !late_round(seed);
	is(bad, 0, "with horizons that are no promise each event comes once, late ones flagged");
	test_many_lanes();
	return tap_done();
}
