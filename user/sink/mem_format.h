/* SPDX-License-Identifier: BSD-2-Clause */
/* Pieces of the text reports of mem. Names come from traced programs: what could control a terminal
 * is replaced. */
#ifndef SINK_MEM_FORMAT_H
#define SINK_MEM_FORMAT_H

#include "model/mem_sites.h"
#include "sink/mem.h"

/* Of the total, the share above which a site is listed if no number of rows is given. */
#define MEM_SHARE_MIN 0.005

struct mem_text {
	char text[48];
};

void mem_print(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "3.2 MiB" */
struct mem_text mem_bytes_text(double bytes);
/* "3.1 MiB to 3.3 MiB"; "exact" */
struct mem_text mem_interval_text(const struct mem_amount *a);
/* "12.345 ms" */
struct mem_text mem_ns_text(double ns);

/* A share in per cent; 0 of nothing. */
static inline double mem_percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/* The number of sites that are listed, of those with the most bytes: `most` if it is not 0, else
 * those above the least share, but not more than `usual` (0: any number). */
uint32_t mem_sites_listed(const struct mem_sites *t, uint32_t most, uint32_t usual);
/* A text of a traced program. */
void mem_put_text(struct buf *b, const char *s);
/* The name of a function as its source has it, "$4711" for a frame that was not resolved. */
void mem_put_function(struct buf *b, const struct mem_view *v, const struct mem_function *f);
/* The same with its file and the first positions of its allocations: "f (a.c:1:2-3, 4:5-6...)". */
void mem_put_site(struct buf *b, const struct mem_view *v, const struct mem_function *f);
/* The lines above a report: the traced programs, what was sampled, what was lost. False: there is
 * no allocation, and nothing else to print. */
bool mem_put_head(struct buf *b, const struct mem_view *v);

#endif
