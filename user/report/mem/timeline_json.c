/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/json.h"
#include "report/mem/timeline.h"
#include "report/mem/timeline_bands.h"

static void put_points(struct json *j, const struct mem_model *m)
{
	const struct mem_timeline *t = m->timeline;
	json_key_open(j, "points", '[');
	for (uint32_t i = 0; i < t->count; i++) {
		const struct mem_point *p = &t->point[i];
		struct mem_amount live = mem_timeline_amount(m, p->live);
		json_open(j, '{');
		json_key_u64(j, "begin_ns", i * t->width_ns);
		mem_json_amount(j, &live);
		json_key_double(j, "max_bytes", p->max);
		json_key_double(j, "allocated_bytes", p->allocated);
		json_key_double(j, "promoted_bytes", p->promoted);
		json_key_double(j, "collected_bytes", p->collected);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_band(struct json *j, const struct mem_timeline_bands *b, uint32_t k)
{
	json_key_open(j, "live_bytes", '[');
	for (uint32_t i = 0; i < b->points; i++)
		json_double(j, mem_timeline_band(b, k, i));
	json_close(j, ']');
}

static void put_bands(struct json *j, const struct mem_view *v, const struct mem_timeline_bands *b)
{
	json_key_open(j, "bands", '[');
	for (uint32_t k = 0; k < b->listed; k++) {
		json_open(j, '{');
		mem_json_function(j, v, mem_timeline_site(v, k));
		put_band(j, b, k);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_key_open(j, "other", '{');
	put_band(j, b, b->listed);
	json_close(j, '}');
}

int mem_timeline_json(struct buf *out, const struct mem_view *v)
{
	const struct mem_timeline *t = v->model->timeline;
	struct mem_timeline_bands bands;
	struct json j;
	int err = mem_timeline_bands_init(&bands, v);
	if (err)
		return err;
	struct mem_amount peak = mem_timeline_amount(v->model, t->peak);
	struct mem_amount live = mem_timeline_amount(v->model, t->live);
	mem_json_begin(&j, out, "timeline");
	mem_json_run(&j, v);
	json_key_open(&j, "peak", '{');
	mem_json_amount(&j, &peak);
	json_key_u64(&j, "at_ns", mem_timeline_peak_ns(t));
	json_close(&j, '}');
	json_key_open(&j, "live", '{');
	mem_json_amount(&j, &live);
	json_close(&j, '}');
	json_key_u64(&j, "bucket_ns", t->width_ns);
	put_points(&j, v->model);
	put_bands(&j, v, &bands);
	mem_json_end(&j);
	mem_timeline_bands_done(&bands);
	return 0;
}
