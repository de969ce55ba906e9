/* SPDX-License-Identifier: BSD-2-Clause */
/* How often pages were allocated. */
#include "report/pages/model/heat.h"
#include "base/plural.h"
#include "report/pages/format.h"
#include "report/pages/json.h"

#include <inttypes.h>

static void put_times(struct buf *b, const struct pages_heat *t)
{
	report_print(b, "\n%17s%12s%14s\n", "times allocated", "pages", "allocations");
	if (t->cold) {
		report_print(b, "%17s%12" PRIu64 "%14d", "never", t->cold, 0);
		pages_put_bar(b, (double)t->cold, (double)t->pages);
	}
	for (unsigned i = 0; i < PAGES_SIZE_CLASSES; i++) {
		const struct pages_heat_class *c = &t->times[i];
		if (!c->pages)
			continue;
		report_print(b, "%17s%12" PRIu64 "%14" PRIu64, pages_class_text(i).text, c->pages,
			     c->allocations);
		pages_put_bar(b, (double)c->pages, (double)t->pages);
	}
}

int pages_heat_text(struct buf *b, const struct pages_view *v)
{
	const struct pages_model *m = v->model;
	struct pages_heat t;
	if (!pages_put_head(b, v))
		return 0;
	int err = pages_heat_make(&t, m, v->top);
	report_print(b, "\n%" PRIu64 " page%s allocated %" PRIu64 " time%s: %.1f times each\n",
		     t.pages, plural_of(t.pages, " was", "s were"), t.allocations,
		     plural(t.allocations), t.pages ? (double)t.allocations / (double)t.pages : 0);
	put_times(b, &t);
	buf_puts(b, "\nThe pages with the most allocations:\n");
	for (uint32_t i = 0; i < t.page.count; i++) {
		struct pages_page p = pages_heat_page(m, t.page.row[i].addr);
		report_print(b, "  0x%-14" PRIx64 "%12" PRIu64 "  %s, by %s last\n",
			     t.page.row[i].addr, t.page.row[i].value, pages_state_text(p.state),
			     pages_owner_text(m, p.owner).text);
	}
	buf_puts(b, "\nThe huge pages of 2 MiB with the most, of all their pages:\n");
	for (uint32_t i = 0; i < t.huge.count; i++)
		report_print(b, "  0x%-14" PRIx64 "%12" PRIu64 "  %5.1f %%\n", t.huge.row[i].addr,
			     t.huge.row[i].value,
			     report_percent((double)t.huge.row[i].value, (double)t.allocations));
	pages_heat_done(&t);
	return err;
}

static void put_hottest(struct json *j, const struct pages_model *m, const struct pages_heat *t)
{
	json_key_open(j, "hottest_pages", '[');
	for (uint32_t i = 0; i < t->page.count; i++) {
		struct pages_page p = pages_heat_page(m, t->page.row[i].addr);
		json_open(j, '{');
		pages_json_addr(j, "addr", t->page.row[i].addr);
		json_key_u64(j, "allocations", t->page.row[i].value);
		json_key_str(j, "state", pages_state_text(p.state));
		pages_json_owner(j, "p", m, p.owner);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_key_open(j, "hottest_huge_pages", '[');
	for (uint32_t i = 0; i < t->huge.count; i++) {
		json_open(j, '{');
		pages_json_addr(j, "addr", t->huge.row[i].addr);
		json_key_u64(j, "allocations", t->huge.row[i].value);
		json_close(j, '}');
	}
	json_close(j, ']');
}

int pages_heat_json(struct buf *b, const struct pages_view *v)
{
	struct pages_heat t;
	struct json j;
	int err = pages_heat_make(&t, v->model, v->top);
	pages_json_begin(&j, b, v, "heat");
	json_key_u64(&j, "pages", t.pages);
	json_key_u64(&j, "allocations", t.allocations);
	json_key_u64(&j, "never", t.cold);
	json_key_open(&j, "times", '[');
	for (unsigned i = 0; i < PAGES_SIZE_CLASSES; i++) {
		if (!t.times[i].pages)
			continue;
		json_open(&j, '{');
		pages_json_class(&j, i);
		json_key_u64(&j, "pages", t.times[i].pages);
		json_key_u64(&j, "allocations", t.times[i].allocations);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	put_hottest(&j, v->model, &t);
	pages_json_end(&j);
	pages_heat_done(&t);
	return err;
}
