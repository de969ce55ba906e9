/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long objects live, by site: what was promoted, what is alive, and of what was collected a
 * histogram of the bytes by lifetime, a bucket for each power of two.
 */
#include "report/mem/format.h"
#include "report/mem/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SITES_USUAL 10
#define BAR	    40 /* columns of all bytes */
#define US_BUCKETS  11 /* up to 1.024 us: of a clock that has whole us they are one */

/* Bytes of a site. */
struct site_life {
	double promoted, live, collected;
	double by_time[MEM_LIFETIME_TIMES]; /* of those collected */
};

static void add_row(struct site_life *l, const struct mem_process *p, uint32_t row)
{
	const struct mem_fate *f = &p->fate[row];
	l->promoted += mem_process_bytes(p, f->promoted.samples);
	l->live += mem_process_bytes(p, f->live.samples);
	l->collected += mem_process_bytes(p, f->collected.samples);
	for (unsigned i = 0; i < MEM_LIFETIME_TIMES && f->lifetime; i++)
		l->by_time[i] += mem_process_bytes(p, f->lifetime[i]);
}

/* The bucket behind one as it is shown: none is shorter than the clock's step. */
static unsigned next_bucket(const struct mem_view *v, unsigned i)
{
	return !i && !v->model->has_ns ? US_BUCKETS : i + 1;
}

/* Adds the buckets below the clock's step to the first one. */
static void merge_buckets(const struct mem_view *v, struct site_life *l)
{
	for (unsigned i = 1; i < next_bucket(v, 0); i++) {
		l->by_time[0] += l->by_time[i];
		l->by_time[i] = 0;
	}
}

/* Sums up the lives of the listed sites, life[i] of by_self[i]. 0 or -ENOMEM. */
static int add_up(const struct mem_view *v, struct mem_sites *t, uint32_t count,
		  struct site_life *life)
{
	uint32_t *place = calloc((size_t)t->functions + 1, sizeof(*place));
	int err = place ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < count && !err; i++)
		place[t->by_self[i]] = i + 1;
	for (const struct mem_process *p = v->model->first; p && !err; p = p->next)
		for (uint32_t row = 1; row <= p->rows && !err; row++) {
			if (!mem_pick_alloc(p, row).objects)
				continue;
			uint32_t site = mem_sites_site(t, p->row[row].stack);
			if (site == UINT32_MAX)
				err = -ENOMEM;
			else if (place[site])
				add_row(&life[place[site] - 1], p, row);
		}
	free(place);
	for (uint32_t i = 0; i < count; i++)
		merge_buckets(v, &life[i]);
	return err;
}

/* "2.048 us to 4.096 us" */
static void put_bucket(struct buf *b, unsigned i, unsigned end)
{
	struct report_text least = report_ns_text((double)mem_lifetime_least(i));
	struct report_text next = report_ns_text((double)mem_lifetime_least(end));
	if (end < MEM_LIFETIME_TIMES)
		report_print(b, "%14s to %-10s ", least.text, next.text);
	else
		report_print(b, "%14s or more       ", least.text);
}

static void put_histogram(struct buf *b, const struct mem_view *v, const struct site_life *l)
{
	static const char bar[BAR + 1] = "########################################";
	unsigned first = 0, last = MEM_LIFETIME_TIMES;
	while (first < last && !(l->by_time[first] > 0))
		first++;
	while (last > first && !(l->by_time[last - 1] > 0))
		last--;
	for (unsigned i = first; i < last; i = next_bucket(v, i)) {
		double share = report_percent(l->by_time[i], l->collected);
		put_bucket(b, i, next_bucket(v, i));
		report_print(b, "%6.1f %%  %.*s\n", share, (int)(share * BAR / 100 + 0.5), bar);
	}
}

static void put_site(struct buf *b, const struct mem_view *v, const struct mem_function *f,
		     const struct site_life *l, double whole)
{
	double bytes = mem_sum_bytes(&f->self.sum);
	report_print(b, "\n%s (%.1f %%) at ", report_bytes_text(bytes).text,
		     report_percent(bytes, whole));
	mem_put_site(b, v->session, v->names, f);
	buf_puts(b, "\n    ");
	if (v->model->has_generations)
		report_print(b, "promoted %.1f %%, ", report_percent(l->promoted, bytes));
	report_print(b, "alive %.1f %% (%s), collected %.1f %%\n", report_percent(l->live, bytes),
		     report_bytes_text(l->live).text, report_percent(l->collected, bytes));
	put_histogram(b, v, l);
}

static void put_sites(struct buf *b, const struct mem_view *v, const struct mem_sites *t,
		      const struct site_life *life, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		put_site(b, v, &t->function[t->by_self[i]], &life[i], mem_sum_bytes(&t->all.sum));
}

static void put_buckets(struct json *j, const struct mem_view *v, const struct site_life *l)
{
	json_key_open(j, "lifetimes", '[');
	for (unsigned i = 0; i < MEM_LIFETIME_TIMES; i++) {
		if (!(l->by_time[i] > 0))
			continue;
		json_open(j, '{');
		json_key_u64(j, "least_ns", mem_lifetime_least(i));
		json_key_known(j, "below_ns", next_bucket(v, i) < MEM_LIFETIME_TIMES,
			       mem_lifetime_least(next_bucket(v, i)));
		json_key_double(j, "bytes", l->by_time[i]);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_sites_json(struct buf *b, const struct mem_view *v, const struct mem_sites *t,
			   const struct site_life *life, uint32_t count)
{
	struct json j;
	mem_json_begin(&j, b, "lifetimes");
	mem_json_run(&j, v);
	mem_json_key_measure(&j, "total", &t->all);
	json_key_open(&j, "sites", '[');
	for (uint32_t i = 0; i < count; i++) {
		const struct mem_function *f = &t->function[t->by_self[i]];
		json_open(&j, '{');
		mem_json_function(&j, v, f);
		mem_json_measure(&j, &f->self);
		json_key_double(&j, "promoted_bytes", life[i].promoted);
		json_key_double(&j, "live_bytes", life[i].live);
		json_key_double(&j, "collected_bytes", life[i].collected);
		put_buckets(&j, v, &life[i]);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	mem_json_end(&j);
}

/* Writes the sites in either form. */
static int put_lifetimes(struct buf *b, const struct mem_view *v, bool json)
{
	struct mem_sites sites;
	int err = mem_model_sites(&sites, v->model, mem_pick_alloc);
	uint32_t count = 0;
	if (!err)
		count = json ? mem_json_sites(v, &sites)
			     : mem_sites_listed(&sites, v->opt.top, SITES_USUAL);
	struct site_life *life = calloc((size_t)count + 1, sizeof(*life));
	if (!err)
		err = life ? add_up(v, &sites, count, life) : -ENOMEM;
	if (!err)
		(json ? put_sites_json : put_sites)(b, v, &sites, life, count);
	free(life);
	mem_sites_done(&sites);
	return err;
}

int mem_lifetimes_text(struct buf *b, const struct mem_view *v)
{
	return mem_put_head(b, v) ? put_lifetimes(b, v, false) : 0;
}

int mem_lifetimes_json(struct buf *b, const struct mem_view *v)
{
	return put_lifetimes(b, v, true);
}
