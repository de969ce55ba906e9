/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/pages/labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_seen(const struct pages_grid *g, uint32_t row)
{
	const struct pages_cell *cell = g->cell + (size_t)row * g->columns;
	for (uint32_t x = 0; x < g->columns; x++)
		for (unsigned s = 0; s < PAGES_SHADES; s++)
			if (cell[x].share[s])
				return true;
	return false;
}

/* Rows of one mapping in one region are one label; those in which nothing was seen end it only if
 * another name follows. */
static void add_row(struct pages_labels *l, struct pages_label new, bool is_first)
{
	struct pages_label *last = l->count ? &l->at[l->count - 1] : NULL;
	if (last && !is_first && !strcmp(last->name, new.name) &&
	    (last->end == new.start || strcmp(new.name, PAGES_LABEL_NONE) != 0)) {
		last->rows = new.row + 1 - last->row;
		last->end = new.end;
		return;
	}
	l->at[l->count++] = new;
}

int pages_labels_make(struct pages_labels *ret, const struct pages_grid *g,
		      const struct mappings *m)
{
	struct pages_labels l = {0};
	*ret = l;
	if (!m || !m->count || !g->rows)
		return 0;
	l.at = calloc(g->rows, sizeof(*l.at));
	if (!l.at)
		return -ENOMEM;
	bool is_first = true;
	for (uint32_t row = 0, region = 0; row < g->rows; row++) {
		while (region + 1 < g->regions && g->region[region + 1].row <= row) {
			region++;
			is_first = true;
		}
		if (!is_seen(g, row))
			continue;
		const struct pages_grid_region *r = &g->region[region];
		uint64_t start = r->addr + (uint64_t)(row - r->row) * g->row_bytes;
		const struct mapping *k = mappings_find(m, start, start + g->row_bytes);
		add_row(&l,
			(struct pages_label){row, 1, start, start + g->row_bytes,
					     k ? k->name : PAGES_LABEL_NONE},
			is_first);
		is_first = false;
	}
	*ret = l;
	return 0;
}

void pages_labels_done(struct pages_labels *l)
{
	free(l->at);
	*l = (struct pages_labels){0};
}
