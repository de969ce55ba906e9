/* SPDX-License-Identifier: BSD-2-Clause */
/* How full huge pages and chunks are, and what keeps them. */
#include "base/plural.h"
#include "report/pages/format.h"
#include "report/pages/json.h"
#include "report/pages/sections.h"

#include <inttypes.h>
#include <stdio.h>

void pages_put_units(struct buf *b, const struct pages_model *m, const struct pages_units *u)
{
	uint64_t partly = u->units - u->empty - u->full;
	report_print(b,
		     "%" PRIu64 " of %s: %" PRIu64 " full, %" PRIu64 " partly allocated, %" PRIu64
		     " empty; %" PRIu64 " wholly in memory, %" PRIu64 " in part, %" PRIu64
		     " returned\n",
		     u->units, report_bytes_text(u->bytes).text, u->full, partly, u->empty,
		     u->whole, u->mixed, u->returned);
	if (!u->kept)
		return;
	report_print(b,
		     "  %" PRIu64 " of the %" PRIu64 " with allocated pages are kept by %" PRIu32
		     " of them or fewer: %" PRIu64 " page%s",
		     u->kept, u->units - u->empty, u->few, u->kept_allocated,
		     plural(u->kept_allocated));
	report_print(b, " (%s) keep %s free and %s scavenged\n",
		     pages_bytes_text(m, u->kept_allocated).text,
		     pages_bytes_text(m, u->kept_free).text,
		     pages_bytes_text(m, u->kept_scavenged).text);
}

static void put_shares(struct buf *b, const struct pages_occupancy *o)
{
	const struct pages_units *h = &o->huge, *c = &o->chunk;
	report_print(b, "\n%17s%14s%12s\n", "allocated", "of 2 MiB", "of 4 MiB");
	report_print(b, "%17s%14" PRIu64 "%12" PRIu64, "nothing", h->empty, c->empty);
	pages_put_bar(b, (double)h->empty, (double)h->units);
	for (unsigned i = 0; i < PAGES_SHARES; i++) {
		char name[32];
		snprintf(name, sizeof(name), "to %u %%", (i + 1) * (100 / PAGES_SHARES));
		report_print(b, "%17s%14" PRIu64 "%12" PRIu64,
			     i + 1 < PAGES_SHARES ? name : "below 100 %", h->share[i], c->share[i]);
		pages_put_bar(b, (double)h->share[i], (double)h->units);
	}
	report_print(b, "%17s%14" PRIu64 "%12" PRIu64, "all", h->full, c->full);
	pages_put_bar(b, (double)h->full, (double)h->units);
}

static void put_kept(struct buf *b, const struct pages_model *m, const struct pages_kept *k)
{
	report_print(b, "  0x%-14" PRIx64 "%10" PRIu32 "%7" PRIu32 "%11" PRIu32 "  ", k->addr,
		     k->count[PAGES_ALLOCATED], k->count[PAGES_FREE], k->count[PAGES_SCAVENGED]);
	for (uint32_t i = 0; i < k->holders; i++) {
		const struct pages_holder *h = &k->holder[i];
		report_print(b, "%s%s: %" PRIu64 " at %s", i ? "; " : "",
			     pages_owner_text(m, h->owner).text, h->pages,
			     pages_time_text(m, h->first_ns).text);
		if (h->last_ns > h->first_ns)
			report_print(b, " to %s", pages_time_text(m, h->last_ns).text);
	}
	if (k->more_holders)
		report_print(b, "; %" PRIu32 " more", k->more_holders);
	buf_puts(b, "\n");
}

int pages_occupancy_text(struct buf *b, const struct pages_view *v)
{
	const struct pages_model *m = v->model;
	struct pages_occupancy o;
	if (!pages_put_head(b, v))
		return 0;
	int err = pages_occupancy_make(&o, m, v->top);
	buf_puts(b, "\n");
	pages_put_units(b, m, &o.huge);
	pages_put_units(b, m, &o.chunk);
	put_shares(b, &o);
	if (o.kept_rows)
		report_print(b,
			     "\nHuge pages that few allocated pages keep, those with the most free "
			     "ones first:\n  %-16s%10s%7s%11s  %s\n",
			     "address", "allocated", "free", "scavenged", "allocated by, and when");
	for (uint32_t i = 0; i < o.kept_rows; i++)
		put_kept(b, m, &o.kept[i]);
	if (o.kept_rows < o.huge.kept)
		report_print(b, "%" PRIu64 " more\n", o.huge.kept - o.kept_rows);
	pages_occupancy_done(&o);
	return err;
}

static void put_kept_json(struct json *j, const struct pages_model *m, const struct pages_kept *k)
{
	json_open(j, '{');
	pages_json_addr(j, "addr", k->addr);
	json_key_u64(j, "allocated", k->count[PAGES_ALLOCATED]);
	json_key_u64(j, "free", k->count[PAGES_FREE]);
	json_key_u64(j, "scavenged", k->count[PAGES_SCAVENGED]);
	json_key_u64(j, "unseen", k->count[PAGES_UNSEEN]);
	json_key_open(j, "holders", '[');
	for (uint32_t i = 0; i < k->holders; i++) {
		const struct pages_holder *h = &k->holder[i];
		json_open(j, '{');
		pages_json_owner(j, "p", m, h->owner);
		json_key_u64(j, "pages", h->pages);
		pages_json_time(j, "first_ns", m, h->first_ns);
		pages_json_time(j, "last_ns", m, h->last_ns);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_key_u64(j, "more_holders", k->more_holders);
	json_close(j, '}');
}

int pages_occupancy_json(struct buf *b, const struct pages_view *v)
{
	struct pages_occupancy o;
	struct json j;
	int err = pages_occupancy_make(&o, v->model, v->has_top ? v->top : UINT32_MAX);
	pages_json_begin(&j, b, v, "occupancy");
	pages_json_units(&j, "huge", &o.huge);
	pages_json_units(&j, "chunk", &o.chunk);
	json_key_open(&j, "kept_by_few", '[');
	for (uint32_t i = 0; i < o.kept_rows; i++)
		put_kept_json(&j, v->model, &o.kept[i]);
	json_close(&j, ']');
	pages_json_end(&j);
	pages_occupancy_done(&o);
	return err;
}
