/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/pages/grid.h"

#include <errno.h>
#include <stdlib.h>

/* The chunks in the order of their addresses. NULL: no memory. */
static const struct pages_chunk **sort_chunks(const struct pages_heap *h)
{
	const struct pages_chunk **list = calloc(h->chunks, sizeof(struct pages_chunk *)), *c;
	uint64_t at = 0;
	for (size_t i = 0; list && (c = pages_heap_next(h, &at)); i++)
		list[i] = c;
	return list;
}

struct sums {
	uint64_t share[PAGES_SHADES], cells;
};

static void add_cell(struct sums *s, struct pages_cell c)
{
	for (unsigned i = 0; i < PAGES_SHADES; i++)
		s->share[i] += c.share[i];
	s->cells++;
}

static struct pages_cell mean(const struct sums *s)
{
	struct pages_cell cell;
	for (unsigned i = 0; i < PAGES_SHADES; i++)
		cell.share[i] = (uint8_t)((s->share[i] + s->cells / 2) / s->cells);
	return cell;
}

/* What the cells of the map are joined to. */
struct scale {
	const struct pages_map *map;
	const struct pages_chunk **chunk;
	uint32_t by_columns, by_rows, map_rows;
};

static struct pages_cell join_cells(const struct scale *s, uint32_t column, uint32_t row)
{
	struct sums sums = {0};
	uint32_t last_column = column * s->by_columns + s->by_columns;
	uint32_t last_row = row * s->by_rows + s->by_rows;
	for (uint32_t x = column * s->by_columns; x < last_column && x < s->map->count; x++)
		for (uint32_t y = row * s->by_rows; y < last_row && y < s->map_rows; y++)
			add_cell(&sums, pages_map_cell(s->map, x, s->chunk[y / s->map->rows],
						       y % s->map->rows));
	return mean(&sums);
}

static int find_regions(struct pages_grid *g, const struct scale *s, uint32_t chunks)
{
	g->region = calloc(chunks, sizeof(*g->region));
	if (!g->region)
		return -ENOMEM;
	for (uint32_t i = 0; i < chunks; i++)
		if (!i || s->chunk[i]->addr != s->chunk[i - 1]->addr + (1u << PAGES_CHUNK_SHIFT))
			g->region[g->regions++] = (struct pages_grid_region){
				s->chunk[i]->addr, i * s->map->rows / s->by_rows};
	return 0;
}

int pages_grid_make(struct pages_grid *g, const struct pages_model *m, uint32_t columns_max,
		    uint32_t rows_max)
{
	const struct pages_map *map = m->opt.map;
	*g = (struct pages_grid){0};
	if (!map->count || !map->chunks)
		return 0;
	struct scale s = {.map = map, .chunk = sort_chunks(&m->heap)};
	if (!s.chunk)
		return -ENOMEM;
	s.map_rows = map->chunks * map->rows;
	s.by_columns = (map->count + columns_max - 1) / columns_max;
	for (s.by_rows = 1; s.by_rows * rows_max < s.map_rows;)
		s.by_rows *= 2; /* so that rows begin at round addresses */
	g->columns = (map->count + s.by_columns - 1) / s.by_columns;
	g->rows = (s.map_rows + s.by_rows - 1) / s.by_rows;
	g->ns = (double)map->count * (double)map->width_ns;
	g->row_bytes = ((uint64_t)s.by_rows << PAGES_CHUNK_SHIFT) / map->rows;
	g->cell = calloc((size_t)g->columns * g->rows, sizeof(*g->cell));
	int err = g->cell ? find_regions(g, &s, map->chunks) : -ENOMEM;
	for (uint32_t row = 0; row < g->rows && !err; row++)
		for (uint32_t column = 0; column < g->columns; column++)
			g->cell[(size_t)row * g->columns + column] = join_cells(&s, column, row);
	free(s.chunk);
	return err;
}

void pages_grid_done(struct pages_grid *g)
{
	free(g->cell);
	free(g->region);
	*g = (struct pages_grid){0};
}
