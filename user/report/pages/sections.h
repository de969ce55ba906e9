/* SPDX-License-Identifier: BSD-2-Clause */
/* Sections of the text reports of pages that the summary has, too. */
#ifndef REPORT_PAGES_SECTIONS_H
#define REPORT_PAGES_SECTIONS_H

#include "report/pages/model/fragmentation.h"
#include "report/pages/model/occupancy.h"
#include "report/pages/pages.h"

/* The table of pages by state, with peak and growth. */
void pages_put_totals(struct buf *b, const struct pages_model *m);
/* A line each: free runs; how full huge pages are, what keeps them; pages that were returned and
 * taken again; lifetimes; pages that another P freed than allocated them; violations and damage. */
void pages_put_runs(struct buf *b, const struct pages_model *m, const struct pages_runs *r,
		    const char *name);
void pages_put_units(struct buf *b, const struct pages_model *m, const struct pages_units *u);
void pages_put_churn(struct buf *b, const struct pages_model *m);
void pages_put_foreign(struct buf *b, const struct pages_model *m, uint64_t freed,
		       uint64_t foreign);
void pages_put_damage(struct buf *b, const struct pages_view *v);

#endif
