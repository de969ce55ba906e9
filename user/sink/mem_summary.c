/* SPDX-License-Identifier: BSD-2-Clause */
/* One screen: how much was allocated and what became of it, where it was allocated, what is alive,
 * and what churns: was collected. */
#include "sink/mem_format.h"

#include <inttypes.h>

#define ROWS 5

static void put_row(struct buf *b, const char *name, const struct mem_sum *sum, double whole)
{
	struct mem_amount a = mem_sum_amount(sum);
	mem_print(b, "  %-12s%11s  %24s  %6.1f %%\n", name, mem_bytes_text(a.bytes).text,
		  mem_interval_text(&a).text, mem_percent(a.bytes, whole));
}

static void put_totals(struct buf *b, const struct mem_view *v)
{
	static const char *const sources[] = {
#define EBT_ALLOC_SOURCE_DEF(value, CONSTANT, name) [value] = "  " #name,
#include <ebtrace/events.def>
	};
	const struct mem_model *m = v->model;
	const struct mem_timeline *t = m->timeline;
	struct mem_sum all = {0}, live = {0}, promoted = {0}, source[MEM_SOURCES] = {0};
	for (const struct mem_process *p = m->first; p; p = p->next)
		for (uint32_t row = 1; row <= p->rows; row++) {
			const struct mem_row *r = &p->row[row];
			for (unsigned i = 0; i < MEM_SOURCES; i++)
				mem_sum_add(&source[i], &p->scale, r->alloc[i].samples);
			mem_sum_add(&live, &p->scale, p->fate[row].live.samples);
			mem_sum_add(&promoted, &p->scale, p->fate[row].promoted.samples);
		}
	for (unsigned i = 0; i < MEM_SOURCES; i++)
		mem_sum_merge(&all, &source[i]);
	double whole = mem_sum_bytes(&all);
	buf_puts(b, "\n");
	put_row(b, "allocated", &all, whole);
	for (unsigned i = 0; i < MEM_SOURCES; i++)
		if (mem_sum_bytes(&source[i]) > 0)
			put_row(b, sources[i], &source[i], whole);
	put_row(b, "promoted", &promoted, whole);
	put_row(b, "alive", &live, whole);
	/* The timeline has the objects of all lifetimes. */
	if (m->opt.filter && m->opt.filter->by_lifetime)
		return;
	mem_print(b, "  %-12s%11s  at %s\n", "peak", mem_bytes_text(t->peak).text,
		  mem_ns_text((double)(t->peak_ns > t->begin_ns ? t->peak_ns - t->begin_ns : 0))
			  .text);
}

static int put_table(struct buf *b, const struct mem_view *v, const char *heading, mem_pick *pick)
{
	struct mem_sites t;
	int err = mem_sites_make(&t, v->model, pick);
	double whole = err ? 0 : mem_sum_bytes(&t.all.sum);
	uint32_t rows = v->opt.top ? v->opt.top : ROWS;
	mem_print(b, "\n%s\n", heading);
	if (!err && !t.all.count.objects)
		buf_puts(b, "  nothing\n");
	for (uint32_t i = 0; i < rows && i < t.functions && !err; i++) {
		const struct mem_function *f = &t.function[t.by_self[i]];
		double bytes = mem_sum_bytes(&f->self.sum);
		if (!f->self.count.objects)
			break;
		mem_print(b, "%11s  %6.1f %%  ", mem_bytes_text(bytes).text,
			  mem_percent(bytes, whole));
		mem_put_site(b, v->session, f);
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
	if (!err)
		err = put_table(b, v, "Alive at the end, allocated at:", mem_pick_live);
	if (!err)
		err = put_table(b, v, "Churn, collected again, allocated at:", mem_pick_collected);
	return err;
}
