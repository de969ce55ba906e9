/* SPDX-License-Identifier: BSD-2-Clause */
#include "elf/segments.h"

#include <errno.h>
#include <stdlib.h>

struct output {
	struct segment *segment;
	size_t count;
};

static int by_start(const void *a, const void *b)
{
	const struct segments_range *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

/* From `start` on the value is this one. */
static void put(struct output *out, uint64_t start, uint32_t value)
{
	if (out->count && out->segment[out->count - 1].start == start)
		out->count--;
	out->segment[out->count++] = (struct segment){start, value};
}

/* Closes the ranges that end at or before `until`. */
static size_t close_until(struct output *out, const struct segments_range *range,
			  const size_t *stack, size_t depth, uint64_t until)
{
	while (depth && range[stack[depth - 1]].end <= until) {
		depth--;
		put(out, range[stack[depth]].end,
		    depth ? range[stack[depth - 1]].value : SEGMENTS_NONE);
	}
	return depth;
}

int segments_make(struct segments_range *range, size_t count, struct segment **ret,
		  size_t *ret_count)
{
	/* Each range starts one segment and ends one. */
	struct output out = {.segment = calloc(2 * count + 1, sizeof(*out.segment))};
	size_t *stack = calloc(count + 1, sizeof(*stack)), depth = 0;
	if (!out.segment || !stack) {
		free(out.segment);
		free(stack);
		return -ENOMEM;
	}
	if (count)
		qsort(range, count, sizeof(*range), by_start);
	for (size_t i = 0; i < count; i++) {
		struct segments_range *r = &range[i];
		depth = close_until(&out, range, stack, depth, r->start);
		if (depth && r->end > range[stack[depth - 1]].end)
			r->end = range[stack[depth - 1]].end;
		if (r->end <= r->start)
			continue;
		stack[depth++] = i;
		put(&out, r->start, r->value);
	}
	close_until(&out, range, stack, depth, UINT64_MAX);
	free(stack);
	*ret = out.segment;
	*ret_count = out.count;
	return 0;
}

uint32_t segments_find(const struct segment *segment, size_t count, uint64_t address)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (segment[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? segment[low - 1].value : SEGMENTS_NONE;
}
