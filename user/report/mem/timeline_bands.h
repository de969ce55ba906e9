/* SPDX-License-Identifier: BSD-2-Clause */
/* The live bytes of the sites that a timeline lists, and of all others. */
#ifndef REPORT_MEM_TIMELINE_BANDS_H
#define REPORT_MEM_TIMELINE_BANDS_H

#include "report/mem/format.h"
#include "report/mem/model/bands.h"

/* The sites that are listed, those with the most bytes alive at the end of a bucket: bands of the
 * timeline. One band more has all other sites. */
struct mem_timeline_bands {
	uint32_t listed, points;
	double *live; /* by band and point */
	double *most; /* by band */
};
/* 0 or -ENOMEM. */
int mem_timeline_bands_init(struct mem_timeline_bands *b, const struct mem_view *v);
void mem_timeline_bands_done(struct mem_timeline_bands *b);
/* The live bytes of a band at the end of a bucket. */
static inline double mem_timeline_band(const struct mem_timeline_bands *b, uint32_t band,
				       uint32_t point)
{
	return b->live[(size_t)band * b->points + point];
}
/* The site of a band that is listed. */
const struct mem_function *mem_timeline_site(const struct mem_view *v, uint32_t band);
void mem_timeline_put_name(struct buf *b, const struct mem_view *v,
			   const struct mem_timeline_bands *bands, uint32_t band);

#endif
