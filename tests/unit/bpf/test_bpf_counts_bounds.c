// SPDX-License-Identifier: BSD-2-Clause
/*
 * Counting in maps: limits, what cuts a phase without its end, and pauses that end while the tracer
 * reads.
 */
#include "tests/unit/counts_fixture.h"

static void check_depth(void)
{
	struct model t;
	model_init(&t, 1);
	struct count_hit h = {
		.key = {.slot = SLOT, .where = 1}, .row = rows[0][PHASE_minor], .ts = BEGIN};
	for (unsigned i = 0; i < EBT_COUNT_DEPTH + 5; i++)
		count_begin(&h);
	is(ebt_dropped.nowhere, 5, "phases deeper than there is room are lost");
	for (unsigned i = 0; i < EBT_COUNT_DEPTH + 5; i++)
		count_end(&h);
	struct ebt_count_lane *l = bpf_map_lookup_elem(&ebt_count_lanes, &h.key);
	ok(l && !l->opens && !l->now.top && l->unmatched + l->orphans == 5,
	   "their ends have no begin, and nothing stays open");
	remove_lane(NULL, &h.key);
	model_done(&t);
}

static void forget_maps(void)
{
	while (map_entries)
		map_remove(map_entry->map, map_entry->key, sizeof(map_entry->key));
}

static void check_no_room(void)
{
	struct model t;
	model_init(&t, 1);
	struct count_hit h = {
		.key = {.slot = SLOT, .where = 1}, .row = rows[0][PHASE_minor], .ts = BEGIN};
	maps_full = true;
	count_begin(&h);
	is(ebt_dropped.nowhere, 1, "an event of a lane without an entry is lost");
	maps_full = false;
	count_begin(&h);
	maps_full = true;
	count_end(&h);
	is(ebt_dropped.nowhere, 2, "and so is a pause without a page");
	count_counter(&h, COUNTER_major_heap_words, 1);
	is(ebt_dropped.nowhere, 3, "and the heap of a process without an entry");
	maps_full = false;
	h.key.where = 2;
	kernel.full = true;
	count_begin(&h);
	is(ebt_dropped.nowhere, 4, "and an event of a lane that cannot be announced");
	kernel.full = false;
	int records = kernel.records;
	count_begin(&h);
	is(kernel.records, records + 1, "which the next one announces");
	forget_maps();
	model_done(&t);
}

/* A gap in the probes cuts what is open; each lane sees it at its next event. */
static void check_gap(void)
{
	struct model t;
	model_init(&t, 1);
	struct count_hit h = {
		.key = {.slot = SLOT, .where = 1}, .row = rows[0][PHASE_minor], .ts = BEGIN};
	count_begin(&h);
	h.ts += 70;
	count_counter(&h, COUNTER_major_slice_target, 1);
	ebt_count_gaps++;
	h.ts += 1000;
	count_end(&h);
	const struct ebt_count_lane *l = bpf_map_lookup_elem(&ebt_count_lanes, &h.key);
	ok(l && l->cut_by_loss == 1 && l->cut_max_ns == 70 && l->phase[PHASE_minor].cut == 1 &&
		   l->orphans == 1 && l->orphan[0].is_loss,
	   "a gap cuts at the last event before it");
	forget_maps();
	model_done(&t);
}

/* A phase is open when its domain or its ring ends. */
static void check_ends(void)
{
	static const struct {
		uint32_t id;
		bool ends;
		uint32_t orphans; /* a paused ring has no end */
		const char *name;
	} rows_of[] = {{LIFECYCLE_domain_terminate, true, 1, "the end of a domain"},
		       {LIFECYCLE_ring_stop, true, 0, "the end of a ring"},
		       {LIFECYCLE_ring_pause, true, 0, "the pause of a ring"},
		       {LIFECYCLE_ring_resume, false, 0, "a ring that goes on"}};
	for (size_t i = 0; i < sizeof(rows_of) / sizeof(*rows_of); i++) {
		struct model t;
		model_init(&t, 1);
		struct count_hit h = {.key = {.slot = SLOT, .where = 1},
				      .row = rows[0][PHASE_minor],
				      .ts = BEGIN};
		bool ends = rows_of[i].ends;
		count_begin(&h);
		h.ts += 70;
		count_lifecycle(&h, rows_of[i].id);
		h.ts += 1000;
		count_end(&h);
		const struct ebt_count_lane *l = bpf_map_lookup_elem(&ebt_count_lanes, &h.key);
		ok(l && l->cut_by_end == ends && l->cut_max_ns == (ends ? 70 : 0) &&
			   l->orphans == rows_of[i].orphans && l->held.pauses == !ends,
		   "%s %s what is open", rows_of[i].name, ends ? "cuts" : "leaves");
		forget_maps();
		model_done(&t);
	}
}

static const struct ebt_count_lane *lane_at(uint32_t slot, uint32_t where)
{
	struct ebt_count_key key = {.slot = slot, .where = where};
	return bpf_map_lookup_elem(&ebt_count_lanes, &key);
}

/* Two domains of a process, a thread outside of them and another process: each in a phase since
 * BEGIN. Domain 1 reports what becomes of the ring. */
static const struct ebt_count_key all_lanes[] = {{.slot = SLOT, .where = 1},
						 {.slot = SLOT, .where = 2},
						 {.slot = SLOT, .where = EBT_COUNT_THREAD | 9},
						 {.slot = SLOT + 1, .where = 1}};
static void each_lane(int (*count)(struct count_hit *), uint32_t from, uint64_t ts)
{
	for (uint32_t i = from; i < 4; i++) {
		struct count_hit h = {
			.key = all_lanes[i], .row = rows[0][PHASE_minor], .ts = BEGIN + ts};
		count(&h);
	}
}

static void report_ring(uint32_t id, uint64_t ts)
{
	struct count_hit h = {.key = all_lanes[0], .ts = BEGIN + ts};
	count_lifecycle(&h, id);
}

static int begin_of(struct count_hit *h)
{
	return count_begin(h);
}

static int end_of(struct count_hit *h)
{
	return count_end(h);
}

/* The pause of a ring is reported by one of its domains. */
static void check_pause(void)
{
	struct model t;
	model_init(&t, 1);
	each_lane(begin_of, 0, 0);
	report_ring(LIFECYCLE_ring_pause, 70);
	each_lane(end_of, 1, 1000);
	const struct ebt_count_lane *other = lane_at(SLOT, 2);
	ok(other->cut_by_end == 1 && other->cut_max_ns == 70 && !other->opens && !other->orphans,
	   "the pause of a ring cuts the phases of its other domains, too");
	ok(lane_at(SLOT, EBT_COUNT_THREAD | 9)->held.pauses == 1,
	   "but not of a thread without a ring");
	ok(lane_at(SLOT + 1, 1)->held.pauses == 1, "nor of another process");
	report_ring(LIFECYCLE_ring_resume, 2000);
	each_lane(end_of, 1, 2500);
	ok(other->orphans == 1 && other->orphan[0].since_ns == BEGIN + 2000,
	   "a phase that began in the pause counts from its end on");
	each_lane(begin_of, 1, 3000);
	for (unsigned i = 0; i < EBT_COUNT_STOPS_KEPT + 2; i++) {
		report_ring(LIFECYCLE_ring_pause, 4000 + 20 * i);
		report_ring(LIFECYCLE_ring_resume, 4010 + 20 * i);
	}
	each_lane(end_of, 1, 9000);
	ok(other->cut_by_end == 2 && other->cut_max_ns == 1040,
	   "of more pauses than are kept, the first that is kept cuts");
	struct count_hit h = {
		.key = {.slot = SLOT, .where = 5}, .row = rows[0][PHASE_minor], .ts = BEGIN + 9100};
	count_begin(&h);
	report_ring(LIFECYCLE_ring_pause, 9300);
	h.key.where = 6;
	h.ts = BEGIN + 9350;
	count_begin(&h);
	count_end(&h);
	h.key.where = 5;
	count_end(&h);
	ok(lane_at(SLOT, 5)->cut_max_ns == 200, "no pause before a domain's first event cuts it");
	ok(!lane_at(SLOT, 6)->held.pauses, "a domain that begins in a pause does not count");
	forget_maps();
	model_done(&t);
}

/* The lane of a program is announced, sure of its pauses. */
static void announce_lane(struct model *t, uint32_t exec)
{
	race.hit = (struct count_hit){.key = {.slot = SLOT, .where = 1, .exec = exec},
				      .row = rows[0][PHASE_minor],
				      .ts = race.hit.ts + BEGIN};
	count_lifecycle(&race.hit, LIFECYCLE_domain_spawn);
	if (bpf_counted_add(&t->counted, SLOT, PID, t->counts.process, (const void *)kernel.rec))
		abort();
}

/* The last events of a domain are before the pause, and its process ends. */
static void check_pause_at_end(void)
{
	struct model t;
	model_init(&t, 1);
	memset(&race, 0, sizeof(race));
	announce_lane(&t, 0);
	count_begin(&race.hit);
	struct count_hit h = {.key = {.slot = SLOT, .where = 2}, .ts = race.hit.ts + 70};
	count_lifecycle(&h, LIFECYCLE_ring_pause);
	if (bpf_counted_stop(&t.counted, race.hit.ts + 5000))
		abort();
	const struct tally *y = t.tallies.first;
	ok(y && y->cut_by_end == 1 && y->cut_max_ns == 70 && y->phase[PHASE_minor].total_ns == 70,
	   "a domain that is silent behind the pause has its phases cut there");
	forget_maps();
	model_done(&t);
}

struct read_pauses {
	uint64_t pauses, sum, max;
};

/* What all tallies have together. */
static struct read_pauses read_pauses(const struct model *t)
{
	struct read_pauses r = {0};
	for (const struct tally *y = t->tallies.first; y; y = y->next) {
		r.pauses += y->pauses.count;
		r.sum += (uint64_t)y->pauses.sum;
		r.max = y->pauses.max > r.max ? y->pauses.max : r.max;
	}
	return r;
}

/* Pauses come while the pages are read, into one that is read and into one that was not there. */
static void check_race(unsigned before, unsigned behind, uint64_t ns, const char *what)
{
	struct model t;
	model_init(&t, 1);
	memset(&race, 0, sizeof(race));
	announce_lane(&t, 1);
	one_pause(1000000);
	race.before = before;
	race.behind = behind;
	race.ns = ns;
	for (unsigned i = 1; i <= 3; i++)
		if (bpf_counted_read(&t.counted, race.hit.ts + i))
			abort();
	race.before = race.behind = 0;
	if (bpf_counted_stop(&t.counted, race.hit.ts + 4))
		abort();
	struct read_pauses r = read_pauses(&t);
	ok(r.pauses == race.pauses && r.sum == race.sum, "%s: all count, with their time", what);
	ok(r.max == (ns > 1000000 ? ns : 1000000), "%s: the longest is exact", what);
	ok(!map_entries, "%s: nothing is left", what);
	model_done(&t);
}

/* And pauses that are held: each tally has all of them. */
static void check_race_held(void)
{
	struct model t;
	model_init(&t, 1);
	memset(&race, 0, sizeof(race));
	race.hit = (struct count_hit){
		.key = {.slot = SLOT, .where = 1}, .row = rows[0][PHASE_minor], .ts = BEGIN};
	one_pause(1000000);
	race.behind = 1;
	race.ns = 1000100;
	if (bpf_counted_add(&t.counted, SLOT, PID, t.counts.process, (const void *)kernel.rec) ||
	    bpf_counted_read(&t.counted, race.hit.ts))
		abort();
	const struct tally *y = t.tallies.first;
	ok(race.pauses == 2 && y->held.count == 2 && y->held.sum == 2000100 && !y->pauses.count,
	   "what is held is read whole, once");
	if (bpf_counted_stop(&t.counted, race.hit.ts + 1))
		abort();
	ok(read_pauses(&t).pauses == 2 && read_pauses(&t).sum == 2000100 && !y->next->held.count,
	   "and counts at the end");
	model_done(&t);
}

static void check_races(void)
{
	check_race(1, 0, 1000100, "before a page");
	check_race(0, 1, 1000100, "behind it");
	check_race(0, 1, 40000001, "in a new page");
	check_race(100, 100, 1000100, "at each page");
	check_race_held();
}

/* The lanes of the next program end those of the one before, with what its process had. */
static void check_exec(void)
{
	struct model t;
	model_init(&t, 1);
	memset(&race, 0, sizeof(race));
	announce_lane(&t, 1);
	count_counter(&race.hit, COUNTER_major_heap_words, 100);
	one_pause(50);
	announce_lane(&t, 2);
	count_counter(&race.hit, COUNTER_major_heap_words, 7);
	one_pause(60);
	ok(read_pauses(&t).pauses == 1 && t.tallies.first->heap.sum == 100,
	   "an exec without a record ends the lanes of the program");
	if (bpf_counted_stop(&t.counted, race.hit.ts))
		abort();
	const struct tally *last = t.tallies.first->next;
	ok(last && !last->next && last->heap.sum == 7 && read_pauses(&t).pauses == 2,
	   "the next one's heap is its own");
	ok(!map_entries, "and nothing is left in the maps");
	model_done(&t);
}

/* A run that fails does not end its lanes. What they leave is LeakSanitizer's. */
static void check_given_up(void)
{
	struct model t;
	model_init(&t, 1);
	memset(&race, 0, sizeof(race));
	announce_lane(&t, 0);
	one_pause(50);
	if (bpf_counted_read(&t.counted, race.hit.ts))
		abort();
	const struct tally *y = t.tallies.first;
	ok(y && !y->next && y->phase[PHASE_minor].ended == 1,
	   "a run that is given up has what was read");
	forget_maps();
	model_done(&t);
}

/* A process that ran before the run. */
static void check_begin(void)
{
	struct model t;
	model_init(&t, 1);
	struct count_hit h = {
		.key = {.slot = SLOT, .where = 1}, .row = rows[0][PHASE_minor], .ts = BEGIN};
	ebt_run_begin_ns = BEGIN + 10;
	count_begin(&h);
	ok(!map_entries && !ebt_dropped.nowhere, "what is before the run does not count");
	h.ts += 10;
	count_end(&h);
	const struct ebt_count_lane *l = bpf_map_lookup_elem(&ebt_count_lanes, &h.key);
	ok(l && l->orphans == 1 && l->first_ns == h.ts, "a phase that had begun is cut");
	ebt_run_begin_ns = 0;
	forget_maps();
	model_done(&t);
}

static void check_buckets(void)
{
	unsigned wrong = 0;
	for (unsigned bit = 0; bit < 64; bit++)
		for (int off = -1; off <= 1; off++) {
			uint64_t v = (1ull << bit) + (uint64_t)off;
			wrong += v && buckets_log2_by_halves(v) != buckets_log2(v);
		}
	ok(!wrong, "BPF finds the bucket of a value that base/histogram finds");
}

int main(void)
{
	kernel.full = false;
	numberings_set_rows(rows);
	check_buckets();
	check_depth();
	check_no_room();
	check_gap();
	check_ends();
	check_pause();
	check_pause_at_end();
	check_given_up();
	check_begin();
	check_races();
	check_exec();
	return tap_done();
}
