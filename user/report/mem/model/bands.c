/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/model/bands.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

struct mem_bands *mem_bands_new(const struct session *s, const struct mem_wrappers *w)
{
	struct mem_bands *b = calloc(1, sizeof(*b));
	if (b)
		b->sites = (struct mem_sites){.session = s, .wrappers = *w};
	return b;
}

void mem_bands_free(struct mem_bands *b)
{
	if (!b)
		return;
	for (uint32_t i = 0; i < b->bands; i++)
		free(b->band[i].step);
	free(b->band);
	map_done(&b->by_site);
	mem_sites_done(&b->sites);
	free(b);
}

uint32_t mem_bands_of(struct mem_bands *b, uint32_t stack)
{
	uint32_t site = mem_sites_site(&b->sites, stack);
	uint64_t *number = site != UINT32_MAX ? map_put(&b->by_site, site) : NULL;
	if (!number)
		return 0;
	if (*number)
		return (uint32_t)*number;
	if (!array_reserve(b->band, b->cap, b->bands))
		return 0;
	b->band[b->bands++] = (struct mem_band){.site = site};
	*number = b->bands;
	return b->bands;
}

/* Renumbers buckets that have become one; the last value of them counts. */
static void renumber(struct mem_band *band, uint32_t halvings)
{
	uint32_t by = halvings - band->halvings, n = 0;
	for (uint32_t i = 0; i < band->steps && by; i++) {
		struct mem_band_step s = {band->step[i].live,
					  by < 32 ? band->step[i].bucket >> by : 0};
		n -= n && band->step[n - 1].bucket == s.bucket;
		band->step[n++] = s;
	}
	band->steps = by ? n : band->steps;
	band->halvings = halvings;
}

int mem_bands_change(struct mem_bands *b, uint32_t number, const struct mem_timeline *t,
		     double bytes)
{
	struct mem_band *band = &b->band[number - 1];
	uint32_t bucket = t->count - 1;
	if (band->halvings != t->halvings)
		renumber(band, t->halvings);
	band->live += bytes;
	if (!band->steps || band->step[band->steps - 1].bucket != bucket) {
		if (!array_reserve(band->step, band->cap, band->steps))
			return -ENOMEM;
		band->step[band->steps++].bucket = bucket;
	}
	band->step[band->steps - 1].live = band->live;
	return 0;
}

/* By the bytes, then in the order in which they were seen first. */
static int compare_bands(const void *a, const void *b)
{
	const struct mem_band *x = a, *y = b;
	if (x->most != y->most)
		return x->most < y->most ? 1 : -1;
	return x->site < y->site ? -1 : x->site > y->site;
}

void mem_bands_end(struct mem_bands *b, const struct mem_timeline *t)
{
	for (uint32_t i = 0; i < b->bands; i++) {
		struct mem_band *band = &b->band[i];
		renumber(band, t->halvings);
		for (uint32_t k = 0; k < band->steps; k++)
			if (band->step[k].live > band->most)
				band->most = band->step[k].live;
	}
	if (b->bands)
		qsort(b->band, b->bands, sizeof(*b->band), compare_bands);
}

double mem_band_live(const struct mem_band *band, uint32_t bucket, uint32_t *at)
{
	while (*at < band->steps && band->step[*at].bucket <= bucket)
		++*at;
	double live = *at ? band->step[*at - 1].live : 0;
	return live > 0 ? live : 0;
}
