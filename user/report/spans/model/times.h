/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the threads and domains of a process did lately: when a thread was without a CPU
 * (report/parts/thread_times.h), and when it was in a pause (report/parts/pause_clock.h), so that
 * any stretch of its time can be walked, piece by piece. What is older than the caller needs is
 * dropped. It knows no span.
 *
 * Pauses are those of the thread that was in them; of a domain whose events name no thread, those
 * of the domain.
 */
#ifndef REPORT_SPANS_MODEL_TIMES_H
#define REPORT_SPANS_MODEL_TIMES_H

#include "base/ptrmap.h"
#include "report/parts/off_cpu.h"
#include "report/parts/thread_times.h"

#define SPAN_PAUSES_MAX (1u << 16) /* pauses that are kept of a thread; older ones are not known */

#define SPAN_PAUSES_RECENT 16

/* Private, as is all that is about it. */
struct span_pause {
	uint64_t begin_ns, end_ns;
	uint32_t row;
};

/* The pauses of a thread, or of a domain, in order; they do not overlap. */
struct span_pauses {
	struct span_pause *at;
	uint32_t first, count, cap;
	uint32_t due_at;
	struct span_pause open; /* begin_ns UINT64_MAX: none is */
};
#define SPAN_PAUSES_OF_LANE (1ull << 32) /* key of pauses without a thread */

/* Those that were asked for; NULL: there are none. */
struct span_recent {
	uint64_t key; /* 0: of nothing */
	struct span_pauses *pauses;
};

/* Zeroed memory: nothing is known. */
struct span_times {
	struct thread_times off_cpu;
	PTRMAP(struct span_pauses) pauses;
	struct span_recent recent[SPAN_PAUSES_RECENT]; /* direct-mapped; private */
};

/* A thread, with the domain that it runs. */
struct span_thread {
	uint32_t tid;	/* 0: not known */
	uint32_t lane;	/* of the registry, of a domain; 0: none */
	bool in_pauses; /* what it does in pauses is walked, too, instead of the pauses */
};

/* A stretch of a thread's time. */
struct span_piece {
	uint64_t begin_ns, end_ns;
	bool is_pause;
	uint32_t row;			   /* of a pause: phases_row() of its outermost phase */
	enum blame_part part;		   /* else */
	const struct off_cpu_interval *of; /* NULL: it was on a CPU, or that is not known */
};
/* A return value other than 0 ends the walk, which returns it. */
typedef int span_piece_fn(void *ctx, const struct span_piece *p);

/* The piece of a pause that was open has ended; those of a thread come in order. 0 or -ENOMEM. */
int span_times_add_pause(struct span_times *t, const struct span_thread *who, uint64_t begin_ns,
			 uint64_t end_ns, uint32_t row);
/* A piece of a pause has begun, and counts until it is added or dropped. 0 or -ENOMEM. */
int span_times_open_pause(struct span_times *t, const struct span_thread *who, uint64_t begin_ns,
			  uint32_t row);
void span_times_drop_pause(struct span_times *t, const struct span_thread *who);
/* Whether so much is kept that the caller should trim. */
bool span_times_is_due(const struct span_times *t, const struct span_thread *who);
/* Drops what ended before this moment, of this thread or domain. */
void span_times_trim(struct span_times *t, const struct span_thread *who, uint64_t before_ns);
/* Private: the pauses of a key; NULL: nothing is known. */
static inline struct span_recent *span_times_recent(struct span_times *t, uint64_t key)
{
	return &t->recent[key % SPAN_PAUSES_RECENT];
}
const struct span_pauses *span_times_find(struct span_times *t, uint64_t key);
static inline const struct span_pauses *span_times_pauses(struct span_times *t, uint64_t key)
{
	const struct span_recent *r = span_times_recent(t, key);
	return r->key == key ? r->pauses : span_times_find(t, key);
}
/* Whether all pauses ended before `from`, but for one that began behind `to`. */
static inline bool span_pauses_are_quiet(const struct span_pauses *p, uint64_t from, uint64_t to)
{
	return !p || (p->open.begin_ns >= to &&
		      (!p->count || p->at[p->first + p->count - 1].end_ns <= from));
}
/* True if nothing is known of this time, which is not empty: a walk of it would have one piece. */
static inline bool span_times_is_unknown(struct span_times *t, const struct span_thread *who,
					 uint64_t from, uint64_t to, uint64_t known_from)
{
	if (who->tid && known_from < to)
		return false;
	if (who->in_pauses)
		return true;
	return (!who->tid || span_pauses_are_quiet(span_times_pauses(t, who->tid), from, to)) &&
	       (!who->lane ||
		span_pauses_are_quiet(span_times_pauses(t, SPAN_PAUSES_OF_LANE | who->lane), from,
				      to));
}
/*
 * Walks [from, to) of a thread without a gap. known_from: before it nothing is known of when
 * threads were without a CPU; UINT64_MAX: never.
 */
int span_times_walk(struct span_times *t, const struct span_thread *who, uint64_t from, uint64_t to,
		    uint64_t known_from, span_piece_fn *fn, void *ctx);
void span_times_done(struct span_times *t);

#endif
