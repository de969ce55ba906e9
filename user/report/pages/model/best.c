/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/pages/model/best.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"

void pages_best_done(struct pages_best *b)
{
	free(b->row);
	*b = (struct pages_best){0};
}

static bool is_better(const struct pages_best_row *a, const struct pages_best_row *b)
{
	return a->value != b->value ? a->value > b->value : a->addr < b->addr;
}

static void rise(struct pages_best *b, uint32_t i, struct pages_best_row r)
{
	for (; i && is_better(&b->row[(i - 1) / 2], &r); i = (i - 1) / 2)
		b->row[i] = b->row[(i - 1) / 2];
	b->row[i] = r;
}

/* Replaces the worst. */
static void sink(struct pages_best *b, struct pages_best_row r)
{
	uint32_t i = 0;
	for (uint32_t child; (child = 2 * i + 1) < b->count; i = child) {
		if (child + 1 < b->count && is_better(&b->row[child], &b->row[child + 1]))
			child++;
		if (!is_better(&r, &b->row[child]))
			break;
		b->row[i] = b->row[child];
	}
	b->row[i] = r;
}

int pages_best_add(struct pages_best *b, uint64_t value, uint64_t addr)
{
	struct pages_best_row r = {value, addr};
	if (b->count == b->most) {
		if (is_better(&r, &b->row[0]))
			sink(b, r);
		return 0;
	}
	if (!array_reserve(b->row, b->cap, b->count))
		return -ENOMEM;
	rise(b, b->count++, r);
	return 0;
}

static int compare(const void *x, const void *y)
{
	return is_better(x, y) ? -1 : 1;
}

void pages_best_sort(struct pages_best *b)
{
	if (b->count)
		qsort(b->row, b->count, sizeof(*b->row), compare);
}
