// SPDX-License-Identifier: BSD-2-Clause
#include "sampled.h"
#include "heap.h"
#include <stdlib.h>

static void add(struct sampled_list *l, struct sampled item)
{
	if (l->n == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 64;
		l->item = realloc(l->item, l->cap * sizeof(*l->item));
		if (!l->item)
			heap_fatal("out of memory");
	}
	l->item[l->n++] = item;
}

/* Objects move, so the number stands for the address. */
void sampled_alloc(struct domain *d, struct obj *obj)
{
	struct sampled_counts *c = &d->sampled.counts;
	uint64_t number = ebt_object_alloc(obj->words, EBT_ALLOC_MINOR, NULL);
	c->objects++;
	c->words += obj->words;
	if (!number)
		return;
	c->alloc++;
	add(&d->sampled.young, (struct sampled){obj, number});
}

static void collect(struct domain *d, uint64_t number)
{
	ebt_object_collect(number, NULL);
	d->sampled.counts.collect++;
}

void sampled_minor(struct domain *d)
{
	struct sampled_list *young = &d->sampled.young;
	for (size_t i = 0; i < young->n; i++) {
		struct sampled s = young->item[i];
		if (s.obj->tag != OBJ_MOVED) {
			collect(d, s.number);
			continue;
		}
		ebt_object_promote(s.number);
		d->sampled.counts.promote++;
		s.obj = (struct obj *)(uintptr_t)s.obj->sum;
		add(&d->sampled.old, s);
	}
	young->n = 0;
}

void sampled_major(struct domain *d)
{
	for (int i = 0; i < d->gc->domains; i++) {
		struct sampled_list *old = &d->gc->domain[i].sampled.old;
		size_t kept = 0;
		for (size_t k = 0; k < old->n; k++) {
			if (old->item[k].obj->marked)
				old->item[kept++] = old->item[k];
			else
				collect(d, old->item[k].number);
		}
		old->n = kept;
	}
}

void sampled_done(struct sampled_heap *s)
{
	free(s->young.item);
	free(s->old.item);
}
