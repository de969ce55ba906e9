/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/pages/model/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct pages_map_column {
	uint32_t users; /* columns of the map */
	uint32_t chunks;
	uint32_t rows; /* of a chunk */
	struct pages_cell cell[];
};

static void put_column(struct pages_map_column *c)
{
	if (c && !--c->users)
		free(c);
}

void pages_map_begin(struct pages_map *m)
{
	for (uint32_t i = 0; i < m->count; i++)
		put_column(m->column[i]);
	m->count = 0;
	m->width_ns = 0;
}

void pages_map_done(struct pages_map *m)
{
	pages_map_begin(m);
	free(m->changes);
	*m = (struct pages_map){0};
}

static uint8_t share(uint64_t part, uint64_t whole)
{
	return (uint8_t)((part * 255 + whole / 2) / whole);
}

static struct pages_cell cell_of(const uint32_t n[PAGES_COUNTS], uint32_t pages)
{
	uint64_t count[PAGES_COUNTS];
	struct pages_cell cell;
	for (unsigned i = 0; i < PAGES_COUNTS; i++)
		count[i] = n[i];
	for (unsigned i = 0; i < PAGES_SHADES; i++)
		cell.share[i] = share(pages_shade_count(count, (enum pages_shade)i), pages);
	return cell;
}

/* The rows of a chunk as it is. */
static void read_chunk(const struct pages_heap *h, const struct pages_chunk *c, uint32_t rows,
		       struct pages_cell *ret)
{
	uint32_t pages = h->chunk_pages / rows;
	for (uint32_t row = 0; row < rows; row++) {
		uint32_t n[PAGES_COUNTS] = {0};
		pages_heap_count(c, row * pages, pages, n);
		ret[row] = cell_of(n, pages);
	}
}

/* The rows of each of `chunks` chunks: no more than PAGES_MAP_ROWS in all, but at least 1. */
static uint32_t rows_for(const struct pages_heap *h, uint64_t chunks)
{
	uint32_t rows = h->chunk_pages;
	while (rows > 1 && rows * chunks > PAGES_MAP_ROWS)
		rows /= 2;
	return rows;
}

/* 0 or -ENOMEM. */
static int know_chunks(struct pages_map *m, const struct pages_heap *h)
{
	if (m->chunks == h->chunks)
		return 0;
	uint32_t *grown = realloc(m->changes, h->chunks * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + m->chunks, 0, (h->chunks - m->chunks) * sizeof(*grown));
	m->changes = grown;
	m->chunks = (uint32_t)h->chunks;
	return 0;
}

/* The heap as it is: its unchanged chunks are copied from the column before. NULL: no memory. */
static struct pages_map_column *take_column(struct pages_map *m, const struct pages_heap *h)
{
	if (know_chunks(m, h))
		return NULL;
	uint32_t rows = m->rows = rows_for(h, h->chunks);
	const struct pages_map_column *before = m->count ? m->column[m->count - 1] : NULL;
	uint32_t same = before && before->rows == rows ? before->chunks : 0;
	struct pages_map_column *c =
		malloc(sizeof(*c) + (size_t)h->chunks * rows * sizeof(*c->cell));
	if (!c)
		return NULL;
	*c = (struct pages_map_column){.chunks = (uint32_t)h->chunks, .rows = rows};
	uint64_t at = 0;
	for (const struct pages_chunk *k; (k = pages_heap_next(h, &at));) {
		size_t first = (size_t)k->number * rows;
		if (k->number < same && m->changes[k->number] == k->changes)
			memcpy(c->cell + first, before->cell + first, rows * sizeof(*c->cell));
		else
			read_chunk(h, k, rows, c->cell + first);
		m->changes[k->number] = k->changes;
	}
	return c;
}

/* Two columns become one, the later of them. */
static void halve(struct pages_map *m)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < m->count; i += 2) {
		bool pair = i + 1 < m->count;
		if (pair)
			put_column(m->column[i]);
		m->column[count++] = m->column[i + pair];
	}
	m->count = count;
	m->width_ns *= 2;
}

int pages_map_follow(struct pages_map *m, const struct pages_timeline *t,
		     const struct pages_heap *h, bool last)
{
	uint32_t until = t->count - !last;
	if (!m->width_ns)
		m->width_ns = t->width_ns;
	struct pages_map_column *now = NULL;
	while (m->count < until || m->width_ns < t->width_ns) {
		if (!now)
			now = take_column(m, h);
		if (!now)
			return -ENOMEM;
		/* As the timeline does: all buckets up to the last one, before each doubling. */
		uint32_t full = m->width_ns < t->width_ns ? PAGES_TIMELINE_POINTS : until;
		for (; m->count < full; m->count++, now->users++)
			m->column[m->count] = now;
		if (m->width_ns < t->width_ns)
			halve(m);
	}
	return 0;
}

struct pages_cell pages_map_cell(const struct pages_map *m, uint32_t column,
				 const struct pages_chunk *c, uint32_t row)
{
	const struct pages_map_column *k = m->column[column];
	if (c->number >= k->chunks)
		return (struct pages_cell){0};
	/* An older column has more rows of the same pages. */
	uint32_t n = k->rows / m->rows;
	const struct pages_cell *from = k->cell + (size_t)c->number * k->rows + row * n;
	struct pages_cell cell;
	for (unsigned s = 0; s < PAGES_SHADES; s++) {
		uint32_t sum = n / 2;
		for (uint32_t i = 0; i < n; i++)
			sum += from[i].share[s];
		cell.share[s] = (uint8_t)(sum / n);
	}
	return cell;
}
