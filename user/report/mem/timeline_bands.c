/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/timeline_bands.h"

#include <errno.h>
#include <stdlib.h>

#define BANDS_USUAL 8

int mem_timeline_bands_init(struct mem_timeline_bands *b, const struct mem_view *v)
{
	const struct mem_bands *from = v->model->bands;
	const struct mem_timeline *t = v->model->timeline;
	uint32_t limit = v->opt.top ? v->opt.top : BANDS_USUAL;
	*b = (struct mem_timeline_bands){.points = t->count};
	while (b->listed < limit && b->listed < from->bands && from->band[b->listed].most > 0)
		b->listed++;
	b->live = calloc((size_t)(b->listed + 1) * (t->count + 1), sizeof(*b->live));
	b->most = calloc((size_t)b->listed + 1, sizeof(*b->most));
	if (!b->live || !b->most) {
		mem_timeline_bands_done(b);
		return -ENOMEM;
	}
	for (uint32_t k = 0; k <= b->listed; k++) {
		double *of = b->live + (size_t)k * b->points, most = 0;
		for (uint32_t i = 0, at = 0; i < b->points; i++) {
			of[i] = k < b->listed ? mem_band_live(&from->band[k], i, &at)
					      : t->point[i].live;
			for (uint32_t n = 0; k == b->listed && n < k; n++)
				of[i] -= mem_timeline_band(b, n, i);
			/* What rounding leaves is nothing. */
			of[i] = of[i] > 1e-9 * t->peak ? of[i] : 0;
			most = of[i] > most ? of[i] : most;
		}
		b->most[k] = most;
	}
	return 0;
}

void mem_timeline_bands_done(struct mem_timeline_bands *b)
{
	free(b->live);
	free(b->most);
	*b = (struct mem_timeline_bands){0};
}

const struct mem_function *mem_timeline_site(const struct mem_view *v, uint32_t k)
{
	const struct mem_bands *from = v->model->bands;
	return &from->sites.function[from->band[k].site];
}

void mem_timeline_put_name(struct buf *b, const struct mem_view *v,
			   const struct mem_timeline_bands *bands, uint32_t k)
{
	if (k < bands->listed)
		mem_put_site(b, v->session, v->names, mem_timeline_site(v, k));
	else
		buf_puts(b, bands->listed ? "all other sites" : "all sites");
}
