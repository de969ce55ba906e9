/* SPDX-License-Identifier: BSD-2-Clause */
/* The runs of free pages by size. */
#include "base/plural.h"
#include "report/pages/format.h"
#include "report/pages/json.h"
#include "report/pages/sections.h"

#include <inttypes.h>

void pages_put_runs(struct buf *b, const struct pages_model *m, const struct pages_runs *r,
		    const char *name)
{
	report_print(b, "%s: %" PRIu64 " page%s (%s) in %" PRIu64 " run%s", name, r->pages,
		     plural(r->pages), pages_bytes_text(m, r->pages).text, r->runs,
		     plural(r->runs));
	if (r->runs)
		report_print(b,
			     "; the largest has %" PRIu64 " (%s): %.1f %% of them are outside it",
			     r->largest, pages_bytes_text(m, r->largest).text,
			     100 * pages_fragmentation_share(r));
	buf_puts(b, "\n");
}

static void put_row(struct buf *b, const struct pages_fragmentation *f, unsigned i)
{
	const struct pages_run_class *all = &f->all.size[i];
	report_print(b, "%17s%10" PRIu64 "%12" PRIu64 "%10" PRIu64 "%14" PRIu64,
		     pages_class_text(i).text, all->runs, all->pages, f->free.size[i].runs,
		     f->scavenged.size[i].runs);
	pages_put_bar(b, (double)all->pages, (double)f->all.pages);
}

static bool has_class(const struct pages_fragmentation *f, unsigned i)
{
	return f->all.size[i].runs || f->free.size[i].runs || f->scavenged.size[i].runs;
}

int pages_fragmentation_text(struct buf *b, const struct pages_view *v)
{
	struct pages_fragmentation f;
	if (!pages_put_head(b, v))
		return 0;
	pages_fragmentation_make(&f, &v->model->heap);
	buf_puts(b, "\n");
	pages_put_runs(b, v->model, &f.all, "Free or scavenged");
	if (f.all.runs)
		report_print(b, "The largest run begins at 0x%" PRIx64 ".\n", f.all.largest_addr);
	pages_put_runs(b, v->model, &f.free, "Free");
	pages_put_runs(b, v->model, &f.scavenged, "Scavenged");
	report_print(b, "\n%17s%10s%12s%10s%14s\n", "pages of a run", "runs", "pages", "of free",
		     "of scavenged");
	for (unsigned i = 0; i < PAGES_SIZE_CLASSES; i++)
		if (has_class(&f, i))
			put_row(b, &f, i);
	return 0;
}

int pages_fragmentation_json(struct buf *b, const struct pages_view *v)
{
	struct pages_fragmentation f;
	struct json j;
	pages_fragmentation_make(&f, &v->model->heap);
	pages_json_begin(&j, b, v, "fragmentation");
	pages_json_runs(&j, "all", &f.all);
	pages_json_runs(&j, "free", &f.free);
	pages_json_runs(&j, "scavenged", &f.scavenged);
	pages_json_end(&j);
	return 0;
}
