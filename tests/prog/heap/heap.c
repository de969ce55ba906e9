// SPDX-License-Identifier: BSD-2-Clause
#include "heap.h"
#include <stdlib.h>

static void domain_init(struct gc *gc, int index)
{
	struct domain *d = &gc->domain[index];
	d->gc = gc;
	d->index = index;
	d->nursery = calloc(gc->nursery_words, sizeof(*d->nursery));
	d->remembered = calloc(gc->nursery_words * 2, sizeof(struct obj **));
	if (!d->nursery || !d->remembered)
		heap_fatal("out of memory");
	d->next = d->nursery;
	d->limit = d->nursery + gc->nursery_words;
}

void heap_init(struct gc *gc)
{
	pthread_mutex_init(&gc->lock, NULL);
	pthread_cond_init(&gc->changed, NULL);
	gc->active = gc->domains;
	for (int i = 0; i < gc->domains; i++)
		domain_init(gc, i);
}

void heap_done(struct gc *gc)
{
	for (int i = 0; i < gc->domains; i++) {
		free(gc->domain[i].nursery);
		free(gc->domain[i].remembered);
		space_done(&gc->domain[i].space);
		sampled_done(&gc->domain[i].sampled);
	}
	pool_done(&gc->pool);
	free(gc->mark_stack);
	pthread_cond_destroy(&gc->changed);
	pthread_mutex_destroy(&gc->lock);
}
