/* SPDX-License-Identifier: BSD-2-Clause */
/* One screen: how much was allocated and what became of it, where it was allocated, what is alive,
 * and what churns: was collected. */
#include "report/mem/format.h"
#include "report/mem/json.h"
#include "report/mem/timeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ROWS 5
/* Callers of a site, and the least share that one has of it. */
#define CALLERS	  2
#define CALLER_OF 0.1

static void put_row(struct buf *b, const char *name, const struct mem_sum *sum, double whole)
{
	struct mem_amount a = mem_sum_amount(sum);
	report_print(b, "  %-12s%11s  %24s  %6.1f %%\n", name, report_bytes_text(a.bytes).text,
		     mem_interval_text(&a).text, report_percent(a.bytes, whole));
}

static const char *const sources[] = {
#define EBT_ALLOC_SOURCE_DEF(value, CONSTANT, name) [value] = #name,
#include <ebtrace/events.def>
};

struct summary_sums {
	struct mem_sum all, live, promoted, source[MEM_SOURCES];
};

/* A program without a garbage collector has one heap. */
static const char *source_name(const struct mem_model *m, unsigned source)
{
	return source == EBT_ALLOC_MAJOR && !m->has_generations ? "heap" : sources[source];
}

static struct summary_sums add_up(const struct mem_model *m)
{
	struct summary_sums s = {0};
	for (const struct mem_process *p = m->first; p; p = p->next) {
		struct mem_scale live = mem_process_live_scale(p);
		for (uint32_t row = 1; row <= p->rows; row++) {
			const struct mem_row *r = &p->row[row];
			for (unsigned i = 0; i < MEM_SOURCES; i++)
				mem_sum_add_count(&s.source[i], &p->scale, &r->alloc[i]);
			mem_sum_add(&s.live, &live, p->fate[row].live.samples);
			mem_sum_add(&s.promoted, &p->scale, p->fate[row].promoted.samples);
		}
	}
	for (unsigned i = 0; i < MEM_SOURCES; i++)
		mem_sum_merge(&s.all, &s.source[i]);
	return s;
}

static void put_totals(struct buf *b, const struct mem_view *v)
{
	const struct mem_model *m = v->model;
	struct summary_sums s = add_up(m);
	double whole = mem_sum_bytes(&s.all);
	buf_puts(b, "\n");
	put_row(b, "allocated", &s.all, whole);
	for (unsigned i = 0; i < MEM_SOURCES; i++) {
		char name[16];
		snprintf(name, sizeof(name), "  %s", source_name(m, i));
		if (mem_sum_bytes(&s.source[i]) > 0)
			put_row(b, name, &s.source[i], whole);
	}
	if (m->is_periodic)
		return;
	if (m->has_generations)
		put_row(b, "promoted", &s.promoted, whole);
	put_row(b, "alive", &s.live, whole);
	if (m->timeline)
		report_print(b, "  %-12s%11s  at %s\n", "peak",
			     report_bytes_text(m->timeline->peak).text,
			     report_ns_text((double)mem_timeline_peak_ns(m->timeline)).text);
}

/* What calls main() and the functions of threads: of no use to a reader. */
static bool is_entry(const char *name)
{
	static const char *const entries[] = {"__libc_start_call_main", "__libc_start_main",
					      "_start", "start_thread"};
	for (size_t i = 0; name && i < sizeof(entries) / sizeof(*entries); i++)
		if (!strcmp(name, entries[i]))
			return true;
	return false;
}

/* " via build 71 %, add 29 %" */
static void put_callers(struct buf *b, const struct mem_view *v, const struct mem_sites *t,
			const struct mem_function *site)
{
	double whole = mem_sum_bytes(&site->self.sum);
	for (uint32_t i = 0; i < site->callers && i < CALLERS; i++) {
		const struct mem_function *f = &t->function[site->caller[i].function];
		double bytes = mem_sum_bytes(&site->caller[i].measure.sum);
		if (bytes < CALLER_OF * whole ||
		    is_entry(strings_text(v->session->strings, f->name)))
			break;
		buf_puts(b, i ? ", " : " via ");
		mem_put_function(b, v->session, v->names, f);
		report_print(b, " %.0f %%", report_percent(bytes, whole));
	}
}

static int put_table(struct buf *b, const struct mem_view *v, const char *heading, mem_pick *pick)
{
	struct mem_sites t;
	int err = mem_model_sites(&t, v->model, pick);
	double whole = err ? 0 : mem_sum_bytes(&t.all.sum);
	uint32_t rows = v->opt.top ? v->opt.top : ROWS;
	if (!err)
		err = mem_sites_next(&t, v->model->first, pick, rows);
	report_print(b, "\n%s\n", heading);
	if (!err && !t.all.count.objects)
		buf_puts(b, "  nothing\n");
	for (uint32_t i = 0; i < rows && i < t.functions && !err; i++) {
		const struct mem_function *f = &t.function[t.by_self[i]];
		double bytes = mem_sum_bytes(&f->self.sum);
		if (!f->self.count.objects)
			break;
		report_print(b, "%11s  %24s  %6.1f %%  ", report_bytes_text(bytes).text,
			     mem_certainty_text(&f->self).text, report_percent(bytes, whole));
		mem_put_site(b, v->session, v->names, f);
		put_callers(b, v, &t, f);
		mem_put_few(b, &f->self);
		buf_puts(b, "\n");
	}
	mem_sites_done(&t);
	return err;
}

int mem_summary_text(struct buf *b, const struct mem_view *v)
{
	if (!mem_put_head(b, v))
		return 0;
	put_totals(b, v);
	int err = put_table(b, v, "Allocated at:", mem_pick_alloc);
	if (v->model->is_periodic)
		return err;
	if (!err)
		err = put_table(b, v, "Alive at the end, allocated at:", mem_pick_live);
	if (!err)
		err = put_table(b, v, "Churn, collected again, allocated at:", mem_pick_collected);
	return err;
}

static void put_sum(struct json *j, const char *key, const struct mem_sum *sum)
{
	struct mem_amount a = mem_sum_amount(sum);
	json_key_open(j, key, '{');
	mem_json_amount(j, &a);
	json_close(j, '}');
}

static void put_totals_json(struct json *j, const struct mem_view *v)
{
	const struct mem_model *m = v->model;
	struct summary_sums s = add_up(m);
	json_key_open(j, "totals", '{');
	put_sum(j, "allocated", &s.all);
	for (unsigned i = 0; i < MEM_SOURCES; i++)
		put_sum(j, sources[i], &s.source[i]);
	put_sum(j, "promoted", &s.promoted);
	put_sum(j, "live", &s.live);
	if (m->timeline) {
		json_key_double(j, "peak_bytes", m->timeline->peak);
		json_key_u64(j, "peak_ns", mem_timeline_peak_ns(m->timeline));
	} else {
		json_key_null(j, "peak_bytes");
		json_key_null(j, "peak_ns");
	}
	json_close(j, '}');
}

static int put_table_json(struct json *j, const struct mem_view *v, const char *key, mem_pick *pick)
{
	struct mem_sites t;
	int err = mem_model_sites(&t, v->model, pick);
	uint32_t count = err ? 0 : mem_json_sites(v, &t);
	json_key_open(j, key, '[');
	for (uint32_t i = 0; i < count; i++) {
		const struct mem_function *f = &t.function[t.by_self[i]];
		json_open(j, '{');
		mem_json_function(j, v, f);
		mem_json_measure(j, &f->self);
		json_close(j, '}');
	}
	json_close(j, ']');
	mem_sites_done(&t);
	return err;
}

int mem_summary_json(struct buf *b, const struct mem_view *v)
{
	struct json j;
	mem_json_begin(&j, b, "summary");
	mem_json_run(&j, v);
	put_totals_json(&j, v);
	int err = put_table_json(&j, v, "allocated_at", mem_pick_alloc);
	if (!err)
		err = put_table_json(&j, v, "live_at", mem_pick_live);
	if (!err)
		err = put_table_json(&j, v, "collected_at", mem_pick_collected);
	mem_json_end(&j);
	return err;
}
