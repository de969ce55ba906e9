/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/spans/model/sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define CLASS_BITS 5 /* classes of a power of two */

int span_sums_init(struct span_sums *s, struct stacks *stacks, uint32_t slow_max)
{
	*s = (struct span_sums){.stacks = stacks, .slow_max = slow_max};
	return strings_new(&s->texts);
}

static void free_name(struct span_name *n)
{
	size_t at = 0;
	if (!n)
		return;
	for (struct span_class *c; (c = ptrmap_next(&n->classes, &at));) {
		span_parts_done(&c->parts);
		free(c);
	}
	ptrmap_done(&n->classes);
	histogram_done(&n->lengths);
	span_parts_done(&n->parts);
	free(n);
}

static void done_span(const struct span_sums *s, struct span *span)
{
	stacks_drop(s->stacks, span->block_stack);
	span_parts_done(&span->parts);
	span_segments_done(&span->segments);
}

void span_sums_done(struct span_sums *s)
{
	size_t at = 0;
	for (struct span_name *n; (n = ptrarray_next(&s->names, &at));)
		free_name(n);
	at = 0;
	for (struct span_name *n; (n = ptrarray_next(&s->phases, &at));)
		free_name(n);
	ptrarray_done(&s->names);
	ptrarray_done(&s->phases);
	free_name(s->others[0]);
	free_name(s->others[1]);
	for (unsigned of = 0; of < 2; of++) {
		for (uint32_t i = 0; i < s->slowest[of].count; i++)
			done_span(s, &s->slowest[of].at[i]);
		free(s->slowest[of].at);
	}
	strings_free(s->texts);
	*s = (struct span_sums){0};
}

uint32_t span_sums_text(struct span_sums *s, const char *text)
{
	if (!text || !*text)
		return 0;
	uint32_t before = strings_count(s->texts);
	uint32_t id = strings_put(s->texts, text, strlen(text));
	bool is_new = strings_count(s->texts) != before;
	if (id && (!is_new || before >= SPAN_TEXTS_MAX))
		strings_drop(s->texts, id);
	return is_new && before >= SPAN_TEXTS_MAX ? 0 : id;
}

struct span_name *span_sums_name(struct span_sums *s, uint32_t text, bool is_phase)
{
	bool is_new;
	struct span_name *n =
		is_phase ? ptrarray_get(&s->phases, text) : ptrarray_get(&s->names, text);
	if (n)
		return n;
	if (!text || s->name_count >= SPAN_NAMES_MAX) {
		n = s->others[is_phase];
		s->others[is_phase] = n ? n : calloc(1, sizeof(*n));
		if (s->others[is_phase])
			s->others[is_phase]->is_phase = is_phase;
		return s->others[is_phase];
	}
	n = is_phase ? ptrarray_make(&s->phases, text, &is_new)
		     : ptrarray_make(&s->names, text, &is_new);
	if (!n)
		return NULL;
	n->text = text;
	n->is_phase = is_phase;
	s->name_count++;
	return n;
}

/* ---- by length ---- */

static uint64_t class_of(uint64_t ns, bool coarse)
{
	unsigned power = ns ? 63u - (unsigned)__builtin_clzll(ns) : 0;
	unsigned more = !coarse && power > CLASS_BITS ? power - CLASS_BITS : 0;
	return coarse ? (uint64_t)power << 32 | 1u << 31 : (uint64_t)power << 32 | ns >> more;
}

static int add_to_class(struct span_sums *s, const struct span *span)
{
	bool is_new;
	struct span_name *n = span->name;
	struct span_class *c = ptrmap_get(&n->classes, class_of(span->ns, false));
	if (!c) {
		bool coarse = s->class_count >= SPAN_CLASSES_MAX;
		c = ptrmap_make(&n->classes, class_of(span->ns, coarse), &is_new);
		if (!c)
			return -ENOMEM;
		s->class_count += is_new;
	}
	if (!c->count || span->ns < c->shortest_ns)
		c->shortest_ns = span->ns;
	c->count++;
	c->ns += span->ns;
	return span_parts_merge(&c->parts, &span->parts);
}

/* Classes, the longest spans first. */
static int compare_classes(const void *a, const void *b)
{
	const struct span_class *const *p = a, *const *q = b;
	return (*p)->shortest_ns > (*q)->shortest_ns ? -1 : (*p)->shortest_ns < (*q)->shortest_ns;
}

int span_name_slow(const struct span_name *n, struct span_slow *ret)
{
	size_t at = 0, count = 0;
	uint64_t wanted = (n->lengths.count + 99) / 100;
	int err = 0;
	*ret = (struct span_slow){0};
	struct span_class **all = calloc(n->classes.words.count + 1, sizeof(struct span_class *));
	if (!all)
		return -ENOMEM;
	for (struct span_class *c; (c = ptrmap_next(&n->classes, &at));)
		all[count++] = c;
	qsort(all, count, sizeof(struct span_class *), compare_classes);
	for (size_t i = 0; i < count && ret->count < wanted && !err; i++) {
		ret->count += all[i]->count;
		ret->ns += all[i]->ns;
		ret->from_ns = all[i]->shortest_ns;
		err = span_parts_merge(&ret->parts, &all[i]->parts);
	}
	free(all);
	return err;
}

/* ---- the slowest ---- */

static void swap(struct span *a, struct span *b)
{
	struct span was = *a;
	*a = *b;
	*b = was;
}

static void sink_down(struct span_heap *h)
{
	for (uint32_t i = 0, child; (child = 2 * i + 1) < h->count; i = child) {
		child += child + 1 < h->count && span_is_shorter(&h->at[child + 1], &h->at[child]);
		if (!span_is_shorter(&h->at[child], &h->at[i]))
			return;
		swap(&h->at[child], &h->at[i]);
	}
}

static void rise(struct span_heap *h)
{
	for (uint32_t i = h->count - 1; i; i = (i - 1) / 2) {
		if (!span_is_shorter(&h->at[i], &h->at[(i - 1) / 2]))
			return;
		swap(&h->at[i], &h->at[(i - 1) / 2]);
	}
}

/* 0 or -ENOMEM: *ret is nothing. */
static int copy(struct span *ret, const struct span *span)
{
	struct span one = *span;
	size_t parts = span->parts.count * sizeof(*span->parts.at);
	size_t segments = span->segments.count * sizeof(*span->segments.at);
	one.parts.at = malloc(parts + 1);
	one.segments.at = malloc(segments + 1);
	if (!one.parts.at || !one.segments.at) {
		free(one.parts.at);
		free(one.segments.at);
		return -ENOMEM;
	}
	if (parts)
		memcpy(one.parts.at, span->parts.at, parts);
	if (segments)
		memcpy(one.segments.at, span->segments.at, segments);
	one.parts.cap = one.parts.count;
	one.segments.cap = one.segments.count;
	*ret = one;
	return 0;
}

/* Keeps a span if it is one of the slowest. */
static int keep(struct span_sums *s, const struct span *span)
{
	struct span_heap *h = &s->slowest[span->name->is_phase];
	uint32_t max = s->slow_max;
	struct span one;
	if (!span_sums_keeps(s, span))
		return 0;
	if (h->count < max && !array_reserve(h->at, h->cap, h->count))
		return -ENOMEM;
	int err = copy(&one, span);
	if (err)
		return err;
	stacks_hold(s->stacks, one.block_stack);
	if (h->count < max) {
		h->at[h->count++] = one;
		rise(h);
		return 0;
	}
	done_span(s, h->at);
	*h->at = one;
	sink_down(h);
	return 0;
}

int span_sums_add(struct span_sums *s, const struct span *span)
{
	struct span_name *n = span->name;
	int err = histogram_count(&n->lengths, span->ns, 1);
	if (err)
		return err;
	n->total_ns += span->ns;
	err = span_parts_merge(&n->parts, &span->parts);
	if (!err)
		err = add_to_class(s, span);
	return err ? err : keep(s, span);
}

int span_sums_add_cut(struct span_sums *s, const struct span *span, enum span_cut cut)
{
	(void)s;
	span->name->cut[cut]++;
	span->name->total_ns += span->ns;
	return span_parts_merge(&span->name->parts, &span->parts);
}

/* ---- segments ---- */

int span_segments_grow(struct span_segments *s)
{
	return array_reserve(s->at, s->cap, s->count) ? 0 : -ENOMEM;
}

int span_segments_append(struct span_segments *s, const struct span_segments *more)
{
	uint32_t left = more->pieces;
	int err = 0;
	/* Where there is no room, only the first may make the last one longer. */
	for (uint32_t i = 0; i < more->count && !err && (!i || s->count < SPAN_SEGMENTS); i++) {
		err = span_segments_add(s, &more->at[i], more->at[i].pieces);
		left -= more->at[i].pieces;
	}
	s->pieces += left;
	s->more += left;
	return err;
}

void span_segments_done(struct span_segments *s)
{
	free(s->at);
	*s = (struct span_segments){0};
}
