/* SPDX-License-Identifier: BSD-2-Clause */
/* How long runs of pages live, by their size. */
#include "base/plural.h"
#include "report/pages/format.h"
#include "report/pages/json.h"
#include "report/pages/model/alive.h"

#include <inttypes.h>

static struct report_text time_at(const struct histogram *h, uint32_t percent)
{
	struct report_text none = {"-"};
	if (!h->count)
		return none;
	return report_ns_text((double)histogram_at(h, HISTOGRAM_WHOLE / 100 * percent));
}

static bool has_class(const struct pages_model *m, const struct pages_alive *a, unsigned i)
{
	return m->lifetimes.size[i].runs || m->lifetimes.size[i].ns.count || a->size[i].runs;
}

int pages_lifetimes_text(struct buf *b, const struct pages_view *v)
{
	const struct pages_model *m = v->model;
	const struct pages_lifetimes *l = &m->lifetimes;
	struct pages_alive a;
	if (!pages_put_head(b, v))
		return 0;
	pages_alive_make(&a, &m->heap);
	report_print(b, "\n%17s%10s%10s%10s  %12s%12s%12s\n", "pages of a run", "allocated",
		     "freed", "alive", "median", "90 %", "longest");
	for (unsigned i = 0; i < PAGES_SIZE_CLASSES; i++) {
		const struct pages_size_class *s = &l->size[i];
		if (!has_class(m, &a, i))
			continue;
		report_print(b, "%17s%10" PRIu64 "%10" PRIu64 "%10" PRIu64 "  %12s%12s%12s\n",
			     pages_class_text(i).text, s->runs, s->ns.count, a.size[i].runs,
			     time_at(&s->ns, 50).text, time_at(&s->ns, 90).text,
			     time_at(&s->ns, 100).text);
	}
	if (l->partial || a.rest)
		report_print(b,
			     "%" PRIu64 " free%s of a part of a run; %" PRIu64
			     " page%s of such runs %s allocated\n",
			     l->partial, plural_of(l->partial, " was", "s were"), a.rest,
			     plural(a.rest), plural_of(a.rest, "is", "are"));
	if (l->joined)
		report_print(b, "%" PRIu64 " free%s of several runs at once\n", l->joined,
			     plural_of(l->joined, " was", "s were"));
	return 0;
}

int pages_lifetimes_json(struct buf *b, const struct pages_view *v)
{
	const struct pages_model *m = v->model;
	struct pages_alive a;
	struct json j;
	pages_alive_make(&a, &m->heap);
	pages_json_begin(&j, b, v, "lifetimes");
	json_key_u64(&j, "partial_frees", m->lifetimes.partial);
	json_key_u64(&j, "joined_frees", m->lifetimes.joined);
	json_key_u64(&j, "rest_pages", a.rest);
	json_key_open(&j, "sizes", '[');
	for (unsigned i = 0; i < PAGES_SIZE_CLASSES; i++) {
		const struct pages_size_class *s = &m->lifetimes.size[i];
		if (!has_class(m, &a, i))
			continue;
		json_open(&j, '{');
		pages_json_class(&j, i);
		json_key_u64(&j, "runs", s->runs);
		json_key_u64(&j, "pages", s->pages);
		json_key_u64(&j, "freed_runs", s->ns.count);
		json_key_u64(&j, "alive_runs", a.size[i].runs);
		json_key_u64(&j, "alive_pages", a.size[i].pages);
		pages_json_times(&j, "lifetime", &s->ns);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	pages_json_end(&j);
	return 0;
}
