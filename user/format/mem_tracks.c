/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/mem_tracks.h"

#include "report/mem/model/site_name.h"
#include "report/text.h"
#include "session/display_names.h"
#include "session/kinds.h"
#include <errno.h>

#define SITES 10

int mem_tracks_init(struct mem_tracks *t, const struct session *s, const struct derived_visitor *v,
		    void *ctx)
{
	const struct mem_options all = {0};
	*t = (struct mem_tracks){.visitor = v, .ctx = ctx, .counters = {.session = s}};
	return mem_model_init(&t->model, s, &all);
}

void mem_tracks_done(struct mem_tracks *t)
{
	mem_counters_done(&t->counters);
	mem_model_done(&t->model);
}

static int put_value(struct mem_tracks *t, const struct mem_counters_value *v)
{
	struct derived_counter c = {
		.ts = v->ts,
		.process = v->process,
		.id = DERIVED_LIVE,
		.name = "live bytes (estimated)",
		.is_bytes = true,
		.value = v->live_bytes,
	};
	int err = t->visitor->counter(t->ctx, &c);
	if (err || !v->has_generations)
		return err;
	c.id = DERIVED_PROMOTED;
	c.name = "promoted bytes (estimated)";
	c.value = v->promoted_bytes;
	return t->visitor->counter(t->ctx, &c);
}

int mem_tracks_event(struct mem_tracks *t, const struct ebt_event *ev)
{
	struct mem_counters_value value;
	int err = mem_model_events(&t->model, ev, 1);
	if (!err)
		err = mem_counters_event(&t->counters, ev, &value);
	return err == 1 ? put_value(t, &value) : err;
}

int mem_tracks_forget(struct mem_tracks *t, uint32_t process)
{
	struct mem_counters_value value;
	bool due = mem_counters_forget(&t->counters, process, &value);
	int err = mem_model_forget(&t->model, process);
	return err || !due ? err : put_value(t, &value);
}

static uint64_t to_bytes(double bytes)
{
	return bytes < 0x1p63 ? (uint64_t)bytes : INT64_MAX;
}

static int visit_site(struct mem_tracks *t, struct display_names *names,
		      const struct mem_sites *sites, unsigned rank, struct buf *name)
{
	const struct mem_function *f = &sites->function[sites->by_self[rank]];
	struct mem_amount a = mem_sum_amount(&f->self.sum);
	name->len = 0;
	report_print(name, "%s (%.1f %%) ", report_bytes_text(a.bytes).text,
		     report_percent(a.bytes, mem_sum_bytes(&sites->all.sum)));
	mem_put_site(name, t->model.session, names, f);
	struct derived_site site = {
		.rank = rank,
		.name = buf_str(name),
		.bytes = to_bytes(a.bytes),
		.low_bytes = to_bytes(a.low),
		.high_bytes = to_bytes(a.high),
		.objects = f->self.count.objects,
		.samples = f->self.count.samples,
	};
	return name->err ? name->err : t->visitor->site(t->ctx, &site);
}

static int visit_sites(struct mem_tracks *t)
{
	const struct session *s = t->model.session;
	struct display_names *names = NULL;
	struct mem_sites sites = {0};
	struct buf name;
	if (!t->model.first)
		return 0;
	if (buf_init(&name, -1, BUF_ROOM_MAX))
		return -ENOMEM;
	mem_model_end(&t->model);
	int err = display_names_new(s->strings, &names);
	if (!err)
		err = mem_model_sites(&sites, &t->model, mem_pick_alloc);
	for (unsigned i = 0; i < SITES && i < sites.functions && !err; i++) {
		if (!sites.function[sites.by_self[i]].self.count.objects)
			break;
		err = visit_site(t, names, &sites, i, &name);
	}
	mem_sites_done(&sites);
	display_names_free(names);
	buf_done(&name);
	return err;
}

int mem_tracks_end(struct mem_tracks *t)
{
	struct mem_counters_value value;
	int err = 0;
	while (!err && mem_counters_end(&t->counters, &value))
		err = put_value(t, &value);
	return err ? err : visit_sites(t);
}
