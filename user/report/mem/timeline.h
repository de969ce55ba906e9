/* SPDX-License-Identifier: BSD-2-Clause */
/* Live bytes over time (report/mem/model/timeline.h), as text and as a picture. */
#ifndef REPORT_MEM_TIMELINE_H
#define REPORT_MEM_TIMELINE_H

#include "report/mem/format.h"
#include "report/mem/mem.h"

/* A chart of 80 columns, in ASCII, and a strip for each site. It needs MEM_TIMELINE and MEM_BANDS,
 * as the other forms do. */
int mem_timeline_text(struct buf *b, const struct mem_view *v);
/* An SVG that shows time and bytes of what the mouse is on. */
int mem_timeline_svg(struct buf *b, const struct mem_view *v);
int mem_timeline_json(struct buf *b, const struct mem_view *v);

/* "peak 1.2 MiB (1.1 MiB to 1.3 MiB) at 12.345 ms, 0.9 MiB alive at the end" */
void mem_timeline_put_summary(struct buf *b, const struct mem_view *v);
/* Live bytes with their interval, which is not known if there are several rates. */
struct mem_amount mem_timeline_amount(const struct mem_model *m, double bytes);
/* Bytes allocated per second, in column i of `columns`. */
double mem_timeline_rate(const struct mem_timeline *t, uint32_t i, uint32_t columns);
/* When the peak was, since the begin. */
uint64_t mem_timeline_peak_ns(const struct mem_timeline *t);
/* The time of all buckets. */
double mem_timeline_ns(const struct mem_timeline *t);

#endif
