/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/model/blame_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void blame_pause_hold(struct stacks *t, const struct blame_pause *p)
{
	stacks_hold(t, p->stack);
	stacks_hold(t, p->split.block_stack);
	stacks_hold(t, p->culprit.split.block_stack);
}

void blame_pause_drop(struct stacks *t, const struct blame_pause *p)
{
	stacks_drop(t, p->stack);
	stacks_drop(t, p->split.block_stack);
	stacks_drop(t, p->culprit.split.block_stack);
}

/* A pause with what it was made of, and the longest of many, with a reference to the stack of
 * each. */

/* The stacks are kept. 0 or -ENOMEM. */
static int longest_pauses_init(struct longest_pauses *l, struct stacks *stacks, uint32_t max)
{
	*l = (struct longest_pauses){.stacks = stacks, .max = max};
	l->at = calloc(max + 1u, sizeof(*l->at));
	return l->at ? 0 : -ENOMEM;
}

static void longest_pauses_done(struct longest_pauses *l)
{
	for (uint32_t i = 0; i < l->count; i++)
		blame_pause_drop(l->stacks, &l->at[i]);
	free(l->at);
	*l = (struct longest_pauses){0};
}

static void sift(struct longest_pauses *l, uint32_t i)
{
	struct blame_pause *heap = l->at;
	for (;;) {
		uint32_t least = i;
		for (uint32_t c = 2 * i + 1; c <= 2 * i + 2 && c < l->count; c++)
			if (heap[c].ns < heap[least].ns)
				least = c;
		if (least == i)
			return;
		struct blame_pause p = heap[i];
		heap[i] = heap[least];
		heap[least] = p;
		i = least;
	}
}

/* Copies the pause if it is one of the longest. */
static void longest_pauses_add(struct longest_pauses *l, const struct blame_pause *p)
{
	if (l->count < l->max) {
		blame_pause_hold(l->stacks, p);
		l->at[l->count++] = *p;
		for (uint32_t i = l->count / 2; i-- > 0;)
			sift(l, i);
	} else if (l->max && p->ns > l->at->ns) {
		blame_pause_hold(l->stacks, p);
		blame_pause_drop(l->stacks, l->at);
		*l->at = *p;
		sift(l, 0);
	}
}

static int compare(const void *a, const void *b)
{
	const struct blame_pause *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

int blame_sums_init(struct blame_sums *s, struct stacks *stacks, uint32_t longest)
{
	*s = (struct blame_sums){0};
	return longest_pauses_init(&s->longest, stacks, longest);
}

void blame_sums_done(struct blame_sums *s)
{
	longest_pauses_done(&s->longest);
}

static void add(struct blame_sum *s, const struct blame_pause *p)
{
	s->pauses++;
	s->pause_ns += p->ns;
	for (unsigned i = 0; i < BLAME_PARTS; i++)
		s->ns[i] += p->split.ns[i];
	if (!p->has_counts)
		return;
	s->counted++;
	s->never_blocked += pause_counts_never_blocked(&p->counts);
	pause_counts_add(&s->counts, &p->counts);
}

static void add_runner(struct blame_sums *s, const struct blame_cause *c)
{
	struct blame_runner *least = s->runners;
	if (c->part != BLAME_WAIT || !*c->comm)
		return;
	for (unsigned i = 0; i < BLAME_RUNNERS; i++) {
		struct blame_runner *r = &s->runners[i];
		if (r->is_tracer == c->is_tracer && !memcmp(r->comm, c->comm, sizeof(r->comm))) {
			r->ns += c->ns;
			return;
		}
		least = r->ns < least->ns ? r : least;
	}
	*least = (struct blame_runner){.ns = c->ns, .is_tracer = c->is_tracer};
	memcpy(least->comm, c->comm, sizeof(least->comm));
}

void blame_sums_add(struct blame_sums *s, const struct blame_pause *p)
{
	add_runner(s, &p->split.longest);
	add(&s->total, p);
	add(&s->of_row[p->row], p);
	longest_pauses_add(&s->longest, p);
}

int blame_sums_hold(struct blame_sums *s, struct held_pauses *h, const struct blame_pause *p)
{
	if (!array_more(h->at, h->count))
		return -ENOMEM;
	blame_pause_hold(s->longest.stacks, p);
	h->at[h->count++] = *p;
	return 0;
}

void blame_sums_settle(struct blame_sums *s, struct held_pauses *h)
{
	blame_sums_add_held(s, h);
	blame_sums_drop(s, h);
}

void blame_sums_drop(struct blame_sums *s, struct held_pauses *h)
{
	for (uint32_t i = 0; i < h->count; i++)
		blame_pause_drop(s->longest.stacks, &h->at[i]);
	free(h->at);
	*h = (struct held_pauses){0};
}

int blame_sums_copy(struct blame_sums *ret, const struct blame_sums *s)
{
	struct longest_pauses l;
	int err = longest_pauses_init(&l, s->longest.stacks, s->longest.max);
	if (err)
		return err;
	*ret = *s;
	l.count = s->longest.count;
	for (uint32_t i = 0; i < l.count; i++) {
		l.at[i] = s->longest.at[i];
		blame_pause_hold(l.stacks, &l.at[i]);
	}
	ret->longest = l;
	return 0;
}

void blame_sums_add_held(struct blame_sums *s, const struct held_pauses *h)
{
	for (uint32_t i = 0; i < h->count; i++)
		blame_sums_add(s, &h->at[i]);
}

void blame_sums_sort(struct blame_sums *s)
{
	qsort(s->longest.at, s->longest.count, sizeof(*s->longest.at), compare);
}

const struct blame_runner *blame_sums_runner(const struct blame_sums *s)
{
	const struct blame_runner *most = s->runners;
	for (unsigned i = 1; i < BLAME_RUNNERS; i++)
		if (s->runners[i].ns > most->ns)
			most = &s->runners[i];
	return most->ns ? most : NULL;
}
