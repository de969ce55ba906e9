/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/top/json.h"

#include "base/json.h"
#include "report/budget.h"

#define TOP_SCHEMA 1

static void put_text(struct json *j, const char *key, const char *text)
{
	if (*text)
		json_key_str(j, key, text);
	else
		json_key_null(j, key);
}

static void put_figures(struct json *j, const struct top_figures *f)
{
	json_key_u64(j, "gc_ns", f->gc_ns);
	json_key_u64(j, "elapsed_ns", f->elapsed_ns);
	if (f->elapsed_ns)
		json_key_double(j, "gc_percent", top_figures_gc(f));
	else
		json_key_null(j, "gc_percent");
	json_key_u64(j, "pauses", f->pauses);
	json_key_known(j, "p99_ns", f->pauses, f->p99_ns);
	json_key_known(j, "max_ns", f->pauses, f->max_ns);
	if (f->has_alloc)
		json_key_double(j, "alloc_bytes_per_s", f->alloc_bytes);
	else
		json_key_null(j, "alloc_bytes_per_s");
	json_key_known(j, "heap_bytes", f->has_heap, f->heap_bytes);
	json_key_open(j, "lost", '{');
	json_key_known(j, "events", !f->lost_uncounted, f->lost_events);
	json_key_u64(j, "words", f->lost_words);
	json_close(j, '}');
}

static void put_row(struct json *j, const struct top_row *r, enum top_group group)
{
	json_open(j, '{');
	if (r->is_group) {
		json_key_str(j, top_group_names[group], r->name);
		json_key_u64(j, "processes", r->processes);
	} else {
		json_key_u64(j, "pid", r->pid);
		json_key_known(j, "parent", r->parent, r->parent);
		json_key_str(j, "program", r->name);
		put_text(j, "container", r->where.container);
		put_text(j, "unit", r->where.unit);
		json_key_bool(j, "ended", r->ended);
	}
	put_figures(j, &r->figures);
	json_close(j, '}');
}

void top_json(struct buf *b, const struct session *s, const struct top_rows *rows,
	      const struct top_order *order, uint64_t begin_ns, uint32_t most)
{
	struct json j = {.out = b};
	char origins[ORIGIN_TEXT_BYTES];
	json_open(&j, '{');
	json_key_str(&j, "kind", "top");
	json_key_u64(&j, "schema", TOP_SCHEMA);
	json_key_str(&j, "source", origin_text(s->origins, origins));
	json_key_str(&j, "clock", timebase_name(s->timebase.clock));
	json_key_u64(&j, "begin_ns", begin_ns);
	json_key_u64(&j, "at_ns", rows->at_ns);
	json_key_u64(&j, "running", rows->running);
	json_key_u64(&j, "ended", rows->ended);
	json_key_str(&j, "group", top_group_names[order->group]);
	json_key_str(&j, "sort", top_column_names[order->sort]);
	budget_json(&j, s);
	json_key_open(&j, "total", '{');
	put_figures(&j, &rows->total);
	json_close(&j, '}');
	json_key_open(&j, "rows", '[');
	for (uint32_t i = 0; i < rows->count && (!most || i < most); i++)
		put_row(&j, &rows->row[i], order->group);
	json_close(&j, ']');
	json_close(&j, '}');
	buf_puts(b, "\n");
}
