/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/spans/model/times.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define DUE_AT	 256
#define NO_PAUSE UINT64_MAX

static uint64_t key_of(const struct span_thread *who)
{
	return who->tid ? who->tid : SPAN_PAUSES_OF_LANE | who->lane;
}

static struct span_pauses *pauses_of(struct span_times *t, const struct span_thread *who)
{
	bool is_new;
	struct span_pauses *p = ptrmap_make(&t->pauses, key_of(who), &is_new);
	if (p && is_new) {
		*span_times_recent(t, key_of(who)) = (struct span_recent){key_of(who), p};
		p->open.begin_ns = NO_PAUSE;
		p->due_at = DUE_AT;
	}
	return p;
}

static void drop(struct span_pauses *p, uint32_t n)
{
	p->first += n;
	p->count -= n;
	if (p->first < p->cap / 2)
		return;
	memmove(p->at, p->at + p->first, p->count * sizeof(*p->at));
	p->first = 0;
}

int span_times_open_pause(struct span_times *t, const struct span_thread *who, uint64_t begin_ns,
			  uint32_t row)
{
	struct span_pauses *p = pauses_of(t, who);
	if (!p)
		return -ENOMEM;
	p->open = (struct span_pause){.begin_ns = begin_ns, .row = row};
	return 0;
}

void span_times_drop_pause(struct span_times *t, const struct span_thread *who)
{
	struct span_pauses *p = ptrmap_get(&t->pauses, key_of(who));
	if (p)
		p->open.begin_ns = NO_PAUSE;
}

int span_times_add_pause(struct span_times *t, const struct span_thread *who, uint64_t begin_ns,
			 uint64_t end_ns, uint32_t row)
{
	struct span_pauses *p = pauses_of(t, who);
	if (!p)
		return -ENOMEM;
	p->open.begin_ns = NO_PAUSE;
	const struct span_pause *last = p->count ? &p->at[p->first + p->count - 1] : NULL;
	if (last && begin_ns < last->end_ns)
		begin_ns = last->end_ns;
	if (end_ns <= begin_ns)
		return 0;
	if (p->count == SPAN_PAUSES_MAX)
		drop(p, 1);
	if (!array_room(p->at, p->cap, p->first + p->count))
		return -ENOMEM;
	p->at[p->first + p->count++] = (struct span_pause){begin_ns, end_ns, row};
	return 0;
}

bool span_times_is_due(const struct span_times *t, const struct span_thread *who)
{
	const struct span_pauses *p = ptrmap_get(&t->pauses, key_of(who));
	return p && p->count >= p->due_at;
}

void span_times_trim(struct span_times *t, const struct span_thread *who, uint64_t before_ns)
{
	struct span_pauses *p = ptrmap_get(&t->pauses, key_of(who));
	uint32_t n = 0;
	if (!p)
		return;
	while (n < p->count && p->at[p->first + n].end_ns <= before_ns)
		n++;
	if (n)
		drop(p, n);
	p->due_at = p->count * 2 > DUE_AT ? p->count * 2 : DUE_AT;
}

const struct span_pauses *span_times_find(struct span_times *t, uint64_t key)
{
	struct span_recent *r = span_times_recent(t, key);
	*r = (struct span_recent){key, ptrmap_get(&t->pauses, key)};
	return r->pauses;
}

/* A walk of the time between pauses. */
struct walk {
	const struct off_cpu *off_cpu; /* NULL: nothing is known of the thread */
	uint64_t known_from;
	span_piece_fn *fn;
	void *ctx;
};

static int on_stretch(void *ctx, enum blame_part part, const struct off_cpu_interval *of,
		      uint64_t begin_ns, uint64_t end_ns)
{
	const struct walk *w = ctx;
	return w->fn(w->ctx,
		     &(struct span_piece){
			     .begin_ns = begin_ns, .end_ns = end_ns, .part = part, .of = of});
}

static int walk_own(struct walk *w, uint64_t from, uint64_t to)
{
	static const struct off_cpu none;
	uint64_t known = w->known_from < from ? from : w->known_from < to ? w->known_from : to;
	int err = known > from ? on_stretch(w, BLAME_UNKNOWN, NULL, from, known) : 0;
	if (err || known >= to)
		return err;
	return off_cpu_walk(w->off_cpu ? w->off_cpu : &none, known, to, on_stretch, w);
}

/* The pauses that a walk meets next, of one list. */
struct next {
	const struct span_pauses *of;
	uint32_t at; /* count: the open one; behind it there is none */
};

static struct next first_behind(const struct span_pauses *p, uint64_t ns)
{
	uint32_t low = 0, high = p ? p->count : 0;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		if (p->at[p->first + mid].end_ns <= ns)
			low = mid + 1;
		else
			high = mid;
	}
	return (struct next){p, low};
}

static bool peek(const struct next *n, struct span_pause *ret)
{
	if (!n->of || n->at > n->of->count)
		return false;
	if (n->at < n->of->count) {
		*ret = n->of->at[n->of->first + n->at];
		return true;
	}
	*ret = n->of->open;
	ret->end_ns = UINT64_MAX;
	return ret->begin_ns != NO_PAUSE;
}

/* The earlier one of both lists, which moves behind it. */
static bool take(struct next *a, struct next *b, struct span_pause *ret)
{
	struct span_pause p, q;
	bool has_p = peek(a, &p), has_q = peek(b, &q);
	bool first = has_p && (!has_q || p.begin_ns <= q.begin_ns);
	if (!has_p && !has_q)
		return false;
	*ret = first ? p : q;
	(first ? a : b)->at++;
	return true;
}

/* Walks through the pauses of a thread and of its domain, and what lies between them. */
static int walk_pauses(struct walk *w, const struct span_pauses *thread,
		       const struct span_pauses *lane, uint64_t from, uint64_t to)
{
	struct next of_thread = first_behind(thread, from), of_lane = first_behind(lane, from);
	struct span_pause p;
	int err = 0;
	while (!err && from < to && take(&of_thread, &of_lane, &p) && p.begin_ns < to) {
		uint64_t begin = p.begin_ns > from ? p.begin_ns : from;
		uint64_t end = p.end_ns < to ? p.end_ns : to;
		if (end <= begin)
			continue;
		err = begin > from ? walk_own(w, from, begin) : 0;
		if (!err)
			err = w->fn(w->ctx, &(struct span_piece){.begin_ns = begin,
								 .end_ns = end,
								 .is_pause = true,
								 .row = p.row});
		from = end;
	}
	return err || from >= to ? err : walk_own(w, from, to);
}

int span_times_walk(struct span_times *t, const struct span_thread *who, uint64_t from, uint64_t to,
		    uint64_t known_from, span_piece_fn *fn, void *ctx)
{
	struct walk w = {.known_from = who->tid ? known_from : UINT64_MAX, .fn = fn, .ctx = ctx};
	const struct span_pauses *thread = NULL, *lane = NULL;
	if (from >= to)
		return 0;
	if (who->tid)
		w.off_cpu = thread_times_get(&t->off_cpu, who->tid);
	if (who->tid && !who->in_pauses)
		thread = span_times_pauses(t, who->tid);
	if (who->lane && !who->in_pauses)
		lane = span_times_pauses(t, SPAN_PAUSES_OF_LANE | who->lane);
	/* Most stretches have none, and are asked for when they have just passed. */
	return span_pauses_are_quiet(thread, from, to) && span_pauses_are_quiet(lane, from, to)
		       ? walk_own(&w, from, to)
		       : walk_pauses(&w, thread, lane, from, to);
}

void span_times_done(struct span_times *t)
{
	size_t at = 0;
	thread_times_done(&t->off_cpu);
	for (struct span_pauses *p; (p = ptrmap_next(&t->pauses, &at));) {
		free(p->at);
		free(p);
	}
	ptrmap_done(&t->pauses);
}
