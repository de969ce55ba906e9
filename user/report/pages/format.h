/* SPDX-License-Identifier: BSD-2-Clause */
/* Pieces of the text reports of pages. */
#ifndef REPORT_PAGES_FORMAT_H
#define REPORT_PAGES_FORMAT_H

#include "report/pages/model/fragmentation.h"
#include "report/pages/pages.h"
#include "report/text.h"

/* The bytes of a number of pages: "3.2 MiB" */
struct report_text pages_bytes_text(const struct pages_model *m, uint64_t pages);
/* A P: "P 3", "P -1"; a thread of an address space: "tid 1234", "the kernel". */
struct report_text pages_p_text(const struct pages_model *m, int32_t p);
/* The P or the thread of a slot; of the slot of the rest: "other Ps", "other threads". */
struct report_text pages_owner_text(const struct pages_model *m, uint32_t slot);
/* A class of sizes: "1", "3 to 4" */
struct report_text pages_class_text(unsigned size_class);
const char *pages_state_text(uint8_t state);
/* A time of the trace, since its begin: "12.345 ms" */
struct report_text pages_time_text(const struct pages_model *m, uint64_t ns);
/* A bar of up to 30 characters for a part of a whole, and the end of the line. */
void pages_put_bar(struct buf *b, double part, double whole);
/* The line of percentiles of a histogram of times: "median 1.2 ms, 90 % 3.4 ms, ...". */
void pages_put_percentiles(struct buf *b, const struct histogram *h);
struct pages_map_shade {
	enum pages_shade shade;
	uint32_t rgb;
	char mark;
	const char *name;
};

/* The shades of a model's map, from the bottom of a stack of totals; their number. Found pages are
 * shades of address spaces alone. */
unsigned pages_map_shades(const struct pages_model *m, const struct pages_map_shade **ret);

/* "# allocated, + free": the characters of shades. */
void pages_put_marks(struct buf *b, const struct pages_model *m);
/* Above a picture: "NAME (pid 12): pages of its address space over time"; when it began, if that is
 * known, else empty. */
void pages_put_title(struct buf *b, const struct pages_view *v);
void pages_put_begin(struct buf *b, const struct pages_view *v);
/* The lines above a report: how much was recorded, of what time, what is missing. False: there are
 * no events, and nothing else to print. */
bool pages_put_head(struct buf *b, const struct pages_view *v);

#endif
