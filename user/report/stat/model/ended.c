/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/model/ended.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

void stat_ended_done(struct stat_ended *e)
{
	free(e->heap);
}

static bool is_less(const struct stat_process *a, const struct stat_process *b)
{
	if (a->numbers.gc_ns != b->numbers.gc_ns)
		return a->numbers.gc_ns < b->numbers.gc_ns;
	return a->number > b->number;
}

int stat_ended_add(struct stat_ended *e, struct stat_process *p)
{
	if (!array_reserve(e->heap, e->cap, e->count))
		return -ENOMEM;
	uint32_t i = e->count++;
	for (; i && is_less(p, e->heap[(i - 1) / 2]); i = (i - 1) / 2)
		e->heap[i] = e->heap[(i - 1) / 2];
	e->heap[i] = p;
	return 0;
}

struct stat_process *stat_ended_take_least(struct stat_ended *e)
{
	if (!e->count)
		return NULL;
	struct stat_process *least = e->heap[0], *last = e->heap[--e->count];
	uint32_t i = 0;
	for (uint32_t child; (child = 2 * i + 1) < e->count; i = child) {
		if (child + 1 < e->count && is_less(e->heap[child + 1], e->heap[child]))
			child++;
		if (!is_less(e->heap[child], last))
			break;
		e->heap[i] = e->heap[child];
	}
	e->heap[i] = last;
	return least;
}
