// SPDX-License-Identifier: BSD-2-Clause
/*
 * Counting in maps: random phases of several threads and domains, and the same as events. What the
 * kernel counts is what the model of the report counts.
 */
#include "tests/unit/counts_fixture.h"

#define LANES 4

static uint32_t random_below(struct model *t, uint32_t below)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return (uint32_t)((t->random >> 11) % below);
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

/* Of a ring, in any of its domains. */
static void change_ring(struct model *t, uint32_t id)
{
	struct ebt_event ev = event_of(t, random_below(t, 3), 0);
	ev.ts = t->now += 1000 + random_below(t, 1000);
	ev.kind = EBT_LIFECYCLE;
	ev.id = id;
	hit(t, &ev);
}

static void one_phase(struct model *t, uint32_t lane)
{
	struct ebt_event ev = event_of(t, lane, 0);
	ev.kind = EBT_BEGIN;
	ev.id = PHASE_minor;
	for (unsigned i = 0; i < 2; i++) {
		ev.ts = t->now += 100;
		hit(t, &ev);
		ev.kind = EBT_END;
	}
}

/* The ring is paused and goes on, once or some times; its domains may run meanwhile. */
static void pause_ring(struct model *t, struct thread_stack stack[LANES][3], uint32_t *runs)
{
	end_others(t, stack, runs);
	for (uint32_t n = 1 + random_below(t, 3); n; n--) {
		change_ring(t, random_below(t, 4) ? LIFECYCLE_ring_pause : LIFECYCLE_ring_stop);
		for (uint32_t lane = 0; lane < LANES; lane++)
			if (!random_below(t, 3))
				one_phase(t, lane);
		change_ring(t, LIFECYCLE_ring_resume);
	}
	memset(stack, 0, 3 * sizeof(*stack));
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
		if (!random_below(t, 100))
			pause_ring(t, stack, runs);
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

int main(void)
{
	kernel.full = false;
	numberings_set_rows(rows);
	check_runs(300, 40);
	check_runs(60, 1500);
	return tap_done();
}
