/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The map of a heap (model/pages_map.h) as a picture: addresses over time in the colours of what
 * their pages were, and the totals beneath. Its rows are the chunks in the order of their addresses,
 * without the addresses between them that the heap never used.
 */
#ifndef SINK_PAGES_MAP_H
#define SINK_PAGES_MAP_H

#include "sink/pages.h"

/* Colours, 0xrrggbb. */
#define PAGES_MAP_ALLOCATED 0x2c6fbb
#define PAGES_MAP_FREE	    0xf2a73b
#define PAGES_MAP_SCAVENGED 0xd5d9de
#define PAGES_MAP_UNSEEN    0xffffff

/* All need the model's map. 0 or -ENOMEM; of PNG and SVG also what canvas_new() returns. */
int pages_map_png(struct buf *b, const struct pages_view *v);
int pages_map_svg(struct buf *b, const struct pages_view *v);
/* One self-contained page that zooms. */
int pages_map_html(struct buf *b, const struct pages_view *v);
/* A chart of characters. */
int pages_map_text(struct buf *b, const struct pages_view *v);

#endif
