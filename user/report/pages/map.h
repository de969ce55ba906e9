/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The map of a heap (report/pages/model/map.h) as a picture: addresses over time in the colours of
 * what their pages were, and the totals beneath. Pages that were found by reading the page tables,
 * which are drawn from the time of that reading on, have shades of their own. Its rows are the
 * chunks in the order of their addresses, without the addresses between them that the heap never
 * used.
 */
#ifndef REPORT_PAGES_MAP_H
#define REPORT_PAGES_MAP_H

#include "report/pages/pages.h"

#define PAGES_MAP_UNSEEN 0xffffff

/* All need the model's map. 0 or -ENOMEM; of PNG and SVG also what canvas_new() returns. */
int pages_map_png(struct buf *b, const struct pages_view *v);
int pages_map_svg(struct buf *b, const struct pages_view *v);
/* One self-contained page that zooms. */
int pages_map_html(struct buf *b, const struct pages_view *v);
/* A chart of characters. */
int pages_map_text(struct buf *b, const struct pages_view *v);

#endif
