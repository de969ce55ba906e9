/* SPDX-License-Identifier: BSD-2-Clause */
/* The cells of a map of pages in the order of addresses, in as many rows as a picture has. */
#ifndef REPORT_PAGES_GRID_H
#define REPORT_PAGES_GRID_H

#include "report/pages/model/model.h"

/* Where the heap's addresses go on after others that it never used. */
struct pages_grid_region {
	uint64_t addr;
	uint32_t row; /* of its first chunk */
};

struct pages_grid {
	uint32_t columns, rows;	 /* 0: there is nothing */
	double ns;		 /* of all columns */
	struct pages_cell *cell; /* row after row, from the lowest address; of columns each */
	struct pages_grid_region *region;
	uint32_t regions;
	uint64_t row_bytes; /* addresses of a row */
};

/* Makes at most columns_max columns and rows_max rows: cells are averaged where the map has more. 0
 * or -ENOMEM; done() works after either. */
int pages_grid_make(struct pages_grid *g, const struct pages_model *m, uint32_t columns_max,
		    uint32_t rows_max);
void pages_grid_done(struct pages_grid *g);

#endif
