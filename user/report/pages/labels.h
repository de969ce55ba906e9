/* SPDX-License-Identifier: BSD-2-Clause */
/* The mappings that the rows of a picture of an address space belong to. */
#ifndef REPORT_PAGES_LABELS_H
#define REPORT_PAGES_LABELS_H

#include "report/pages/grid.h"
#include "session/mappings.h"

#define PAGES_LABEL_NONE "anonymous" /* pages that are of no named mapping */

struct pages_label {
	uint32_t row, rows;  /* the lowest one, their number */
	uint64_t start, end; /* addresses */
	const char *name;    /* of the mappings, or PAGES_LABEL_NONE */
};

struct pages_labels {
	struct pages_label *at; /* by ascending rows */
	uint32_t count;
};

/* Labels the rows in which a page was ever seen; no labels if no name is known. The mappings must
 * outlive the labels. 0 or -ENOMEM. */
int pages_labels_make(struct pages_labels *ret, const struct pages_grid *g,
		      const struct mappings *m);
void pages_labels_done(struct pages_labels *l);

#endif
