/* SPDX-License-Identifier: BSD-2-Clause */
/* The Ps that freed pages, by the P that had allocated them. */
#include "base/plural.h"
#include "report/pages/format.h"
#include "report/pages/json.h"
#include "report/pages/model/matrix.h"
#include "report/pages/sections.h"

#include <inttypes.h>
#include <stdio.h>

void pages_put_foreign(struct buf *b, const struct pages_model *m, uint64_t freed, uint64_t foreign)
{
	report_print(b,
		     "%s: %" PRIu64 " page%s, %" PRIu64
		     " of them (%.1f %%) by another %s than allocated them\n",
		     m->opt.is_space ? "Freed or scavenged" : "Freed", freed, plural(freed),
		     foreign, report_percent((double)foreign, (double)freed),
		     m->opt.is_space ? "thread, or the kernel," : "P");
}

static struct report_text row_text(const struct pages_matrix *t, const struct pages_model *m,
				   uint32_t i)
{
	struct report_text text;
	if (t->owner[i].used)
		text = pages_p_text(m, t->owner[i].p);
	else
		snprintf(text.text, sizeof(text.text), "%" PRIu32 " others", t->others);
	return text;
}

static void put_matrix(struct buf *b, const struct pages_matrix *t, const struct pages_model *m)
{
	report_print(b, "\n%-12s", "Pages of");
	for (uint32_t by = 0; by < t->ps; by++)
		report_print(b, "%12s", row_text(t, m, by).text);
	buf_puts(b, "  freed it\n");
	for (uint32_t of = 0; of < t->ps; of++) {
		report_print(b, "%-12s", row_text(t, m, of).text);
		for (uint32_t by = 0; by < t->ps; by++)
			report_print(b, "%12" PRIu64, pages_matrix_at(t, of, by));
		buf_puts(b, "\n");
	}
}

int pages_owners_text(struct buf *b, const struct pages_view *v)
{
	struct pages_matrix t;
	if (!pages_put_head(b, v))
		return 0;
	int err = pages_matrix_make(&t, &v->model->owners, v->top);
	buf_puts(b, "\n");
	pages_put_foreign(b, v->model, t.freed, t.foreign);
	report_print(b, "\n%-12s%12s%12s%12s%12s\n", "Pages", "events", "allocated", "freed",
		     "scavenged");
	for (uint32_t i = 0; !err && i < t.ps; i++)
		report_print(b, "%-12s%12" PRIu64 "%12" PRIu64 "%12" PRIu64 "%12" PRIu64 "\n",
			     row_text(&t, v->model, i).text, t.owner[i].events,
			     t.owner[i].allocated, t.owner[i].freed, t.owner[i].scavenged);
	if (!err)
		put_matrix(b, &t, v->model);
	pages_matrix_done(&t);
	return err;
}

static void put_p(struct json *j, const char *key, const struct pages_matrix *t, uint32_t i)
{
	if (t->owner[i].used)
		json_key_i64(j, key, t->owner[i].p);
	else
		json_key_null(j, key);
}

int pages_owners_json(struct buf *b, const struct pages_view *v)
{
	struct pages_matrix t;
	struct json j;
	int err = pages_matrix_make(&t, &v->model->owners, v->has_top ? v->top : UINT32_MAX);
	uint32_t ps = err ? 0 : t.ps;
	pages_json_begin(&j, b, v, "owners");
	json_key_u64(&j, "freed", t.freed);
	json_key_u64(&j, "freed_by_another", t.foreign);
	json_key_u64(&j, "others", t.others);
	json_key_open(&j, "ps", '[');
	for (uint32_t i = 0; i < ps; i++) {
		json_open(&j, '{');
		put_p(&j, "p", &t, i);
		json_key_u64(&j, "events", t.owner[i].events);
		json_key_u64(&j, "allocated", t.owner[i].allocated);
		json_key_u64(&j, "freed", t.owner[i].freed);
		json_key_u64(&j, "scavenged", t.owner[i].scavenged);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_key_open(&j, "matrix", '[');
	for (uint32_t i = 0; i < ps * ps; i++) {
		if (!t.pages[i])
			continue;
		json_open(&j, '{');
		put_p(&j, "allocated_by", &t, i / ps);
		put_p(&j, "freed_by", &t, i % ps);
		json_key_u64(&j, "pages", t.pages[i]);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	pages_json_end(&j);
	pages_matrix_done(&t);
	return err;
}
