/* SPDX-License-Identifier: BSD-2-Clause */
/* Pages that were returned to the system, and taken again. */
#include "base/plural.h"
#include "report/pages/format.h"
#include "report/pages/json.h"
#include "report/pages/sections.h"

#include <inttypes.h>

static struct report_text rate_text(const struct pages_model *m, uint64_t pages)
{
	double s = (double)pages_model_elapsed_ns(m) / 1e9;
	return report_bytes_text(s > 0 ? (double)pages * m->opt.page_bytes / s : 0);
}

void pages_put_churn(struct buf *b, const struct pages_model *m)
{
	const struct pages_churn *c = &m->churn;
	uint64_t again = c->again_ns.count;
	report_print(b,
		     "Returned to the system: %" PRIu64 " page%s (%s, %s/s) by %" PRIu64
		     " scavenge%s\n",
		     m->moved.returned, plural(m->moved.returned),
		     pages_bytes_text(m, m->moved.returned).text,
		     rate_text(m, m->moved.returned).text, c->scavenges, plural(c->scavenges));
	if (!again)
		return;
	report_print(
		b, "  of these taken again: %" PRIu64 " page%s (%s, %s/s), %.1f %%, after: ", again,
		plural(again), pages_bytes_text(m, again).text, rate_text(m, again).text,
		report_percent((double)again, (double)m->moved.returned));
	pages_put_percentiles(b, &c->again_ns);
	buf_puts(b, "\n");
}

int pages_churn_text(struct buf *b, const struct pages_view *v)
{
	const struct pages_model *m = v->model;
	const struct pages_churn *c = &m->churn;
	if (!pages_put_head(b, v))
		return 0;
	buf_puts(b, "\n");
	pages_put_churn(b, m);
	if (!c->again_ns.count)
		return 0;
	report_print(b, "\n%28s%12s\n", "taken again after", "pages");
	for (unsigned i = 0; i < PAGES_TIME_CLASSES; i++) {
		if (!c->again[i])
			continue;
		report_print(b, "%12s to %12s%12" PRIu64,
			     report_ns_text(i ? (double)(1ull << i) : 0).text,
			     report_ns_text(2 * (double)(1ull << i)).text, c->again[i]);
		pages_put_bar(b, (double)c->again[i], (double)c->again_ns.count);
	}
	return 0;
}

int pages_churn_json(struct buf *b, const struct pages_view *v)
{
	const struct pages_churn *c = &v->model->churn;
	struct json j;
	pages_json_begin(&j, b, v, "churn");
	pages_json_churn(&j, v->model);
	json_key_open(&j, "again", '[');
	for (unsigned i = 0; i < PAGES_TIME_CLASSES; i++) {
		if (!c->again[i])
			continue;
		json_open(&j, '{');
		json_key_u64(&j, "least_ns", i ? 1ull << i : 0);
		json_key_known(&j, "below_ns", i < 63, 2ull << (i & 63));
		json_key_u64(&j, "pages", c->again[i]);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	pages_json_end(&j);
	return 0;
}
