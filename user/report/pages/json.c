/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/pages/json.h"

#include <inttypes.h>
#include <stdio.h>

#define PAGES_SCHEMA 1

void pages_json_begin(struct json *j, struct buf *b, const struct pages_view *v, const char *report)
{
	const struct pages_model *m = v->model;
	struct totals t = session_run_totals(v->session);
	*j = (struct json){.out = b};
	json_open(j, '{');
	json_key_str(j, "kind", "pages");
	json_key_u64(j, "schema", PAGES_SCHEMA);
	json_key_str(j, "report", report);
	json_key_str(j, "of", m->opt.is_space ? "address_space" : "heap");
	json_key_u64(j, "page_bytes", m->opt.page_bytes);
	json_key_u64(j, "events", m->events);
	json_key_known(j, "start_ns", m->begun, m->first_ns);
	pages_json_time(j, "from_ns", m, m->from_ns);
	pages_json_time(j, "to_ns", m, m->end_ns);
	json_key_known(j, "lost_events", !t.lost_uncounted, t.lost_events);
	json_key_u64(j, "damaged", t.damaged);
	json_key_u64(j, "other_events", v->others);
}

/* Puts the pages by enum ebt_page_cause, without those of the program's own calls. */
static void put_causes(struct json *j, const char *key, const uint64_t pages[KINDS_PAGE_CAUSES])
{
	json_key_open(j, key, '{');
	for (unsigned i = EBT_PAGE_SNAPSHOT; i < KINDS_PAGE_CAUSES; i++)
		json_key_u64(j, kinds_page_cause_name(i), pages[i]);
	json_close(j, '}');
}

void pages_json_causes(struct json *j, const struct pages_model *m)
{
	put_causes(j, "appeared", m->causes.appeared);
	put_causes(j, "gone", m->causes.gone);
	json_key_u64(j, "found_late_ns", m->causes.late_ns);
}

void pages_json_end(struct json *j)
{
	json_close(j, '}');
	buf_puts(j->out, "\n");
}

void pages_json_state(struct json *j, const char *key, const uint64_t count[PAGES_COUNTS])
{
	json_key_open(j, key, '{');
	json_key_u64(j, "allocated", count[PAGES_ALLOCATED]);
	json_key_u64(j, "free", count[PAGES_FREE]);
	json_key_u64(j, "scavenged", count[PAGES_SCAVENGED]);
	json_key_u64(j, "unseen", count[PAGES_UNSEEN]);
	json_key_u64(j, "found_allocated", count[PAGES_FOUND_ALLOCATED]);
	json_key_u64(j, "found_free", count[PAGES_FOUND_FREE]);
	json_close(j, '}');
}

static void put_per_second(struct json *j, const char *key, const struct pages_model *m,
			   double amount)
{
	uint64_t ns = pages_model_elapsed_ns(m);
	if (ns)
		json_key_double(j, key, amount * 1e9 / (double)ns);
	else
		json_key_null(j, key);
}

void pages_json_totals(struct json *j, const struct pages_model *m)
{
	int64_t growth = pages_model_growth(m);
	json_key_u64(j, "chunks", m->heap.chunks);
	pages_json_state(j, "start", m->start);
	pages_json_state(j, "end", m->heap.count);
	json_key_u64(j, "peak_pages", m->peak);
	pages_json_time(j, "peak_ns", m, m->peak_ns);
	json_key_i64(j, "growth_pages", growth);
	put_per_second(j, "growth_pages_per_s", m, (double)growth);
	json_key_u64(j, "allocated_pages", m->moved.allocated);
	json_key_u64(j, "freed_pages", m->moved.freed);
	json_key_u64(j, "returned_pages", m->moved.returned);
}

void pages_json_churn(struct json *j, const struct pages_model *m)
{
	const struct pages_churn *c = &m->churn;
	json_key_u64(j, "scavenges", c->scavenges);
	json_key_u64(j, "returned_pages", m->moved.returned);
	put_per_second(j, "returned_bytes_per_s", m, (double)m->moved.returned * m->opt.page_bytes);
	json_key_u64(j, "again_pages", c->again_ns.count);
	put_per_second(j, "again_bytes_per_s", m, (double)c->again_ns.count * m->opt.page_bytes);
	pages_json_times(j, "again_after", &c->again_ns);
}

void pages_json_faults(struct json *j, const struct pages_model *m)
{
	const struct pages_damage *d = &m->damage;
	json_key_u64(j, "double_allocs", d->fault[PAGES_DOUBLE_ALLOC]);
	json_key_u64(j, "double_frees", d->fault[PAGES_DOUBLE_FREE]);
	json_key_u64(j, "scavenged_allocated", d->fault[PAGES_SCAVENGED_ALLOCATED]);
	json_key_u64(j, "scavenged_unseen_pages", d->fault[PAGES_SCAVENGED_UNSEEN]);
	json_key_u64(j, "untracked", d->fault[PAGES_UNTRACKED]);
	json_key_bool(j, "has_boot", pages_model_has_boot(m));
	json_key_u64(j, "late", d->late);
	json_key_u64(j, "late_boot", d->late_boot);
}

void pages_json_runs(struct json *j, const char *key, const struct pages_runs *r)
{
	json_key_open(j, key, '{');
	json_key_u64(j, "runs", r->runs);
	json_key_u64(j, "pages", r->pages);
	json_key_u64(j, "largest", r->largest);
	if (r->largest)
		pages_json_addr(j, "largest_addr", r->largest_addr);
	else
		json_key_null(j, "largest_addr");
	json_key_double(j, "fragmentation", pages_fragmentation_share(r));
	json_key_open(j, "sizes", '[');
	for (unsigned i = 0; i < PAGES_SIZE_CLASSES; i++) {
		if (!r->size[i].runs)
			continue;
		json_open(j, '{');
		pages_json_class(j, i);
		json_key_u64(j, "runs", r->size[i].runs);
		json_key_u64(j, "pages", r->size[i].pages);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
}

void pages_json_units(struct json *j, const char *key, const struct pages_units *u)
{
	json_key_open(j, key, '{');
	json_key_u64(j, "unit_bytes", u->bytes);
	json_key_u64(j, "unit_pages", u->pages);
	json_key_u64(j, "units", u->units);
	json_key_u64(j, "empty", u->empty);
	json_key_open(j, "tenths", '[');
	for (unsigned i = 0; i < PAGES_SHARES; i++)
		json_u64(j, u->share[i]);
	json_close(j, ']');
	json_key_u64(j, "full", u->full);
	json_key_u64(j, "whole", u->whole);
	json_key_u64(j, "mixed", u->mixed);
	json_key_u64(j, "returned", u->returned);
	json_key_u64(j, "few", u->few);
	json_key_u64(j, "kept", u->kept);
	json_key_u64(j, "kept_allocated", u->kept_allocated);
	json_key_u64(j, "kept_free", u->kept_free);
	json_key_u64(j, "kept_scavenged", u->kept_scavenged);
	json_close(j, '}');
}

void pages_json_times(struct json *j, const char *key, const struct histogram *h)
{
	bool known = h->count;
	json_key_open(j, key, '{');
	json_key_known(j, "min_ns", known, h->min);
	json_key_known(j, "p50_ns", known, histogram_at(h, HISTOGRAM_WHOLE / 2));
	json_key_known(j, "p90_ns", known, histogram_at(h, HISTOGRAM_WHOLE / 10 * 9));
	json_key_known(j, "p99_ns", known, histogram_at(h, HISTOGRAM_WHOLE / 100 * 99));
	json_key_known(j, "max_ns", known, h->max);
	if (known)
		json_key_double(j, "mean_ns", histogram_mean(h));
	else
		json_key_null(j, "mean_ns");
	json_close(j, '}');
}

void pages_json_class(struct json *j, unsigned size_class)
{
	json_key_u64(j, "least", pages_size_least(size_class));
	json_key_u64(j, "most", pages_size_most(size_class));
}

void pages_json_addr(struct json *j, const char *key, uint64_t addr)
{
	char text[24];
	snprintf(text, sizeof(text), "0x%" PRIx64, addr);
	json_key_str(j, key, text);
}

void pages_json_owner(struct json *j, const char *key, const struct pages_model *m, uint32_t slot)
{
	if (slot)
		json_key_i64(j, key, m->owners.owner[slot].p);
	else
		json_key_null(j, key);
}

void pages_json_time(struct json *j, const char *key, const struct pages_model *m, uint64_t ns)
{
	json_key_known(j, key, m->begun, pages_model_since(m, ns));
}
