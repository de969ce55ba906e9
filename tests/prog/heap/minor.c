// SPDX-License-Identifier: BSD-2-Clause
#include "heap.h"
#include <string.h>

uint64_t heap_sum(const struct obj *obj)
{
	uint64_t h = (uint64_t)obj->words << 16 | obj->pointers;
	for (unsigned i = obj->pointers; i < (unsigned)obj->words - OBJ_HEADER_WORDS; i++) {
		h = (h ^ obj->field[i].raw) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	return h;
}

void heap_seal(struct obj *obj)
{
	obj->sum = heap_sum(obj);
}

struct obj *heap_alloc(struct domain *d, unsigned pointers, unsigned raw_words)
{
	unsigned words = OBJ_HEADER_WORDS + pointers + raw_words;
	if (words < OBJ_MIN_WORDS || words > HEAP_MAX_WORDS)
		heap_fatal("bad object size");
	if (d->next + words > d->limit)
		minor_collect(d);
	struct obj *obj = (struct obj *)d->next;
	d->next += words;
	memset(obj, 0, words * 8);
	obj->tag = OBJ_LIVE;
	obj->words = (uint16_t)words;
	obj->pointers = (uint16_t)pointers;
	ebt_alloc(words);
	if (d->gc->sample)
		sampled_alloc(d, obj);
	return obj;
}

void heap_store(struct domain *d, struct obj *obj, unsigned i, struct obj *value)
{
	obj->field[i].ptr = value;
	if (!heap_is_young(d, value) || heap_is_young(d, obj))
		return;
	/* Twice as many slots as the nursery has words: a mutator that stores a young object more
	 * often than that without allocating is not what this program does. */
	if (d->nremembered == d->gc->nursery_words * 2)
		heap_fatal("remembered set full");
	d->remembered[d->nremembered++] = &obj->field[i].ptr;
}

/* Copies *slot's object if it is young, once, and makes *slot point to the copy. */
static void forward(struct domain *d, struct obj **slot)
{
	struct obj *old = *slot;
	if (!heap_is_young(d, old))
		return;
	if (old->tag == OBJ_MOVED) {
		*slot = (struct obj *)(uintptr_t)old->sum;
		return;
	}
	struct obj *copy = space_alloc(d, old->words);
	memcpy(copy, old, old->words * 8u);
	d->promoted_words += old->words;
	old->tag = OBJ_MOVED;
	old->sum = (uintptr_t)copy;
	/* The original is the list cell of what is still to be scanned: it has one field. */
	old->field[0].ptr = d->todo;
	d->todo = old;
	*slot = copy;
}

static void scan_copies(struct domain *d)
{
	while (d->todo) {
		struct obj *copy = (struct obj *)(uintptr_t)d->todo->sum;
		d->todo = d->todo->field[0].ptr;
		for (unsigned i = 0; i < copy->pointers; i++)
			forward(d, &copy->field[i].ptr);
	}
}

static void copy_reachable(struct domain *d)
{
	struct emit *e = &d->emit;

	emit_begin(e, EBT_PHASE_minor_remembered_set);
	for (size_t i = 0; i < d->nremembered; i++)
		forward(d, d->remembered[i]);
	emit_begin(e, EBT_PHASE_minor_remembered_set_promote);
	scan_copies(d);
	emit_end(e, EBT_PHASE_minor_remembered_set_promote);
	emit_end(e, EBT_PHASE_minor_remembered_set);

	emit_begin(e, EBT_PHASE_minor_local_roots);
	for (int i = 0; i < d->nroots; i++)
		forward(d, &d->roots[i]);
	emit_begin(e, EBT_PHASE_minor_local_roots_promote);
	scan_copies(d);
	emit_end(e, EBT_PHASE_minor_local_roots_promote);
	emit_end(e, EBT_PHASE_minor_local_roots);
}

void minor_collect(struct domain *d)
{
	struct emit *e = &d->emit;
	uint64_t allocated = (uint64_t)(d->next - d->nursery);

	emit_begin(e, EBT_PHASE_minor);
	d->promoted_words = 0;
	copy_reachable(d);
	sampled_minor(d);
	emit_begin(e, EBT_PHASE_minor_clear);
	d->nremembered = 0;
	d->next = d->nursery;
	if (d->gc->verify) /* whoever still has a pointer into it must not find an object */
		memset(d->nursery, 0xdd, d->gc->nursery_words * 8);
	emit_end(e, EBT_PHASE_minor_clear);
	emit_counter(e, EBT_COUNTER_minor_promoted, d->promoted_words * 8);
	emit_counter(e, EBT_COUNTER_minor_allocated, allocated * 8);
	emit_end(e, EBT_PHASE_minor);
	emit_alloc_flush(e);

	d->minors++;
	d->allocated_words += d->promoted_words;
	atomic_fetch_add_explicit(&d->gc->promoted_words, d->promoted_words, memory_order_relaxed);
	major_safepoint(d);
}
