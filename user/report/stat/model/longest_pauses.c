/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/model/longest_pauses.h"

#include <errno.h>
#include <stdlib.h>

int longest_pauses_init(struct longest_pauses *l, struct stacks *stacks, uint32_t max)
{
	*l = (struct longest_pauses){.stacks = stacks, .max = max};
	l->at = calloc(max + 1u, sizeof(*l->at));
	return l->at ? 0 : -ENOMEM;
}

void longest_pauses_done(struct longest_pauses *l)
{
	for (uint32_t i = 0; i < l->count; i++)
		stacks_drop(l->stacks, l->at[i].stack);
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

void longest_pauses_add(struct longest_pauses *l, const struct blame_pause *p)
{
	if (l->count < l->max) {
		stacks_hold(l->stacks, p->stack);
		l->at[l->count++] = *p;
		for (uint32_t i = l->count / 2; i-- > 0;)
			sift(l, i);
	} else if (l->max && p->ns > l->at->ns) {
		stacks_hold(l->stacks, p->stack);
		stacks_drop(l->stacks, l->at->stack);
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

void longest_pauses_sort(struct longest_pauses *l)
{
	qsort(l->at, l->count, sizeof(*l->at), compare);
}
