/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where memory is allocated: by site, with the callers that matter, and by function, with what is
 * allocated below it.
 *
 * A caller is listed if the site is much of what it allocates (more than a tenth, and 1.2 times the
 * site's share of everything) and it is a part of the total that is listed at all: main(), which is
 * above everything, is not.
 */
#include "report/mem/format.h"
#include "report/mem/json.h"

#include <inttypes.h>

#define CALLER_SHARE_MIN  0.1
#define CALLER_FACTOR	  1.2
#define FUNCTIONS_DEFAULT 20

static void put_numbers(struct buf *b, const struct mem_measure *m, double whole)
{
	struct mem_amount a = mem_sum_amount(&m->sum);
	report_print(b, "%11s  %24s  %6.1f %%  %9" PRIu64 "  %9" PRIu64 "  ",
		     report_bytes_text(a.bytes).text, mem_interval_text(&a).text,
		     report_percent(a.bytes, whole), m->count.samples, m->count.objects);
}

static void put_callers(struct buf *b, const struct mem_view *v, const struct mem_sites *t,
			const struct mem_function *site, double whole)
{
	double share = mem_sum_bytes(&site->self.sum) / whole;
	double least = CALLER_FACTOR * share;
	if (least < CALLER_SHARE_MIN)
		least = CALLER_SHARE_MIN;
	for (uint32_t i = 0; i < site->callers; i++) {
		const struct mem_caller *c = &site->caller[i];
		const struct mem_function *f = &t->function[c->function];
		double bytes = mem_sum_bytes(&c->measure.sum);
		double of_it = bytes / mem_sum_bytes(&f->total.sum);
		if (of_it <= least || bytes <= MEM_SHARE_MIN * whole)
			continue;
		put_numbers(b, &c->measure, whole);
		buf_puts(b, "  via ");
		mem_put_function(b, v->session, v->names, f);
		report_print(b, " (%.0f %% of all it allocates)\n", 100 * of_it);
	}
}

static void put_sites(struct buf *b, const struct mem_view *v, const struct mem_sites *t,
		      uint32_t count)
{
	double whole = mem_sum_bytes(&t->all.sum);
	report_print(b,
		     "\n      bytes           95 %% interval     share   %7ss    objects  "
		     "allocated at\n",
		     mem_sample_name(v));
	for (uint32_t i = 0; i < count; i++) {
		const struct mem_function *f = &t->function[t->by_self[i]];
		put_numbers(b, &f->self, whole);
		mem_put_site(b, v->session, v->names, f);
		buf_puts(b, "\n");
		put_callers(b, v, t, f, whole);
	}
}

static void put_functions(struct buf *b, const struct mem_view *v, const struct mem_sites *t)
{
	double whole = mem_sum_bytes(&t->all.sum);
	uint32_t count = v->opt.top ? v->opt.top : FUNCTIONS_DEFAULT;
	report_print(
		b,
		"\n      total     share         self     share   %6ss: own      below  function\n",
		mem_sample_name(v));
	for (uint32_t i = 0; i < count && i < t->functions; i++) {
		const struct mem_function *f = &t->function[t->by_total[i]];
		double total = mem_sum_bytes(&f->total.sum), self = mem_sum_bytes(&f->self.sum);
		report_print(b, "%11s  %6.1f %%  %11s  %6.1f %%  %13" PRIu64 "  %9" PRIu64 "  ",
			     report_bytes_text(total).text, report_percent(total, whole),
			     report_bytes_text(self).text, report_percent(self, whole),
			     f->self.count.samples, f->above.count.samples);
		mem_put_function(b, v->session, v->names, f);
		buf_puts(b, "\n");
	}
}

int mem_hotspots_text(struct buf *b, const struct mem_view *v)
{
	struct mem_sites sites;
	if (!mem_put_head(b, v))
		return 0;
	int err = mem_model_sites(&sites, v->model, mem_pick_alloc);
	uint32_t count = err ? 0 : mem_sites_listed(&sites, v->opt.top, 0);
	if (!err)
		err = mem_sites_callers(&sites, v->model->first, mem_pick_alloc, count);
	if (!err) {
		struct mem_amount all = mem_sum_amount(&sites.all.sum);
		report_print(b, "%s allocated (%s)\n", report_bytes_text(all.bytes).text,
			     mem_interval_text(&all).text);
		put_sites(b, v, &sites, count);
		put_functions(b, v, &sites);
	}
	mem_sites_done(&sites);
	return err;
}

static void put_site_json(struct json *j, const struct mem_view *v, const struct mem_sites *t,
			  const struct mem_function *f)
{
	json_open(j, '{');
	mem_json_function(j, v, f);
	mem_json_measure(j, &f->self);
	mem_json_positions(j, f);
	json_key_open(j, "callers", '[');
	for (uint32_t i = 0; i < f->callers; i++) {
		json_open(j, '{');
		mem_json_function(j, v, &t->function[f->caller[i].function]);
		mem_json_measure(j, &f->caller[i].measure);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}

static void put_sites_json(struct json *j, const struct mem_view *v, const struct mem_sites *t,
			   uint32_t count)
{
	mem_json_key_measure(j, "total", &t->all);
	json_key_open(j, "sites", '[');
	for (uint32_t i = 0; i < count; i++)
		put_site_json(j, v, t, &t->function[t->by_self[i]]);
	json_close(j, ']');
	json_key_open(j, "functions", '[');
	for (uint32_t i = 0; i < t->functions && (!v->opt.top || i < v->opt.top); i++) {
		const struct mem_function *f = &t->function[t->by_total[i]];
		json_open(j, '{');
		mem_json_function(j, v, f);
		mem_json_key_measure(j, "self", &f->self);
		mem_json_key_measure(j, "total", &f->total);
		json_close(j, '}');
	}
	json_close(j, ']');
}

int mem_hotspots_json(struct buf *b, const struct mem_view *v)
{
	struct mem_sites sites;
	struct json j;
	int err = mem_model_sites(&sites, v->model, mem_pick_alloc);
	uint32_t count = err ? 0 : mem_json_sites(v, &sites);
	if (!err)
		err = mem_sites_callers(&sites, v->model->first, mem_pick_alloc, count);
	if (!err) {
		mem_json_begin(&j, b, "hotspots");
		mem_json_run(&j, v);
		put_sites_json(&j, v, &sites, count);
		mem_json_end(&j);
	}
	mem_sites_done(&sites);
	return err;
}
