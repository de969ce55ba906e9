// SPDX-License-Identifier: BSD-2-Clause
/*
 * Counting in maps, from the BPF programs' own code (bpf/counts.bpf.h) through the tracer's reader
 * to the report's model: random phases of several threads and domains, and the same as events.
 */
#include <stdio.h>

#include "tests/tap.h"
#include "tests/unit/bpf_helpers.h"
#include "tests/unit/bpf_maps.h"

#include "report/parts/ids.h"
#include "report/stat/model/snapshot.h"
#include "report/stat/model/stat.h"
#include "report/stat/model/tallies.h"
#include "source/bpf/counted.h"
#include "source/bpf/numberings.h"

#define __BPF_CORE_READ_H__
struct task_struct {
	uint64_t self_exec_id;
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "bpf/counts.bpf.h"
#pragma GCC diagnostic pop

#define SLOT  3u
#define PID   500u
#define BEGIN 1000000u /* of the run */
#define LANES 4

/* Of events, or of tallies. */
struct side {
	struct session *session;
	struct stat_model m;
	struct histogram lines;
	uint32_t process;
	struct stat_snapshot snapshot;
};

struct model {
	struct side events, counts;
	struct stat_tallies tallies;
	struct tally_reader reader;
	struct bpf_counted counted;
	uint64_t now, random;
	unsigned strays; /* ends without a begin come at first */
};

static uint32_t random_below(struct model *t, uint32_t below)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return (uint32_t)((t->random >> 11) % below);
}

/* As ebt_count_rows. */
static uint16_t rows[EBT_NUMBERINGS][EBT_PHASE_IDS];

/* ---- the maps ---- */

static int read_lane(void *ctx, const struct ebt_count_key *key, struct ebt_count_lane *ret)
{
	(void)ctx;
	const struct ebt_count_lane *l = bpf_map_lookup_elem(&ebt_count_lanes, key);
	if (l)
		*ret = *l;
	return l ? 0 : -2;
}

/* Pauses that end while pages are read. */
static struct {
	unsigned before, behind; /* so many each of the read of a page */
	uint64_t ns;
	struct count_hit hit;
	uint64_t pauses, sum;
} race;

static void one_pause(uint64_t ns)
{
	count_begin(&race.hit);
	race.hit.ts += ns;
	count_end(&race.hit);
	race.pauses++;
	race.sum += ns;
}

static void race_once(unsigned *left)
{
	if (*left && (*left)--)
		one_pause(race.ns);
}

static int read_page(void *ctx, const struct ebt_count_page_key *key, struct ebt_count_page *ret)
{
	(void)ctx;
	race_once(&race.before);
	const struct ebt_count_page *p = bpf_map_lookup_elem(&ebt_count_pages, key);
	if (p)
		*ret = *p;
	race_once(&race.behind);
	return p ? 0 : -2;
}

static void remove_lane(void *ctx, const struct ebt_count_key *key)
{
	(void)ctx;
	map_remove(&ebt_count_lanes, key, sizeof(*key));
}

static void remove_page(void *ctx, const struct ebt_count_page_key *key)
{
	(void)ctx;
	map_remove(&ebt_count_pages, key, sizeof(*key));
}

static void remove_process(void *ctx, const struct ebt_count_process_key *key)
{
	(void)ctx;
	map_remove(&ebt_count_processes, key, sizeof(*key));
}

static bool has_ended(void *ctx, pid_t pid, uint32_t tid)
{
	(void)ctx;
	(void)pid;
	(void)tid;
	return false;
}

static void take(void *ctx, struct tally *t)
{
	stat_tallies_add(&((struct model *)ctx)->tallies, t);
}

/* ---- both sides ---- */

static void side_init(struct side *s)
{
	*s = (struct side){0};
	if (session_new(&s->session) || stat_model_init(&s->m, s->session, 0) ||
	    processes_begin(&s->session->processes, PID, NULL, &s->process))
		abort();
	processes_announce(&s->session->processes, s->process);
	s->session->run_begin = moment_at(BEGIN);
	stat_model_count_intervals(&s->m, &s->lines);
}

static void side_done(struct side *s)
{
	stat_snapshot_done(&s->snapshot);
	stat_model_done(&s->m);
	histogram_done(&s->lines);
	session_free(s->session);
}

static void model_init(struct model *t, uint64_t seed)
{
	*t = (struct model){.now = 2 * BEGIN, .random = seed * 0x9e3779b97f4a7c15ull + 1};
	side_init(&t->events);
	side_init(&t->counts);
	t->reader = (struct tally_reader){take, t};
	t->counted.access = (struct bpf_count_access){.read_lane = read_lane,
						      .read_page = read_page,
						      .remove_lane = remove_lane,
						      .remove_page = remove_page,
						      .remove_process = remove_process,
						      .has_ended = has_ended};
	t->counted.reader = &t->reader;
	ebt_dropped = (struct ebt_dropped){0};
}

static void model_done(struct model *t)
{
	bpf_counted_done(&t->counted);
	stat_tallies_done(&t->tallies);
	side_done(&t->events);
	side_done(&t->counts);
}

static void push(struct side *s, const struct ebt_event *ev)
{
	struct ebt_event one = *ev;
	one.process = s->process;
	if (stat_model_events(&s->m, &one, 1))
		abort();
}

/* Lane 0 and 1: domains of three threads; 2: a domain of one; 3: a thread. */
static struct ebt_event event_of(const struct model *t, uint32_t lane, uint32_t of)
{
	return (struct ebt_event){.ts = t->now,
				  .pos = EBT_NO_POS,
				  .domain = lane == 3 ? EBT_NO_DOMAIN : (uint16_t)lane,
				  .tid = 700 + 10 * lane + (lane < 2 ? of : 0),
				  .cpu = EBT_NO_CPU,
				  .flags = EBT_F_BPF};
}

/* The record of a new lane: what the tracer makes of it. */
static void announce(struct model *t, const struct ebt_event *ev)
{
	const struct ebt_lane_record *rec = (const void *)kernel.rec;
	struct ebt_event opens = *ev;
	opens.kind = EBT_ALLOC_SIZES;
	if (rec->head.type != EBT_RECORD_LANE ||
	    bpf_counted_add(&t->counted, SLOT, PID, t->counts.process, rec))
		abort();
	push(&t->counts, &opens);
}

static void hit(struct model *t, struct ebt_event *ev)
{
	struct count_hit h = {
		.key = {.slot = SLOT,
			.where = ev->domain == EBT_NO_DOMAIN ? EBT_COUNT_THREAD | ev->tid
							     : ev->domain},
		.tid = ev->tid,
		.row = rows[0][ev->id],
		.ts = ev->ts,
	};
	int records = kernel.records;
	push(&t->events, ev);
	switch (ev->kind) {
	case EBT_BEGIN:
		count_begin(&h);
		break;
	case EBT_END:
		count_end(&h);
		break;
	case EBT_COUNTER:
		count_counter(&h, ev->id, ev->arg[0]);
		break;
	default:
		push(&t->counts, ev);
		count_lifecycle(&h, ev->id);
	}
	if (kernel.records != records)
		announce(t, ev);
}

/* ---- a run ---- */

static const uint32_t phases[] = {PHASE_minor,
				  PHASE_minor_local_roots,
				  PHASE_major,
				  PHASE_major_gc_stw,
				  PHASE_major_slice,
				  PHASE_domain_condition_wait,
				  PHASE_explicit_gc_minor};
static const uint32_t counters[] = {COUNTER_minor_allocated,	   COUNTER_minor_promoted_words,
				    COUNTER_major_heap_words,	   COUNTER_major_heap_pool_words,
				    COUNTER_major_allocated_words, COUNTER_minor_promoted};

struct thread_stack {
	uint32_t phase[16], depth;
};

/* Begins and ends that mostly match, in threads that take turns now and then. */
static void step(struct model *t, struct thread_stack stack[LANES][3], uint32_t *runs,
		 uint32_t lane)
{
	static const uint32_t longest[] = {10, 1000, 100000, 10000000};
	t->now += 1 + random_below(t, longest[random_below(t, 4)]);
	if (lane < 2 && !random_below(t, 12))
		runs[lane] = random_below(t, 3);
	struct ebt_event ev = event_of(t, lane, runs[lane]);
	struct thread_stack *s = &stack[lane][runs[lane]];
	uint32_t what = random_below(t, 100), some = phases[random_below(t, 7)];
	ev.kind = EBT_BEGIN;
	ev.id = some;
	if (what < 45 && s->depth < 6) {
		s->phase[s->depth++] = some;
	} else if (what < 88 && s->depth) {
		/* An exception may have passed over the innermost ones. */
		if (lane >= 2 && s->depth > 1 && !random_below(t, 15))
			s->depth--;
		ev.kind = EBT_END;
		ev.id = s->phase[--s->depth];
	} else if (what < 89 && t->strays++ < 6) {
		ev.kind = EBT_END;
	} else {
		ev.kind = EBT_COUNTER;
		ev.id = counters[random_below(t, 6)];
		ev.arg[0] = random_below(t, 100000);
	}
	hit(t, &ev);
}

static void end_domain(struct model *t, struct thread_stack stack[LANES][3], uint32_t lane)
{
	struct ebt_event ev = event_of(t, lane, 0);
	ev.kind = EBT_LIFECYCLE;
	ev.id = LIFECYCLE_domain_terminate;
	hit(t, &ev);
	t->now += 1000;
	ev.ts = t->now;
	ev.id = LIFECYCLE_domain_spawn;
	hit(t, &ev);
	memset(stack[lane], 0, sizeof(stack[lane]));
}

/* In which order the threads of a domain are cut is no matter but for the total of a phase in which
 * several are. */
static void end_others(struct model *t, struct thread_stack stack[LANES][3], const uint32_t *runs)
{
	for (uint32_t i = 0; i < 6; i++) {
		struct thread_stack *s = &stack[i / 3][i % 3];
		struct ebt_event ev = event_of(t, i / 3, i % 3);
		ev.kind = EBT_END;
		while (i % 3 != runs[i / 3] && s->depth) {
			ev.ts = t->now += 10;
			ev.id = s->phase[--s->depth];
			hit(t, &ev);
		}
	}
}

static int snap(struct model *t)
{
	return stat_snapshot_take(&t->events.snapshot, &t->events.m, moment_at(t->now)) ||
	       stat_snapshot_take(&t->counts.snapshot, &t->counts.m, moment_at(t->now));
}

/* In the middle of a run: with the pauses that are held. */
static unsigned wrong_snapshots;
static void check_snapshot(struct model *t)
{
	if (bpf_counted_read(&t->counted, t->now) ||
	    stat_tallies_apply(&t->tallies, &t->counts.m, t->now) || snap(t))
		abort();
	const struct stat_process *a = t->events.snapshot.first, *b = t->counts.snapshot.first;
	const struct histogram *x = &a->numbers.pauses.whole, *y = &b->numbers.pauses.whole;
	wrong_snapshots += x->count != y->count || x->sum != y->sum || x->max != y->max ||
			   histogram_at(x, 500000) != histogram_at(y, 500000);
}

static void run(struct model *t, uint32_t steps)
{
	struct thread_stack stack[LANES][3] = {0};
	uint32_t runs[LANES] = {0};
	/* The kernel holds pauses from the first event of a lane on, the model from the lane's
	 * begin. */
	for (uint32_t i = 0; i < LANES; i++) {
		struct ebt_event ev = event_of(t, i, 0);
		ev.kind = EBT_COUNTER;
		ev.id = COUNTER_major_slice_target;
		hit(t, &ev);
	}
	for (uint32_t i = 0; i < steps; i++) {
		step(t, stack, runs, random_below(t, LANES));
		if (!random_below(t, 60) && bpf_counted_read(&t->counted, t->now))
			abort();
		if (!random_below(t, 40) && stat_tallies_apply(&t->tallies, &t->counts.m, t->now))
			abort();
		if (!random_below(t, 30))
			check_snapshot(t);
		if (!random_below(t, 150))
			end_domain(t, stack, 2);
		/* Behind that, what is held counts. */
		if (!random_below(t, 400))
			t->now += PAUSES_HELD_NS + 5000 * (uint64_t)BEGIN;
	}
	end_others(t, stack, runs);
	t->now += 5000;
	t->events.session->run_end = t->counts.session->run_end = moment_at(t->now);
	if (bpf_counted_stop(&t->counted, t->now) ||
	    stat_tallies_apply(&t->tallies, &t->counts.m, UINT64_MAX) || snap(t))
		abort();
}

/* ---- what must be equal ---- */

static unsigned differences;
static void differ(const char *what, uint64_t events, uint64_t counts)
{
	if (events != counts && differences++ < 8)
		printf("# %s: events %llu, counts %llu\n", what, (unsigned long long)events,
		       (unsigned long long)counts);
}

static void compare_pauses(const struct stat_pauses *a, const struct stat_pauses *b)
{
	static const uint32_t parts[] = {10000, 250000, 500000, 900000, 990000, 999000};
	differ("pauses", a->whole.count, b->whole.count);
	differ("sum", (uint64_t)a->whole.sum, (uint64_t)b->whole.sum);
	differ("min", a->whole.min, b->whole.min);
	differ("max", a->whole.max, b->whole.max);
	for (unsigned i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		differ("percentile", histogram_at(&a->whole, parts[i]),
		       histogram_at(&b->whole, parts[i]));
	for (unsigned i = 0; i < STAT_CUTS; i++)
		differ("cut", a->cut[i], b->cut[i]);
	differ("longest cut", a->cut_max_ns, b->cut_max_ns);
}

static void compare_phases(const struct stat_numbers *a, const struct stat_numbers *b)
{
	for (unsigned i = 0; i < PHASE_ROWS; i++) {
		const struct stat_phase *x = &a->phases[i], *y = &b->phases[i];
		differ("begun", x->begun, y->begun);
		differ("count", x->count, y->count);
		differ("cut of a phase", x->cut, y->cut);
		differ("total", x->total_ns, y->total_ns);
		differ("self", x->self_ns, y->self_ns);
		differ("longest", x->max_ns, y->max_ns);
	}
	differ("majors", a->majors, b->majors);
	differ("minors", stat_numbers_minors(a), stat_numbers_minors(b));
	differ("unmatched", a->unmatched, b->unmatched);
	differ("minor words", a->minor_bytes.words, b->minor_bytes.words);
	differ("promoted words", a->promoted_words.words, b->promoted_words.words);
	differ("promoted bytes", a->promoted_bytes.words, b->promoted_bytes.words);
	differ("major words", a->major_words.words, b->major_words.words);
	differ("heap", a->heap.words, b->heap.words);
	differ("heap at most", a->heap_max.words, b->heap_max.words);
	differ("GC time", a->gc_ns, b->gc_ns);
	differ("elapsed", a->elapsed_ns, b->elapsed_ns);
}

static void compare_lanes(const struct stat_process *a, const struct stat_process *b)
{
	const struct stat_lane *y = b->lanes;
	differ("lanes", a->lane_count, b->lane_count);
	for (const struct stat_lane *x = a->lanes; x && y; x = x->next, y = y->next) {
		differ("lane", x->number, y->number);
		differ("pauses of a lane", x->pauses.count, y->pauses.count);
		differ("GC time of a lane", x->pauses.clock.gc_ns, y->pauses.clock.gc_ns);
	}
}

static unsigned compare(const struct model *t)
{
	const struct stat_process *a = t->events.snapshot.first, *b = t->counts.snapshot.first;
	differences = 0;
	compare_pauses(&a->numbers.pauses, &b->numbers.pauses);
	compare_phases(&a->numbers, &b->numbers);
	compare_lanes(a, b);
	differ("pauses of lines", t->events.lines.count, t->counts.lines.count);
	uint64_t x = t->events.lines.max, y = t->counts.lines.max;
	differ("longest of lines", x, y + x / 1000 > x && x + x / 1000 > y ? x : y);
	return differences;
}

static void check_runs(unsigned runs, uint32_t steps)
{
	unsigned wrong = 0, left = 0;
	uint64_t pauses = 0;
	for (unsigned i = 0; i < runs; i++) {
		struct model t;
		model_init(&t, i + 1);
		run(&t, steps);
		unsigned differ_here = compare(&t);
		if (differ_here && !wrong++)
			printf("# run %u of %u steps\n", i, steps);
		pauses += t.events.snapshot.first->numbers.pauses.whole.count;
		left += map_entries;
		model_done(&t);
	}
	ok(!wrong && pauses, "%u runs of %u events: the kernel counts what the model counts", runs,
	   steps);
	is(wrong_snapshots, 0, "and so do snapshots");
	ok(!left, "and nothing is left in the maps");
}

/* ---- bounds ---- */

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
		const char *name;
	} rows_of[] = {{LIFECYCLE_domain_terminate, true, "the end of a domain"},
		       {LIFECYCLE_ring_stop, true, "the end of a ring"},
		       {LIFECYCLE_ring_pause, true, "the pause of a ring"},
		       {LIFECYCLE_ring_resume, false, "a ring that goes on"}};
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
			   l->orphans == ends && l->held.pauses == !ends,
		   "%s %s what is open", rows_of[i].name, ends ? "cuts" : "leaves");
		forget_maps();
		model_done(&t);
	}
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

/* A process that ran before the run. */
static void check_begin(void)
{
	struct model t;
	model_init(&t, 1);
	struct count_hit h = {
		.key = {.slot = SLOT, .where = 1}, .row = rows[0][PHASE_minor], .ts = BEGIN};
	ebt_count_from_ns = BEGIN + 10;
	count_begin(&h);
	ok(!map_entries && !ebt_dropped.nowhere, "what is before the run does not count");
	h.ts += 10;
	count_end(&h);
	const struct ebt_count_lane *l = bpf_map_lookup_elem(&ebt_count_lanes, &h.key);
	ok(l && l->orphans == 1 && l->first_ns == h.ts, "a phase that had begun is cut");
	ebt_count_from_ns = 0;
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
	check_runs(300, 40);
	check_runs(60, 1500);
	check_buckets();
	check_depth();
	check_no_room();
	check_gap();
	check_ends();
	check_begin();
	check_races();
	check_exec();
	return tap_done();
}
