/* SPDX-License-Identifier: BSD-2-Clause */
/* The map of a heap in characters. */
#include <inttypes.h>

#include "report/pages/format.h"
#include "report/pages/grid.h"
#include "report/pages/map.h"

#define COLUMNS 60
#define ROWS	24

/* What most of a cell's pages are. */
static char mark_of(const struct pages_map_shade *s, unsigned shades, struct pages_cell c)
{
	unsigned most = 0, seen = 0;
	char mark = ' ';
	for (unsigned i = 0; i < shades; i++) {
		unsigned part = c.share[s[i].shade];
		seen += part;
		if (part <= most)
			continue;
		most = part;
		mark = s[i].mark;
	}
	return seen + most < 255 ? ' ' : mark;
}

/* The region that a row is in. */
static const struct pages_grid_region *region_of(const struct pages_grid *g, uint32_t row)
{
	const struct pages_grid_region *r = g->region;
	while (r + 1 < g->region + g->regions && r[1].row <= row)
		r++;
	return r;
}

static void put_rows(struct buf *b, const struct pages_model *m, const struct pages_grid *g)
{
	const struct pages_map_shade *s;
	unsigned shades = pages_map_shades(m, &s);
	for (uint32_t row = g->rows; row; row--) {
		const struct pages_grid_region *r = region_of(g, row - 1);
		char line[COLUMNS + 1];
		for (uint32_t x = 0; x < g->columns; x++)
			line[x] = mark_of(s, shades, g->cell[(size_t)(row - 1) * g->columns + x]);
		line[g->columns] = 0;
		report_print(b, "%14s%" PRIx64 " |%s\n", "0x",
			     r->addr + (row - 1 - r->row) * g->row_bytes, line);
	}
}

int pages_map_text(struct buf *b, const struct pages_view *v)
{
	struct pages_grid g = {0};
	if (!pages_put_head(b, v))
		return 0;
	int err = pages_grid_make(&g, v->model, COLUMNS, ROWS);
	if (!err && g.rows) {
		buf_puts(b, "\nAddresses over time (");
		pages_put_marks(b, v->model);
		buf_puts(b, "; -o x.png, x.svg or x.html: a picture):\n");
		put_rows(b, v->model, &g);
		report_print(b, "%26s%-*s%s\n", "0", (int)g.columns - 8, "",
			     report_ns_text(g.ns).text);
	}
	pages_grid_done(&g);
	return err;
}
