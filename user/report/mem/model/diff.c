/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/model/diff.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define NO_BACKTRACE "(no backtrace)"

int mem_diff_init(struct mem_diff *d, enum mem_per per)
{
	*d = (struct mem_diff){.per = per};
	return strings_new(&d->strings);
}

void mem_diff_done(struct mem_diff *d)
{
	free(d->site);
	map_done(&d->by_name);
	strings_free(d->strings);
	*d = (struct mem_diff){0};
}

static uint32_t put_text(struct mem_diff *d, const char *text)
{
	return strings_put(d->strings, text, strlen(text));
}

/* The diff's own name of a function; 0: no memory. */
static uint32_t name_of(struct mem_diff *d, const struct session *s, const struct mem_function *f)
{
	char scratch[FRAMES_BARE_BYTES];
	const char *name = strings_text(s->strings, f->name);
	if (name)
		return put_text(d, name);
	if (!f->frame)
		return put_text(d, NO_BACKTRACE);
	return put_text(d, frames_bare_text(frames_get(s->frames, f->frame), scratch));
}

/* The site with these strings, which the diff holds from now on. NULL: no memory. */
static struct mem_diff_site *site_of(struct mem_diff *d, uint32_t name, uint32_t file)
{
	uint64_t *number = map_put(&d->by_name, (uint64_t)name << 32 | file);
	if (!number)
		return NULL;
	if (*number)
		return &d->site[*number - 1];
	if (!array_reserve(d->site, d->cap, d->sites))
		return NULL;
	d->site[d->sites++] = (struct mem_diff_site){.name = name, .file = file};
	*number = d->sites;
	return &d->site[d->sites - 1];
}

static int add_function(struct mem_diff *d, unsigned side, const struct session *s,
			const struct mem_function *f)
{
	const char *path = strings_text(s->strings, f->file);
	uint32_t name = name_of(d, s, f), file = path ? put_text(d, path) : 0;
	if (!name || (path && !file))
		return -ENOMEM;
	struct mem_diff_site *site = site_of(d, name, file);
	if (!site)
		return -ENOMEM;
	site->has[side] = true;
	mem_sum_merge(&site->sum[side], &f->self.sum);
	return 0;
}

int mem_diff_add(struct mem_diff *d, unsigned side, const struct mem_model *m)
{
	const struct session *s = m->session;
	struct mem_diff_side *of = &d->side[side];
	struct mem_sites sites;
	int err = mem_model_sites(&sites, m, d->live ? mem_pick_live : mem_pick_alloc);
	for (uint32_t i = 0; i < sites.functions && !err; i++)
		if (sites.function[i].self.count.objects)
			err = add_function(d, side, s, &sites.function[i]);
	of->all = sites.all.sum;
	of->elapsed_ns = mem_model_elapsed_ns(m);
	mem_sites_done(&sites);
	for (const struct mem_process *p = m->first; p; p = p->next)
		mem_sum_add(&of->none, &p->scale, 0);
	if (m->first && !err) {
		const char *name = strings_text(s->strings, m->first->executable);
		of->program = put_text(d, name && *name ? name : m->first->comm);
		err = of->program ? 0 : -ENOMEM;
	}
	return err;
}

/* What a byte of a side counts for. */
static double factor_of(const struct mem_diff *d, unsigned side)
{
	const struct mem_diff_side *of = &d->side[side];
	if (d->per == MEM_PER_TIME)
		return of->elapsed_ns ? 1e9 / (double)of->elapsed_ns : 0;
	if (d->per == MEM_PER_ALLOC)
		return of->bytes.bytes > 0 ? 100 / of->bytes.bytes : 0;
	return 1;
}

static struct mem_difference difference_of(const struct mem_sum sum[MEM_DIFF_SIDES],
					   const double factor[MEM_DIFF_SIDES])
{
	struct mem_difference r;
	for (unsigned i = 0; i < MEM_DIFF_SIDES; i++) {
		struct mem_amount a = mem_sum_amount(&sum[i]);
		r.value[i] = (struct mem_amount){a.bytes * factor[i], a.low * factor[i],
						 a.high * factor[i]};
	}
	const struct mem_amount *a = &r.value[MEM_DIFF_BEFORE], *b = &r.value[MEM_DIFF_AFTER];
	r.change.bytes = b->bytes - a->bytes;
	r.change.low = r.change.bytes - hypot(b->bytes - b->low, a->high - a->bytes);
	r.change.high = r.change.bytes + hypot(b->high - b->bytes, a->bytes - a->low);
	bool is_known = isfinite(r.change.low) && isfinite(r.change.high);
	r.is_noise = is_known && r.change.low <= 0 && r.change.high >= 0;
	return r;
}

/* By the change, then by the names, so that the order is that of no hash table. */
static int compare_sites(const void *x, const void *y, void *ctx)
{
	const struct mem_diff_site *a = x, *b = y;
	const struct strings *strings = ctx;
	double p = fabs(a->difference.change.bytes), q = fabs(b->difference.change.bytes);
	if (p != q)
		return p < q ? 1 : -1;
	int order = strcmp(strings_text(strings, a->name), strings_text(strings, b->name));
	const char *f = strings_text(strings, a->file), *g = strings_text(strings, b->file);
	return order ? order : strcmp(f ? f : "", g ? g : "");
}

void mem_diff_finish(struct mem_diff *d)
{
	double factor[MEM_DIFF_SIDES];
	struct mem_sum all[MEM_DIFF_SIDES];
	for (unsigned i = 0; i < MEM_DIFF_SIDES; i++) {
		all[i] = d->side[i].all;
		d->side[i].bytes = mem_sum_amount(&all[i]);
		factor[i] = factor_of(d, i);
	}
	d->total = difference_of(all, factor);
	for (uint32_t i = 0; i < d->sites; i++) {
		struct mem_diff_site *site = &d->site[i];
		/* A site without samples has an amount, too: its interval reaches up to a few times
		 * the words of one sample. */
		for (unsigned side = 0; side < MEM_DIFF_SIDES; side++)
			if (!site->has[side])
				site->sum[side] = d->side[side].none;
		site->difference = difference_of(site->sum, factor);
	}
	if (d->sites)
		qsort_r(d->site, d->sites, sizeof(*d->site), compare_sites, d->strings);
}
