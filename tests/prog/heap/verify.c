// SPDX-License-Identifier: BSD-2-Clause
#include "heap.h"
#include <stdio.h>
#include <stdlib.h>

void heap_fatal(const char *what)
{
	fprintf(stderr, "minigc: %s\n", what);
	abort();
}

static void wrong(const struct obj *obj, const char *what)
{
	fprintf(stderr, "minigc: object %p: %s\n", (const void *)obj, what);
	abort();
}

static void visit(struct gc *gc, struct obj *obj)
{
	if (!obj)
		return;
	for (int i = 0; i < gc->domains; i++)
		if (heap_is_young(&gc->domain[i], obj))
			wrong(obj, "dangling pointer into a nursery");
	if (!space_holds(gc, obj))
		wrong(obj, "pointer outside of the heap");
	if (obj->tag != OBJ_LIVE)
		wrong(obj, "pointer to a free cell");
	if (obj->seen)
		return;
	if (obj->sum != heap_sum(obj))
		wrong(obj, "contents changed");
	obj->seen = 1;
	major_push(gc, obj);
}

/* Clears the verifier's bits; everything in use must have been seen if `exact`. */
static uint64_t count_seen(struct domain *d, bool exact)
{
	uint64_t seen = 0;
	for (struct chunk *c = d->space.chunks; c; c = c->next) {
		for (uint64_t i = 0; i < c->cells; i++) {
			struct obj *obj = (struct obj *)(c->cell + i * c->cell_words);
			if (obj->tag != OBJ_LIVE)
				continue;
			if (exact && !obj->seen)
				wrong(obj, "unreachable, but not swept");
			seen += obj->seen;
			obj->seen = 0;
		}
	}
	if (exact && seen != d->space.live_blocks)
		heap_fatal("count of live blocks is wrong");
	return seen;
}

uint64_t verify_heap(struct gc *gc, bool exact)
{
	uint64_t objects = 0;
	for (int i = 0; i < gc->domains; i++) {
		for (int r = 0; r < gc->domain[i].nroots; r++)
			visit(gc, gc->domain[i].roots[r]);
		visit(gc, gc->published[i]);
	}
	while (gc->mark_top) {
		struct obj *obj = gc->mark_stack[--gc->mark_top];
		for (unsigned i = 0; i < obj->pointers; i++)
			visit(gc, obj->field[i].ptr);
	}
	for (int i = 0; i < gc->domains; i++)
		objects += count_seen(&gc->domain[i], exact);
	return objects;
}
