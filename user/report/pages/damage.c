/* SPDX-License-Identifier: BSD-2-Clause */
/* What is missing or contradicts itself. */
#include "base/plural.h"
#include "report/pages/format.h"
#include "report/pages/json.h"
#include "report/pages/sections.h"

#include <inttypes.h>

static const struct {
	const char *key, *text;
} faults[PAGES_FAULTS] = {
	[PAGES_DOUBLE_ALLOC] = {"double_alloc", "allocations of allocated pages"},
	[PAGES_DOUBLE_FREE] = {"double_free", "frees of pages that are not allocated"},
	[PAGES_SCAVENGED_ALLOCATED] = {"scavenged_allocated", "scavenges of allocated pages"},
	[PAGES_SCAVENGED_UNSEEN] = {"scavenged_unseen", "pages scavenged that no event was about"},
	[PAGES_UNTRACKED] = {"untracked", "events of pages beyond any heap, left out"},
};

static bool is_whole(const struct pages_model *m)
{
	const struct pages_damage *d = &m->damage;
	return !pages_damage_violations(d) && !d->fault[PAGES_SCAVENGED_UNSEEN] &&
	       !d->fault[PAGES_UNTRACKED] && !d->damages && !d->late && !m->trace.backwards &&
	       pages_model_has_boot(m);
}

void pages_put_damage(struct buf *b, const struct pages_view *v)
{
	const struct pages_model *m = v->model;
	const struct pages_damage *d = &m->damage;
	if (is_whole(m)) {
		buf_puts(b, "No violation and no damage: the trace is complete.\n");
		return;
	}
	for (unsigned i = 0; i < PAGES_FAULTS; i++)
		if (d->fault[i])
			report_print(b, "%10" PRIu64 "  %s\n", d->fault[i], faults[i].text);
	if (d->damages)
		report_print(b, "%10" PRIu64 "  damaged place%s, %" PRIu64 " byte%s skipped\n",
			     d->damages, plural(d->damages), d->damaged_bytes,
			     plural(d->damaged_bytes));
	if (m->trace.backwards)
		report_print(b, "%10" PRIu64 "  block%s back in the time of %s P\n",
			     m->trace.backwards,
			     plural_of(m->trace.backwards, " that goes", "s that go"),
			     plural_of(m->trace.backwards, "its", "their"));
	if (d->late)
		report_print(b, "%10" PRIu64 "  event%s that came after later ones\n", d->late,
			     plural(d->late));
	if (!pages_model_has_boot(m))
		buf_puts(b, "   missing  the block of P -1, which is written last: the program did "
			    "not end by itself, or ran on\n");
}

static void put_fault(struct buf *b, const struct pages_model *m, const struct pages_fault *f)
{
	const struct ebt_pagetrace_event *e = &f->event;
	report_print(b, "  %12s  %-6s0x%-14" PRIx64 "%8" PRIu64 " page%s, %" PRIu64,
		     pages_time_text(m, e->time_ns).text, pages_p_text(m, e->p).text, e->addr,
		     e->pages, plural(e->pages), f->pages);
	report_print(b, " of them: %s\n", faults[f->kind].text);
}

int pages_damage_text(struct buf *b, const struct pages_view *v)
{
	const struct pages_model *m = v->model;
	const struct pages_damage *d = &m->damage;
	if (!pages_put_head(b, v))
		return 0;
	buf_puts(b, "\n");
	pages_put_damage(b, v);
	uint32_t rows = d->damages < PAGES_FIRST_FAULTS ? (uint32_t)d->damages : PAGES_FIRST_FAULTS;
	if (rows)
		buf_puts(b, "\nThe first damaged places:\n");
	for (uint32_t i = 0; i < rows; i++)
		report_print(b, "  byte %" PRIu64 ": %" PRIu64 " byte%s, P %" PRId32 ", at %s\n",
			     d->damage[i].addr, d->damage[i].pages, plural(d->damage[i].pages),
			     d->damage[i].p, pages_time_text(m, d->damage[i].time_ns).text);
	if (d->firsts)
		buf_puts(b, "\nThe first violations:\n");
	for (uint32_t i = 0; i < d->firsts; i++)
		put_fault(b, m, &d->first[i]);
	return 0;
}

static void put_places(struct json *j, const struct pages_model *m)
{
	const struct pages_damage *d = &m->damage;
	json_key_open(j, "first_damages", '[');
	for (uint32_t i = 0; i < d->damages && i < PAGES_FIRST_FAULTS; i++) {
		json_open(j, '{');
		json_key_u64(j, "offset", d->damage[i].addr);
		json_key_u64(j, "bytes", d->damage[i].pages);
		json_key_i64(j, "p", d->damage[i].p);
		pages_json_time(j, "ns", m, d->damage[i].time_ns);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_key_open(j, "first_faults", '[');
	for (uint32_t i = 0; i < d->firsts; i++) {
		const struct pages_fault *f = &d->first[i];
		json_open(j, '{');
		json_key_str(j, "fault", faults[f->kind].key);
		pages_json_time(j, "ns", m, f->event.time_ns);
		json_key_i64(j, "p", f->event.p);
		pages_json_addr(j, "addr", f->event.addr);
		json_key_u64(j, "pages", f->event.pages);
		json_key_u64(j, "faulty_pages", f->pages);
		json_close(j, '}');
	}
	json_close(j, ']');
}

int pages_damage_json(struct buf *b, const struct pages_view *v)
{
	const struct pages_model *m = v->model;
	const struct pages_trace *t = &m->trace;
	struct json j;
	pages_json_begin(&j, b, v, "damage");
	pages_json_faults(&j, m);
	pages_json_causes(&j, m);
	json_key_known(&j, "bytes", t->known, t->bytes);
	json_key_known(&j, "blocks", t->known, t->blocks);
	json_key_known(&j, "backwards", t->known, t->backwards);
	json_key_known(&j, "damages", t->known, m->damage.damages);
	json_key_known(&j, "damaged_bytes", t->known, m->damage.damaged_bytes);
	put_places(&j, m);
	pages_json_end(&j);
	return 0;
}
