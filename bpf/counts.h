/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Phases counted where they happen: the numbers of one lane, and the rules by which its begins and
 * ends become numbers. The BPF programs run these rules at each hit, and the tracer runs them on a
 * copy of what is open when a process ends. They are those of the report (report/stat/model), so
 * both count the same. Of helpers only bpf_loop() is called.
 *
 * A lane is a domain of a process, or a thread outside of any. Threads of a domain take turns: each
 * has its own stack of open spans. The time of the lane is that of the thread of its last event
 * (pause_clock.h): the pauses of other threads wait. Where more than EBT_COUNT_WAITING threads with
 * open spans would wait, all are as one until those of the present thread are over.
 *
 * Pauses behind the first event, a gap, a stop of the ring or the end of a domain are HELD: an end
 * without a begin shows that they were parts of a longer pause (pauses.h). Then they are dropped.
 * Each such stretch has pages of its own in the histogram, with its number as `epoch`; epoch 0
 * holds the pauses that are sure.
 */
#ifndef EBTRACE_BPF_COUNTS_H
#define EBTRACE_BPF_COUNTS_H

#include "abi.h"

/*
 * The rows of phases, which are the report's: one for each phase of events.def, then those of
 * languages with phases of their own, and the last one for phases that are in no table. With the
 * number of a row comes what is counted of its phases; the tracer makes both from what it knows of
 * them.
 */
enum {
	EBT_COUNT_UNKNOWN = 32 /* after the rows of other phases */
#define EBT_PHASE(id, name, stops) +1
#include <ebtrace/events.def>
	,
	EBT_COUNT_ROWS,
	EBT_COUNT_ROW = 127,	      /* the bits that have the number */
	EBT_COUNT_STOPS = 0x80,	      /* the mutator does not run in it */
	EBT_COUNT_CYCLE = 0x100,      /* all domains together end a major cycle */
	EBT_COUNT_COMPACTION = 0x200, /* or compact the heap */
};

enum {
#define EBT_COUNTER_ID(id, name, unit, help) EBT_COUNT_##name = id,
#include <ebtrace/events.def>
};
enum {
#define EBT_LIFECYCLE_ID(id, name, help) EBT_COUNT_##name = id,
#include <ebtrace/events.def>
};

#define EBT_COUNT_LANES	   16384u  /* of all processes together */
#define EBT_COUNT_PAGES	   131072u /* of histograms */
#define EBT_COUNT_DEPTH	   32u	   /* open spans of a lane, of all its threads; a power of 2 */
#define EBT_COUNT_WAITING  4u	   /* threads of a lane with open spans that wait for their turn */
#define EBT_COUNT_ORPHANS  6u	   /* ends without a begin that a lane keeps */
#define EBT_COUNT_EPOCHS   32u	   /* behind so many, what is held counts at once */
#define EBT_COUNT_HELD_NS  30000000000ull /* as PAUSES_HELD_NS and PAUSES_HELD_MAX */
#define EBT_COUNT_HELD_MAX 1024u

/* The histogram of base/histogram.h, in pages of so many buckets. */
#define EBT_COUNT_BUCKETS    64u
#define EBT_COUNT_PAGE_WORDS 14u /* bits for the 55 groups of 16 pages */

#define EBT_COUNT_STOPS_KEPT 8u /* of the ring of a process: the times of the last ones; 2^n */

#define EBT_COUNT_THREAD 0x80000000u /* in `where`: a thread's number, else a domain's */
struct ebt_count_key {
	uint32_t slot;
	uint32_t where;
	uint32_t exec; /* of the program: the kernel's number of the process's execs */
};

struct ebt_count_process_key {
	uint32_t slot, exec; /* as in those of its lanes */
};

struct ebt_count_page_key {
	uint32_t lane; /* its number */
	uint16_t page;
	uint16_t epoch;
};

struct ebt_count_page {
	uint64_t bucket[EBT_COUNT_BUCKETS];
};

/* What the domains of a process do together. Its ring may stop, or pause, and go on: one domain
 * reports it, and the others cut what they have open at their next event. */
struct ebt_count_process {
	struct ebt_count_collections {
		int32_t majors, compactions; /* that are open */
	} of[2];			     /* domains; threads outside of any */
	uint64_t heap;			     /* words, of all domains */
	uint32_t stops;
	uint32_t is_stopped;
	uint64_t resumed_ns;
	uint64_t stop_ns[EBT_COUNT_STOPS_KEPT]; /* by number */
};

struct ebt_count_span {
	uint64_t begin_ns, inner_ns;
	uint32_t
		/* the place of the span around it, of a free place the next one, plus 1; 0: none */
		outer;
	uint32_t row; /* with its bits */
};

struct ebt_count_phase {
	uint64_t ended, cut, total_ns, self_ns, max_ns;
};

struct ebt_count_thread {
	uint32_t tid;
	uint32_t top;	   /* the place of its innermost open span, plus 1; 0: there is none */
	uint32_t stopping; /* its open phases that stop the mutator */
	uint32_t unused;
	uint64_t begin_ns, spent_ns;
};

struct ebt_count_sums {
	uint64_t pauses, ns, min_ns, max_ns;
};

/* An end without a begin: the phase had begun before `since_ns`. */
struct ebt_count_orphan {
	uint64_t ts;
	uint64_t since_ns;	   /* 0: the begin of the lane */
	uint64_t earlier_ns;	   /* the time of the one before, since then; 0: none */
	uint64_t earlier_pause_ns; /* of the one before that stops the mutator, likewise */
	uint64_t inner_ns;	   /* in spans since then, or since that one */
	uint16_t row;
	uint16_t dropped;  /* the epoch; 0: none */
	uint16_t is_first; /* since then */
	uint16_t is_loss;  /* a gap is the reason */
};

enum ebt_count_certainty { EBT_COUNT_UNSURE, EBT_COUNT_CUT, EBT_COUNT_SURE };

enum ebt_count_counter {
	EBT_COUNT_MINOR_BYTES,
	EBT_COUNT_MINOR_WORDS,
	EBT_COUNT_PROMOTED_BYTES,
	EBT_COUNT_PROMOTED_WORDS,
	EBT_COUNT_MAJOR_WORDS,
	EBT_COUNT_COUNTERS
};

struct ebt_count_heap {
	uint64_t ts; /* of the last value; 0: none */
	uint64_t words, pool_words, large_words;
	uint64_t last;	   /* of the lane */
	uint64_t counted;  /* its part of the process's heap */
	uint64_t last_sum; /* of the process */
	uint64_t max, max_sum;
};

/*
 * `done` is the first member and `hits` the last: a hit is counted in `hits` before the rest of the
 * lane changes, and in `done` behind that. A copy from the begin to the end in which both are the
 * same is whole.
 */
struct ebt_count_lane {
	uint64_t done;
	uint32_t number; /* 0: new */
	uint32_t announced;
	uint32_t gaps;	      /* of ebt_count_gaps that it knows */
	uint32_t stops;	      /* of ebt_count_stops that it knows */
	uint32_t stopped;     /* of the stops of its process that it knows */
	uint32_t is_stopped;  /* its phases do not count */
	uint32_t epoch;	      /* of what is held */
	uint32_t certainty;   /* enum ebt_count_certainty */
	uint32_t opens, used; /* open spans; places that have ever been used */
	uint32_t free_place;
	/* Of cycles and compactions: how many phases are open, and how many of them its process
	 * knows. */
	uint16_t majors_open, compactions_open;
	uint16_t majors_known, compactions_known;
	uint32_t orphans;
	uint64_t first_ns, last_ns;
	uint64_t unsure_ns; /* 0: since the begin of the lane */
	uint64_t held_until_ns;
	uint64_t unsure_gc_ns, unseen_inner_ns, last_orphan_ns, last_pause_ns;
	uint32_t is_loss;
	uint32_t is_held; /* the epoch has pages */
	uint64_t gc_ns;
	uint64_t majors, compactions, unmatched;
	uint64_t cut_by_loss, cut_by_end, cut_max_ns;
	struct ebt_count_sums sure, held;
	struct ebt_count_thread now, waiting[EBT_COUNT_WAITING];
	struct ebt_count_heap heap;
	uint64_t counter[EBT_COUNT_COUNTERS];
	uint32_t counters_seen; /* a bit for each */
	uint32_t more_unused;
	uint64_t
		pages[EBT_COUNT_PAGE_WORDS]; /* of the histogram, that have been used; a bit each */
	struct ebt_count_orphan orphan[EBT_COUNT_ORPHANS];
	struct ebt_count_span span[EBT_COUNT_DEPTH];
	uint16_t open[EBT_COUNT_ROW + 1];
	struct ebt_count_phase phase[EBT_COUNT_ROWS];
	uint64_t hits;
};

#define EBT_COUNT_INLINE static inline __attribute__((always_inline))

/* A loop that the compiler does not unroll; and a loop of calls, which ends when one returns
 * nonzero. The verifier checks the body of the second one once. */
#ifdef __bpf__
#define EBT_COUNT_FOR		     _Pragma("clang loop unroll(disable)") for
#define EBT_COUNT_LOOP(n, step, ctx) bpf_loop(n, step, ctx, 0)
#else
#define EBT_COUNT_FOR for
#define EBT_COUNT_LOOP(n, step, ctx)                                                \
	({                                                                          \
		for (uint32_t ebt_i = 0; ebt_i < (n) && !step(ebt_i, ctx); ebt_i++) \
			;                                                           \
	})
#endif

/* The compiler may test a bound in ways that the verifier does not see. */
#ifdef __bpf__
#define EBT_COUNT_SEEN(i) asm volatile("" : "+r"(i))
#else
#define EBT_COUNT_SEEN(i) (void)(i)
#endif

EBT_COUNT_INLINE struct ebt_count_span *ebt_count_span_at(struct ebt_count_lane *l, uint32_t i)
{
	EBT_COUNT_SEEN(i);
	return &l->span[i & (EBT_COUNT_DEPTH - 1)];
}

EBT_COUNT_INLINE uint16_t *ebt_count_open(struct ebt_count_lane *l, uint32_t row)
{
	EBT_COUNT_SEEN(row);
	return &l->open[row & EBT_COUNT_ROW];
}

EBT_COUNT_INLINE struct ebt_count_phase *ebt_count_phase(struct ebt_count_lane *l, uint32_t row)
{
	row &= EBT_COUNT_ROW;
	EBT_COUNT_SEEN(row);
	return &l->phase[row < EBT_COUNT_ROWS ? row : EBT_COUNT_UNKNOWN];
}

/* ---- pauses ---- */

/* What is held counts. */
EBT_COUNT_INLINE void ebt_count_settle(struct ebt_count_lane *l)
{
	if (l->held.pauses) {
		if (!l->sure.pauses || l->held.min_ns < l->sure.min_ns)
			l->sure.min_ns = l->held.min_ns;
		if (l->held.max_ns > l->sure.max_ns)
			l->sure.max_ns = l->held.max_ns;
		l->sure.pauses += l->held.pauses;
		l->sure.ns += l->held.ns;
		l->held = (struct ebt_count_sums){0};
	}
	l->certainty = EBT_COUNT_SURE;
}

/* What is held from now on is in other pages. */
EBT_COUNT_INLINE void ebt_count_next_epoch(struct ebt_count_lane *l)
{
	l->epoch += l->is_held || !l->epoch;
	l->is_held = 0;
}

/* From now on an end without a begin may come: its phase has begun before since_ns. */
EBT_COUNT_INLINE void ebt_count_unsure(struct ebt_count_lane *l, uint64_t since_ns, uint64_t now,
				       uint32_t is_loss)
{
	ebt_count_settle(l);
	ebt_count_next_epoch(l);
	if (l->epoch >= EBT_COUNT_EPOCHS)
		return;
	l->certainty = EBT_COUNT_UNSURE;
	l->unsure_ns = since_ns;
	l->held_until_ns = now + EBT_COUNT_HELD_NS;
	l->unsure_gc_ns = l->gc_ns;
	l->unseen_inner_ns = l->last_orphan_ns = l->last_pause_ns = 0;
	l->is_loss = is_loss;
}

/* A pause has ended: the epoch of its page in the histogram. */
EBT_COUNT_INLINE uint32_t ebt_count_epoch(struct ebt_count_lane *l, uint64_t now)
{
	if (l->certainty != EBT_COUNT_SURE &&
	    (l->held.pauses >= EBT_COUNT_HELD_MAX || now > l->held_until_ns))
		ebt_count_settle(l);
	return l->certainty == EBT_COUNT_SURE ? 0 : l->epoch;
}

/* It is in its page. */
EBT_COUNT_INLINE void ebt_count_pause(struct ebt_count_lane *l, uint64_t ns)
{
	struct ebt_count_sums *s = l->certainty == EBT_COUNT_SURE ? &l->sure : &l->held;
	if (!s->pauses || ns < s->min_ns)
		s->min_ns = ns;
	if (ns > s->max_ns)
		s->max_ns = ns;
	s->pauses++;
	s->ns += ns;
	l->is_held |= s == &l->held;
}

/* ---- the threads of a domain ---- */

EBT_COUNT_INLINE void ebt_count_spend(struct ebt_count_lane *l, uint64_t end_ns)
{
	uint64_t ns = end_ns > l->now.begin_ns ? end_ns - l->now.begin_ns : 0;
	l->gc_ns += ns;
	l->now.spent_ns += ns;
}

/* The thread runs that has this event; as pause_clock_switch(). */
EBT_COUNT_INLINE void ebt_count_switch(struct ebt_count_lane *l, uint32_t tid, uint64_t now)
{
	uint32_t i, room = EBT_COUNT_WAITING, mine = EBT_COUNT_WAITING;
	if (l->now.tid == tid)
		return;
	EBT_COUNT_FOR(i = 0; i < EBT_COUNT_WAITING; i++)
	{
		if (!l->waiting[i].top)
			room = i;
		else if (l->waiting[i].tid == tid)
			mine = i;
	}
	if (l->now.top) {
		if (!l->now.tid || room == EBT_COUNT_WAITING)
			return;
		if (l->now.stopping)
			ebt_count_spend(l, l->last_ns);
		EBT_COUNT_SEEN(room);
		l->waiting[room & (EBT_COUNT_WAITING - 1)] = l->now;
	}
	l->now = (struct ebt_count_thread){.tid = tid};
	if (mine == EBT_COUNT_WAITING)
		return;
	EBT_COUNT_SEEN(mine);
	l->now = l->waiting[mine & (EBT_COUNT_WAITING - 1)];
	l->now.begin_ns = now;
	l->waiting[mine & (EBT_COUNT_WAITING - 1)].top = 0;
}

/* ---- spans ---- */

/* The present time of the lane: it never goes back. */
EBT_COUNT_INLINE uint64_t ebt_count_moment(struct ebt_count_lane *l, uint64_t ts)
{
	if (ts > l->last_ns)
		l->last_ns = ts;
	return l->last_ns;
}

/* A place for a span, plus 1; 0: there is no room. */
EBT_COUNT_INLINE uint32_t ebt_count_take_place(struct ebt_count_lane *l)
{
	uint32_t place = l->free_place;
	if (place)
		l->free_place = ebt_count_span_at(l, place - 1)->outer;
	else if (l->used < EBT_COUNT_DEPTH)
		place = ++l->used;
	return place;
}

/* Nonzero: there is no room for it. */
EBT_COUNT_INLINE int ebt_count_begin(struct ebt_count_lane *l, uint32_t row, uint64_t now)
{
	uint32_t place = ebt_count_take_place(l);
	if (!place)
		return 1;
	struct ebt_count_span *s = ebt_count_span_at(l, place - 1);
	s->begin_ns = now;
	s->inner_ns = 0;
	s->outer = l->now.top;
	s->row = row;
	l->now.top = place;
	l->opens++;
	++*ebt_count_open(l, row);
	l->majors_open += row & EBT_COUNT_CYCLE ? 1 : 0;
	l->compactions_open += row & EBT_COUNT_COMPACTION ? 1 : 0;
	if (row & EBT_COUNT_STOPS && !l->now.stopping++) {
		l->now.begin_ns = now;
		l->now.spent_ns = 0;
	}
	return 0;
}

/*
 * The innermost span of the present thread is over; cut: not by its own end. Nonzero: a pause is
 * over with it, which took now.spent_ns.
 */
EBT_COUNT_INLINE int ebt_count_pop(struct ebt_count_lane *l, uint64_t now, uint32_t cut)
{
	uint32_t place = l->now.top;
	struct ebt_count_span *s = ebt_count_span_at(l, place - 1);
	uint32_t row = s->row, outer = s->outer;
	struct ebt_count_phase *ph = ebt_count_phase(l, row);
	uint64_t ns = now > s->begin_ns ? now - s->begin_ns : 0;
	uint64_t inner_ns = s->inner_ns < ns ? s->inner_ns : ns;
	s->outer = l->free_place;
	l->free_place = place;
	l->now.top = outer;
	l->opens--;
	uint16_t *open = ebt_count_open(l, row);
	if (*open) /* the copy that the tracer has may be torn */
		--*open;
	if (!*open)
		ph->total_ns += ns;
	ph->self_ns += ns - inner_ns;
	ph->ended += !cut;
	ph->cut += cut;
	if (!cut && ns > ph->max_ns)
		ph->max_ns = ns;
	if (outer)
		ebt_count_span_at(l, outer - 1)->inner_ns += ns;
	else
		l->unseen_inner_ns += ns;
	if (row & EBT_COUNT_CYCLE && l->majors_open)
		l->majors_open--;
	if (row & EBT_COUNT_COMPACTION && l->compactions_open)
		l->compactions_open--;
	if (!(row & EBT_COUNT_STOPS) || !l->now.stopping || --l->now.stopping)
		return 0;
	ebt_count_spend(l, now);
	return 1;
}

/* Whether the phase is the innermost one that is open. */
EBT_COUNT_INLINE int ebt_count_is_top(struct ebt_count_lane *l, uint32_t row)
{
	return l->now.top && ebt_count_span_at(l, l->now.top - 1)->row == row;
}

/* An end without a begin. */
EBT_COUNT_INLINE void ebt_count_unseen(struct ebt_count_lane *l, uint32_t row, uint64_t now)
{
	if (l->certainty == EBT_COUNT_SURE || l->opens || l->orphans >= EBT_COUNT_ORPHANS) {
		l->unmatched++;
		return;
	}
	uint32_t i = l->orphans++;
	EBT_COUNT_SEEN(i);
	struct ebt_count_orphan *o = &l->orphan[i < EBT_COUNT_ORPHANS ? i : 0];
	*o = (struct ebt_count_orphan){.ts = now,
				       .since_ns = l->unsure_ns,
				       .earlier_ns = l->last_orphan_ns,
				       .earlier_pause_ns = l->last_pause_ns,
				       .inner_ns = l->unseen_inner_ns,
				       .row = (uint16_t)(row & EBT_COUNT_ROW),
				       .is_first = l->certainty == EBT_COUNT_UNSURE,
				       .is_loss = (uint16_t)l->is_loss};
	l->unseen_inner_ns = 0;
	l->last_orphan_ns = now;
	if (!(row & EBT_COUNT_STOPS))
		return;
	l->last_pause_ns = now;
	o->dropped = l->is_held ? (uint16_t)l->epoch : 0;
	ebt_count_next_epoch(l);
	l->held = (struct ebt_count_sums){0};
	l->gc_ns = l->unsure_gc_ns;
	l->certainty = EBT_COUNT_CUT;
}

/* What the steps of a loop share. */
struct ebt_count_walk {
	struct ebt_count_lane *l;
	uint64_t now;
	uint32_t row, is_loss;
	uint32_t next, ended;
};

/* Ends one span after the other, up to the innermost one of a phase. */
static long ebt_count_end_step(uint32_t i, void *ctx)
{
	struct ebt_count_walk *w = ctx;
	(void)i;
	if (!w->l->now.top)
		return 1;
	int is_last = ebt_count_is_top(w->l, w->row);
	if (ebt_count_pop(w->l, w->now, 0))
		w->ended = 1;
	return is_last;
}

/* An end of a span that is not the innermost one, or of none; those inside of it end with it.
 * Nonzero: so does a pause. */
EBT_COUNT_INLINE int ebt_count_end_outer(struct ebt_count_lane *l, uint32_t row, uint64_t now)
{
	struct ebt_count_walk w = {.l = l, .now = now, .row = row};
	uint32_t place = l->now.top;
	EBT_COUNT_FOR(uint32_t i = 0; i < EBT_COUNT_DEPTH && place; i++)
	{
		const struct ebt_count_span *s = ebt_count_span_at(l, place - 1);
		if (s->row == row)
			break;
		place = s->outer;
	}
	if (place)
		EBT_COUNT_LOOP(EBT_COUNT_DEPTH, ebt_count_end_step, &w);
	else if (!*ebt_count_open(l, row))
		ebt_count_unseen(l, row, now);
	return (int)w.ended;
}

/* ---- what ends without an event ---- */

/* A pause of the present thread has been cut. */
EBT_COUNT_INLINE void ebt_count_cut_pause(struct ebt_count_lane *l, uint32_t is_loss)
{
	l->cut_by_loss += is_loss;
	l->cut_by_end += !is_loss;
	if (l->now.spent_ns > l->cut_max_ns)
		l->cut_max_ns = l->now.spent_ns;
}

/* Cuts a span of the present thread, or goes on with the next thread that waits. */
static long ebt_count_cut_step(uint32_t i, void *ctx)
{
	struct ebt_count_walk *w = ctx;
	struct ebt_count_lane *l = w->l;
	(void)i;
	if (l->now.top) {
		if (ebt_count_pop(l, w->now, 1))
			ebt_count_cut_pause(l, w->is_loss);
		return 0;
	}
	uint32_t next = w->next++;
	if (next >= EBT_COUNT_WAITING)
		return 1;
	EBT_COUNT_SEEN(next);
	struct ebt_count_thread *t = &l->waiting[next & (EBT_COUNT_WAITING - 1)];
	l->now = *t;
	l->now.begin_ns = w->now; /* the time of a pause that waits does not run */
	t->top = 0;
	return 0;
}

/* All that is open ends at `end_ns`: by a gap, or with its thread, process or domain. */
EBT_COUNT_INLINE void ebt_count_cut(struct ebt_count_lane *l, uint64_t end_ns, uint32_t is_loss)
{
	struct ebt_count_walk w = {.l = l, .now = end_ns, .is_loss = is_loss};
	EBT_COUNT_LOOP(EBT_COUNT_DEPTH + EBT_COUNT_WAITING + 1, ebt_count_cut_step, &w);
	l->now = (struct ebt_count_thread){0};
}

/* The ring of the process stops at `now`: no collection of its domains goes on. */
EBT_COUNT_INLINE void ebt_count_stop(struct ebt_count_process *p, uint64_t now)
{
	uint32_t number = p->stops;
	EBT_COUNT_SEEN(number);
	p->stop_ns[number & (EBT_COUNT_STOPS_KEPT - 1)] = now;
	p->of[0] = (struct ebt_count_collections){0};
	p->is_stopped = 1;
	p->stops++;
}

EBT_COUNT_INLINE void ebt_count_resume(struct ebt_count_process *p, uint64_t now)
{
	p->resumed_ns = now;
	p->is_stopped = 0;
}

/* What the lane of a domain has open ends where the ring stopped first since it knows. */
EBT_COUNT_INLINE void ebt_count_cut_by_stop(struct ebt_count_lane *l,
					    const struct ebt_count_process *p)
{
	uint32_t first = l->stopped;
	if (p->stops - first > EBT_COUNT_STOPS_KEPT)
		first = p->stops - EBT_COUNT_STOPS_KEPT;
	EBT_COUNT_SEEN(first);
	uint64_t at = p->stop_ns[first & (EBT_COUNT_STOPS_KEPT - 1)];
	ebt_count_cut(l, at > l->last_ns ? at : l->last_ns, 0);
	ebt_count_settle(l);
	l->majors_known = l->compactions_known = 0;
	l->stopped = p->stops;
	l->is_stopped = 1;
}

/* The lane of a domain learns what has become of the ring. */
EBT_COUNT_INLINE void ebt_count_follow(struct ebt_count_lane *l, const struct ebt_count_process *p)
{
	if (l->stopped != p->stops)
		ebt_count_cut_by_stop(l, p);
	if (l->is_stopped && !p->is_stopped)
		ebt_count_unsure(l, p->resumed_ns, p->resumed_ns, 0);
	l->is_stopped = p->is_stopped;
}

#endif
