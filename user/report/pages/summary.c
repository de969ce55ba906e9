/* SPDX-License-Identifier: BSD-2-Clause */
/* The summary: the main numbers of all reports of pages, on one screen. */
#include "base/plural.h"
#include "report/pages/format.h"
#include "report/pages/json.h"
#include "report/pages/model/heat.h"
#include "report/pages/model/matrix.h"
#include "report/pages/sections.h"

#include <inttypes.h>

/* What the summary computes when it is made. */
struct parts {
	struct pages_fragmentation fragmentation;
	struct pages_occupancy occupancy;
	struct pages_heat heat;
	struct pages_matrix matrix;
};

static int make(struct parts *p, const struct pages_model *m)
{
	pages_fragmentation_make(&p->fragmentation, &m->heap);
	int err = pages_occupancy_make(&p->occupancy, m, 1);
	if (!err)
		err = pages_heat_make(&p->heat, m, 1);
	return err ? err : pages_matrix_make(&p->matrix, &m->owners, PAGES_OWNERS_MAX);
}

static void done(struct parts *p)
{
	pages_occupancy_done(&p->occupancy);
	pages_heat_done(&p->heat);
	pages_matrix_done(&p->matrix);
}

/* The lifetimes of runs of all sizes that were freed whole. 0 or -ENOMEM. */
static int all_lifetimes(const struct pages_model *m, struct histogram *ret)
{
	int err = 0;
	for (unsigned i = 0; i < PAGES_SIZE_CLASSES && !err; i++)
		err = histogram_merge(ret, &m->lifetimes.size[i].ns);
	return err;
}

static int put_lifetimes(struct buf *b, const struct pages_model *m)
{
	struct histogram all = {0};
	uint64_t runs = 0;
	int err = all_lifetimes(m, &all);
	for (unsigned i = 0; i < PAGES_SIZE_CLASSES; i++)
		runs += m->lifetimes.size[i].runs;
	report_print(b, "Lifetimes: %" PRIu64 " run%s allocated, %" PRIu64 " freed", runs,
		     plural(runs), all.count);
	if (all.count) {
		buf_puts(b, " after: ");
		pages_put_percentiles(b, &all);
	}
	buf_puts(b, "\n");
	histogram_done(&all);
	return err;
}

static void put_heat(struct buf *b, const struct pages_heat *t)
{
	report_print(b, "Heat: a page was allocated %.1f times",
		     t->pages ? (double)t->allocations / (double)t->pages : 0);
	if (t->page.count)
		report_print(b, ", the hottest, 0x%" PRIx64 ", %" PRIu64 " time%s",
			     t->page.row[0].addr, t->page.row[0].value,
			     plural(t->page.row[0].value));
	buf_puts(b, "\n");
}

static int put_text(struct buf *b, const struct pages_view *v, const struct parts *p)
{
	const struct pages_model *m = v->model;
	pages_put_totals(b, m);
	buf_puts(b, "\n");
	pages_put_runs(b, m, &p->fragmentation.all, "Free or scavenged");
	buf_puts(b, "Huge pages: ");
	pages_put_units(b, m, &p->occupancy.huge);
	buf_puts(b, "Chunks: ");
	pages_put_units(b, m, &p->occupancy.chunk);
	pages_put_churn(b, m);
	put_heat(b, &p->heat);
	int err = put_lifetimes(b, m);
	pages_put_foreign(b, m, p->matrix.freed, p->matrix.foreign);
	buf_puts(b, "\n");
	pages_put_damage(b, v);
	return err;
}

int pages_summary_text(struct buf *b, const struct pages_view *v)
{
	struct parts p = {0};
	if (!pages_put_head(b, v))
		return 0;
	int err = make(&p, v->model);
	if (!err)
		err = put_text(b, v, &p);
	done(&p);
	return err;
}

static int put_json(struct json *j, const struct pages_model *m, const struct parts *p)
{
	struct histogram all = {0};
	int err = all_lifetimes(m, &all);
	json_key_open(j, "totals", '{');
	pages_json_totals(j, m);
	json_close(j, '}');
	pages_json_runs(j, "free_runs", &p->fragmentation.all);
	pages_json_units(j, "huge", &p->occupancy.huge);
	pages_json_units(j, "chunk", &p->occupancy.chunk);
	json_key_open(j, "churn", '{');
	pages_json_churn(j, m);
	json_close(j, '}');
	json_key_u64(j, "allocations_of_pages", p->heat.allocations);
	pages_json_times(j, "lifetime", &all);
	json_key_u64(j, "freed", p->matrix.freed);
	json_key_u64(j, "freed_by_another", p->matrix.foreign);
	json_key_open(j, "damage", '{');
	pages_json_faults(j, m);
	json_close(j, '}');
	pages_json_causes(j, m);
	histogram_done(&all);
	return err;
}

int pages_summary_json(struct buf *b, const struct pages_view *v)
{
	struct parts p = {0};
	struct json j;
	int err = make(&p, v->model);
	pages_json_begin(&j, b, v, "summary");
	if (!err)
		err = put_json(&j, v->model, &p);
	pages_json_end(&j);
	done(&p);
	return err;
}
