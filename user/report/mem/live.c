/* SPDX-License-Identifier: BSD-2-Clause */
/* What is alive at the end of the recording, or at a moment of it, by site: the view of leaks. */
#include "base/plural.h"
#include "report/mem/format.h"
#include "report/mem/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* When the oldest live object of each site was allocated; 0: none is alive. 0 or -ENOMEM. */
static int find_oldest(const struct mem_view *v, struct mem_sites *t, uint64_t *oldest_ns)
{
	for (const struct mem_process *p = v->model->first; p; p = p->next)
		for (uint32_t row = 1; row <= p->rows; row++) {
			uint64_t ns = p->fate[row].oldest_ns;
			uint32_t site = ns ? mem_sites_site(t, p->row[row].stack) : 0;
			if (site == UINT32_MAX)
				return -ENOMEM;
			if (ns && (!oldest_ns[site] || ns < oldest_ns[site]))
				oldest_ns[site] = ns;
		}
	return 0;
}

/* How long an object has been alive at the end. */
static uint64_t age_of(const struct mem_view *v, uint64_t since_ns)
{
	uint64_t now = mem_model_begin_ns(v->model) + mem_model_elapsed_ns(v->model);
	return now > since_ns ? now - since_ns : 0;
}

static void put_site(struct buf *b, const struct mem_view *v, const struct mem_function *f,
		     double whole, uint64_t oldest_ns)
{
	struct mem_amount a = mem_sum_amount(&f->self.sum);
	report_print(b, "%11s  %24s  %6.1f %%  %9" PRIu64 "  %11s  ",
		     report_bytes_text(a.bytes).text, mem_interval_text(&a).text,
		     report_percent(a.bytes, whole), f->self.count.objects,
		     report_ns_text((double)age_of(v, oldest_ns)).text);
	mem_put_site(b, v->session, v->names, f);
	buf_puts(b, "\n");
}

/* The line of what is not listed. */
static void put_rest(struct buf *b, const struct mem_sites *t, uint32_t count)
{
	struct mem_sum rest = {0};
	uint64_t objects = 0;
	for (uint32_t i = count; i < t->functions; i++) {
		mem_sum_merge(&rest, &t->function[t->by_self[i]].self.sum);
		objects += t->function[t->by_self[i]].self.count.objects;
	}
	struct mem_amount a = mem_sum_amount(&rest);
	if (!objects)
		buf_puts(b, "        0 B  at all other sites\n");
	else
		report_print(
			b, "%11s  %24s            %9" PRIu64 "               at all other sites\n",
			report_bytes_text(a.bytes).text, mem_interval_text(&a).text, objects);
}

static void put_sites(struct buf *b, const struct mem_view *v, const struct mem_sites *t,
		      const uint64_t *oldest_ns)
{
	struct mem_amount all = mem_sum_amount(&t->all.sum);
	uint32_t count = mem_sites_listed(t, v->opt.top, 0);
	report_print(b, "%s alive (%s) in %" PRIu64 " sampled object%s at %s\n",
		     report_bytes_text(all.bytes).text, mem_interval_text(&all).text,
		     t->all.count.objects, plural(t->all.count.objects),
		     report_ns_text((double)mem_model_elapsed_ns(v->model)).text);
	buf_puts(b, "\n      alive           95 % interval     share    objects       oldest  "
		    "allocated at\n");
	for (uint32_t i = 0; i < count; i++)
		put_site(b, v, &t->function[t->by_self[i]], all.bytes, oldest_ns[t->by_self[i]]);
	put_rest(b, t, count);
}

static void put_sites_json(struct buf *b, const struct mem_view *v, const struct mem_sites *t,
			   const uint64_t *oldest_ns)
{
	struct json j;
	mem_json_begin(&j, b, "live");
	mem_json_run(&j, v);
	mem_json_key_measure(&j, "total", &t->all);
	json_key_open(&j, "sites", '[');
	for (uint32_t i = 0, count = mem_json_sites(v, t); i < count; i++) {
		const struct mem_function *f = &t->function[t->by_self[i]];
		json_open(&j, '{');
		mem_json_function(&j, v, f);
		mem_json_measure(&j, &f->self);
		mem_json_positions(&j, f);
		json_key_u64(&j, "oldest_ns", age_of(v, oldest_ns[t->by_self[i]]));
		json_close(&j, '}');
	}
	json_close(&j, ']');
	mem_json_end(&j);
}

/* Writes the sites in either form. */
static int put_live(struct buf *b, const struct mem_view *v,
		    void (*put)(struct buf *b, const struct mem_view *v, const struct mem_sites *t,
				const uint64_t *oldest_ns))
{
	struct mem_sites sites;
	int err = mem_model_sites(&sites, v->model, mem_pick_live);
	uint64_t *oldest_ns = calloc((size_t)sites.functions + 1, sizeof(*oldest_ns));
	if (!err)
		err = oldest_ns ? find_oldest(v, &sites, oldest_ns) : -ENOMEM;
	if (!err)
		put(b, v, &sites, oldest_ns);
	free(oldest_ns);
	mem_sites_done(&sites);
	return err;
}

int mem_live_text(struct buf *b, const struct mem_view *v)
{
	return mem_put_head(b, v) ? put_live(b, v, put_sites) : 0;
}

int mem_live_json(struct buf *b, const struct mem_view *v)
{
	return put_live(b, v, put_sites_json);
}
