/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The live bytes of each site over time, in the buckets of a timeline (timeline.h): a band has an
 * entry for each bucket in which it changed. Memory grows with the number of sites, not with the
 * length of the run.
 */
#ifndef REPORT_MEM_MODEL_BANDS_H
#define REPORT_MEM_MODEL_BANDS_H

#include "report/mem/model/sites.h"
#include "report/mem/model/timeline.h"

struct mem_band_step {
	double live; /* at the end of the bucket, and until the next entry */
	uint32_t bucket;
};

struct mem_band {
	uint32_t site; /* a function of mem_bands.sites */
	double live;   /* now */
	double most;   /* at the end of a bucket, after mem_bands_end() */
	struct mem_band_step *step;
	uint32_t steps, cap;
	uint32_t halvings; /* of the timeline when its buckets were numbered; private */
};

struct mem_bands {
	struct mem_sites sites; /* functions alone; of those without a band, too */
	struct mem_band *band;	/* after mem_bands_end() those with the most bytes first */
	uint32_t bands, cap;
	struct map by_site; /* function → band + 1; private */
};

/* NULL: no memory. */
struct mem_bands *mem_bands_new(const struct session *s, const struct mem_wrappers *w);
void mem_bands_free(struct mem_bands *b); /* NULL is allowed */
/* The number of the band of a stack's site, from 1; 0: no memory. */
uint32_t mem_bands_of(struct mem_bands *b, uint32_t stack);
/* Live bytes changed in the last bucket of the timeline. 0 or -ENOMEM. */
int mem_bands_change(struct mem_bands *b, uint32_t number, const struct mem_timeline *t,
		     double bytes);
/* No more changes. Their numbers are not valid any more. */
void mem_bands_end(struct mem_bands *b, const struct mem_timeline *t);

/* The live bytes of a band at the end of a bucket; *at, which is 0 first, advances with the
 * buckets. */
double mem_band_live(const struct mem_band *band, uint32_t bucket, uint32_t *at);

#endif
