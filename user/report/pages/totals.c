/* SPDX-License-Identifier: BSD-2-Clause */
/* Pages by state, at the end and over time. */
#include "base/plural.h"
#include "report/pages/format.h"
#include "report/pages/json.h"
#include "report/pages/sections.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 20
#define BAR  40

static void put_row(struct buf *b, const struct pages_model *m, const char *name, uint64_t pages,
		    uint64_t whole)
{
	report_print(b, "  %-11s%12" PRIu64 "  %11s  %5.1f %%\n", name, pages,
		     pages_bytes_text(m, pages).text, report_percent((double)pages, (double)whole));
}

void pages_put_totals(struct buf *b, const struct pages_model *m)
{
	const uint64_t *n = m->heap.count;
	uint64_t whole = m->heap.chunks * m->heap.chunk_pages;
	int64_t growth = pages_model_growth(m);
	uint64_t ns = pages_model_elapsed_ns(m);
	report_print(b, "\n  %-11s%12s  %11s  of %" PRIu64 " chunk%s of 4 MiB\n", "", "pages",
		     "bytes", m->heap.chunks, plural(m->heap.chunks));
	put_row(b, m, "allocated", n[PAGES_ALLOCATED], whole);
	put_row(b, m, "free", n[PAGES_FREE], whole);
	put_row(b, m, "scavenged", n[PAGES_SCAVENGED], whole);
	put_row(b, m, "never seen", n[PAGES_UNSEEN], whole);
	report_print(b, "  %-11s%12" PRIu64 "  %11s  at %s\n", "peak", m->peak,
		     pages_bytes_text(m, m->peak).text, pages_time_text(m, m->peak_ns).text);
	struct report_text bytes;
	snprintf(bytes.text, sizeof(bytes.text), "%c%.40s", growth < 0 ? '-' : '+',
		 pages_bytes_text(m, (uint64_t)llabs(growth)).text);
	report_print(b, "  %-11s%+12" PRId64 "  %11s", "growth", growth, bytes.text);
	if (ns)
		report_print(b, "  %+.0f pages/s", (double)growth * 1e9 / (double)ns);
	buf_puts(b, "\n");
}

static uint64_t sum(const struct pages_point *p)
{
	return p->count[PAGES_ALLOCATED] + p->count[PAGES_FREE] + p->count[PAGES_SCAVENGED];
}

/* "####ooo++++...." */
static void put_states(struct buf *b, const struct pages_model *m, const struct pages_point *p,
		       uint64_t whole)
{
	const struct pages_map_shade *s;
	unsigned shades = pages_map_shades(m, &s);
	char bar[BAR + 1];
	uint64_t until = 0;
	unsigned at = 0;
	for (unsigned i = 0; i < shades; i++) {
		until += pages_shade_count(p->count, s[i].shade);
		unsigned end = whole ? (unsigned)((double)until * BAR / (double)whole + 0.5) : 0;
		for (; at < end && at < BAR; at++)
			bar[at] = s[i].mark;
	}
	bar[at] = 0;
	report_print(b, "%s%s\n", at ? "  " : "", bar);
}

static void put_timeline(struct buf *b, const struct pages_model *m, uint32_t rows)
{
	const struct pages_timeline *t = m->timeline;
	uint32_t step = (t->count + rows - 1) / rows;
	uint64_t whole = 0;
	for (uint32_t i = 0; i < t->count; i++)
		whole = sum(&t->point[i]) > whole ? sum(&t->point[i]) : whole;
	bool found = m->opt.is_space;
	buf_puts(b, "\nOver time (");
	pages_put_marks(b, m);
	report_print(b, "; most: allocated at once%s):\n%12s%11s%s%11s%11s%11s\n",
		     found ? "; found: of the allocated ones" : "", "until", "allocated",
		     found ? "      found" : "", "most", "free", "scavenged");
	for (uint32_t i = 0; i < t->count; i += step) {
		uint32_t last = i + step < t->count ? i + step - 1 : t->count - 1;
		const struct pages_point *p = &t->point[last];
		uint64_t end = t->begin_ns + (last + 1) * t->width_ns, most = 0;
		for (uint32_t k = i; k <= last; k++)
			most = t->point[k].most > most ? t->point[k].most : most;
		report_print(b, "%12s%11" PRIu64,
			     pages_time_text(m, end < m->end_ns ? end : m->end_ns).text,
			     p->count[PAGES_ALLOCATED]);
		if (found)
			report_print(b, "%11" PRIu64, p->count[PAGES_FOUND_ALLOCATED]);
		report_print(b, "%11" PRIu64 "%11" PRIu64 "%11" PRIu64, most, p->count[PAGES_FREE],
			     p->count[PAGES_SCAVENGED]);
		put_states(b, m, p, whole);
	}
}

int pages_totals_text(struct buf *b, const struct pages_view *v)
{
	if (!pages_put_head(b, v))
		return 0;
	pages_put_totals(b, v->model);
	put_timeline(b, v->model, v->has_top ? v->top : ROWS);
	return 0;
}

static void put_timeline_json(struct json *j, const struct pages_model *m)
{
	const struct pages_timeline *t = m->timeline;
	struct pages_moved before = {0};
	json_key_known(j, "width_ns", t->count, t->width_ns);
	json_key_open(j, "timeline", '[');
	for (uint32_t i = 0; i < t->count; i++) {
		const struct pages_point *p = &t->point[i];
		json_open(j, '{');
		pages_json_time(j, "begin_ns", m, t->begin_ns + i * t->width_ns);
		pages_json_state(j, "end", p->count);
		json_key_u64(j, "most", p->most);
		json_key_u64(j, "allocated_pages", p->moved.allocated - before.allocated);
		json_key_u64(j, "freed_pages", p->moved.freed - before.freed);
		json_key_u64(j, "returned_pages", p->moved.returned - before.returned);
		json_close(j, '}');
		before = p->moved;
	}
	json_close(j, ']');
}

int pages_totals_json(struct buf *b, const struct pages_view *v)
{
	struct json j;
	pages_json_begin(&j, b, v, "totals");
	pages_json_totals(&j, v->model);
	put_timeline_json(&j, v->model);
	pages_json_end(&j);
	return 0;
}
