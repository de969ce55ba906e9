// SPDX-License-Identifier: BSD-2-Clause
#include "heap.h"
#include <stdlib.h>
#include <string.h>

static const unsigned class_words[HEAP_CLASSES] = {4, 6, 8, 12, 16, 24, 40, 72, 112, 160};
#define POISON 0xdb

static unsigned class_of(unsigned words)
{
	unsigned c = 0;
	while (class_words[c] < words)
		c++;
	return c;
}

static size_t chunk_slot(const void *chunk)
{
	return ((uintptr_t)chunk / HEAP_CHUNK_BYTES * 0x9e3779b97f4a7c15u >> 40) %
	       (HEAP_MAX_CHUNKS * 2);
}

static struct obj *chunk_cell(struct chunk *c, uint64_t i)
{
	return (struct obj *)(c->cell + i * c->cell_words);
}

static void free_cell(struct space *s, unsigned class, struct obj *obj)
{
	obj->tag = OBJ_FREE;
	obj->sum = (uintptr_t)s->free[class];
	s->free[class] = obj;
}

/* A new one is remembered; one of the pool is already. */
static struct chunk *get_chunk(struct domain *d)
{
	struct gc *gc = d->gc;
	pthread_mutex_lock(&gc->lock);
	struct chunk *c = pool_take(d);
	size_t slot = chunk_slot(c);
	while (gc->chunk_set[slot] && gc->chunk_set[slot] != c)
		slot = (slot + 1) % (HEAP_MAX_CHUNKS * 2);
	if (!gc->chunk_set[slot] && gc->nchunks++ == HEAP_MAX_CHUNKS)
		heap_fatal("too many chunks");
	gc->chunk_set[slot] = c;
	pthread_mutex_unlock(&gc->lock);
	return c;
}

static void space_grow(struct domain *d, unsigned class)
{
	struct chunk *c = get_chunk(d);
	memset(c, POISON, HEAP_CHUNK_BYTES);
	c->cell_words = class_words[class];
	c->cells = (HEAP_CHUNK_BYTES - sizeof(*c)) / 8 / c->cell_words;
	c->used_words = 0;
	c->next = d->space.chunks;
	d->space.chunks = c;
	d->space.words += HEAP_CHUNK_BYTES / 8;
	for (uint64_t i = c->cells; i-- > 0;)
		free_cell(&d->space, class, chunk_cell(c, i));
}

struct obj *space_alloc(struct domain *d, unsigned words)
{
	struct space *s = &d->space;
	unsigned class = class_of(words);
	if (!s->free[class])
		space_grow(d, class);
	struct obj *obj = s->free[class];
	s->free[class] = (struct obj *)(uintptr_t)obj->sum;
	s->live_words += class_words[class];
	s->live_blocks++;
	return obj;
}

static bool has_live(struct chunk *c)
{
	for (uint64_t i = 0; i < c->cells; i++)
		if (chunk_cell(c, i)->tag == OBJ_LIVE && chunk_cell(c, i)->marked)
			return true;
	return false;
}

static void sweep_chunk(struct gc *gc, struct space *s, struct chunk *c)
{
	unsigned class = class_of((unsigned)c->cell_words);
	c->used_words = 0;
	for (uint64_t i = c->cells; i-- > 0;) {
		struct obj *obj = chunk_cell(c, i);
		if (obj->tag == OBJ_LIVE && obj->marked) {
			obj->marked = 0;
			c->used_words += c->cell_words;
			s->live_words += c->cell_words;
			s->live_blocks++;
			continue;
		}
		if (obj->tag == OBJ_LIVE && gc->verify)
			memset(obj, POISON, c->cell_words * 8);
		free_cell(s, class, obj);
	}
}

void space_sweep(struct domain *d, struct space *s)
{
	memset(s->free, 0, sizeof(s->free));
	s->live_words = s->live_blocks = 0;
	for (struct chunk **at = &s->chunks, *c; (c = *at);) {
		if (d->gc->pages && !has_live(c)) {
			*at = c->next;
			s->words -= HEAP_CHUNK_BYTES / 8;
			pool_put(d, c);
			continue;
		}
		sweep_chunk(d->gc, s, c);
		at = &c->next;
	}
}

void space_done(struct space *s)
{
	for (struct chunk *c = s->chunks, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	s->chunks = NULL;
}

bool space_holds(const struct gc *gc, const struct obj *obj)
{
	const struct chunk *want =
		(const struct chunk *)((uintptr_t)obj & ~(uintptr_t)(HEAP_CHUNK_BYTES - 1));
	size_t slot = chunk_slot(want);
	while (gc->chunk_set[slot] && gc->chunk_set[slot] != want)
		slot = (slot + 1) % (HEAP_MAX_CHUNKS * 2);
	if (!gc->chunk_set[slot] || !want->cells)
		return false;
	uintptr_t offset = (uintptr_t)obj - (uintptr_t)want->cell;
	return (uintptr_t)obj >= (uintptr_t)want->cell && offset % (want->cell_words * 8) == 0 &&
	       offset / (want->cell_words * 8) < want->cells;
}
