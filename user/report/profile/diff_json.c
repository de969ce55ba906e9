/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/profile/diff.h"

static const char *const side_names[] = {"before", "after"};

static void put_text(struct json *j, const char *key, const char *text)
{
	if (text && *text)
		json_key_str(j, key, text);
	else
		json_key_null(j, key);
}

static void put_side(struct json *j, const struct profile_diff *d, unsigned side)
{
	const struct profile_side *s = &d->side[side];
	json_key_open(j, side_names[side], '{');
	put_text(j, "program", strings_text(d->strings, s->program));
	json_key_u64(j, "elapsed_ns", s->elapsed_ns);
	json_key_u64(j, "period_ns", s->period_ns);
	json_key_u64(j, "samples", s->samples);
	json_key_u64(j, "sampled_ns", s->time_ns);
	json_key_known(j, "cpu_ns", s->has_cpu, s->cpu_ns);
	json_key_known(j, "lost_events", !s->totals.lost_uncounted, s->totals.lost_events);
	json_key_open(j, "stacks", '{');
	for (unsigned i = 0; i < KINDS_SAMPLE_ENDS; i++)
		json_key_u64(j, kinds_sample_end_name(i), s->ends[i]);
	json_key_u64(j, "unknown", s->ends[KINDS_SAMPLE_ENDS]);
	json_close(j, '}');
	json_close(j, '}');
}

static void put_difference(struct json *j, const char *key, const struct profile_diff *d,
			   const struct profile_pair *samples)
{
	struct profile_difference n = profile_diff_of(d, samples);
	json_key_open(j, key, '{');
	for (unsigned i = 0; i < PROFILE_SIDES; i++) {
		json_key_open(j, side_names[i], '{');
		json_key_u64(j, "samples", samples->of[i]);
		json_key_double(j, "percent", n.value[i].percent);
		json_key_double(j, "low", n.value[i].low);
		json_key_double(j, "high", n.value[i].high);
		json_close(j, '}');
	}
	json_key_open(j, "change", '{');
	json_key_double(j, "percent", n.change);
	json_key_double(j, "low", n.low);
	json_key_double(j, "high", n.high);
	json_close(j, '}');
	if (samples->of[PROFILE_BEFORE])
		json_key_double(j, "ratio",
				n.value[PROFILE_AFTER].percent / n.value[PROFILE_BEFORE].percent);
	else
		json_key_null(j, "ratio");
	json_key_bool(j, "noise", n.is_noise);
	json_close(j, '}');
}

static void put_function(struct json *j, const struct profile_diff *d,
			 const struct profile_diff_function *f)
{
	json_open(j, '{');
	json_key_str(j, "function", strings_text(d->strings, f->name));
	put_text(j, "file", strings_text(d->strings, f->file));
	json_key_known(j, "line", f->line, f->line);
	json_key_bool(j, "in_before", f->total.of[PROFILE_BEFORE]);
	json_key_bool(j, "in_after", f->total.of[PROFILE_AFTER]);
	put_difference(j, "self", d, &f->self);
	put_difference(j, "total", d, &f->total);
	json_close(j, '}');
}

static void put_section(struct json *j, const struct profile_diff *d,
			const struct profile_diff_section *s, uint32_t top)
{
	json_open(j, '{');
	json_key_str(j, "name", s->name);
	put_difference(j, "share", d, &s->samples);
	json_key_open(j, "functions", '[');
	for (uint32_t i = 0; i < s->count && (!top || i < top); i++)
		put_function(j, d, &d->function[s->first + i]);
	json_close(j, ']');
	json_close(j, '}');
}

int profile_diff_json(struct buf *b, const struct profile_view *v)
{
	struct profile_diff *d = v->opt.diff;
	struct json j = {.out = b};
	int err = profile_diff_add(d, PROFILE_AFTER, v->sections, v->model, v->elapsed_ns);
	if (!err)
		err = profile_diff_finish(d);
	if (err)
		return err;
	json_open(&j, '{');
	json_key_str(&j, "kind", "profile_diff");
	json_key_u64(&j, "schema", 1);
	put_side(&j, d, PROFILE_BEFORE);
	put_side(&j, d, PROFILE_AFTER);
	json_key_open(&j, "sections", '[');
	for (uint32_t i = 0; i < d->sections; i++)
		put_section(&j, d, &d->section[i], v->opt.top);
	json_close(&j, ']');
	json_close(&j, '}');
	buf_puts(b, "\n");
	return 0;
}

#define TEXT   "{\"type\":[\"string\",\"null\"]}"
#define CHANGE "{\"type\":\"number\",\"minimum\":-100,\"maximum\":100}"
#define LIMIT  "{\"type\":\"number\"}"

static const struct schema_key document[] = {{"kind", SCHEMA_CONST("\"profile_diff\"")},
					     {"schema", SCHEMA_CONST("1")},
					     {"before", SCHEMA_REF("side")},
					     {"after", SCHEMA_REF("side")},
					     {"sections", SCHEMA_LIST("changed_section")},
					     {0}};
static const struct schema_key side[] = {{"program", TEXT},
					 {"elapsed_ns", SCHEMA_COUNT},
					 {"period_ns", SCHEMA_COUNT},
					 {"samples", SCHEMA_COUNT},
					 {"sampled_ns", SCHEMA_COUNT},
					 {"cpu_ns", SCHEMA_KNOWN},
					 {"lost_events", SCHEMA_KNOWN},
					 {"stacks", SCHEMA_REF("stacks")},
					 {0}};
static const struct schema_key section[] = {{"name", SCHEMA_STRING},
					    {"share", SCHEMA_REF("difference")},
					    {"functions", SCHEMA_LIST("changed_function")},
					    {0}};
static const struct schema_key function[] = {{"function", SCHEMA_STRING},
					     {"file", TEXT},
					     {"line", SCHEMA_KNOWN},
					     {"in_before", SCHEMA_TRUTH},
					     {"in_after", SCHEMA_TRUTH},
					     {"self", SCHEMA_REF("difference")},
					     {"total", SCHEMA_REF("difference")},
					     {0}};
static const struct schema_key difference[] = {
	{"before", SCHEMA_REF("share")},
	{"after", SCHEMA_REF("share")},
	{"change", "{\"type\":\"object\",\"properties\":{\"percent\":" CHANGE ",\"low\":" LIMIT
		   ",\"high\":" LIMIT "},\"required\":[\"percent\",\"low\",\"high\"],"
		   "\"additionalProperties\":false}"},
	{"ratio", SCHEMA_NUMBER},
	{"noise", SCHEMA_TRUTH},
	{0}};

const struct schema_part profile_diff_parts[PROFILE_DIFF_PARTS] = {
	{"profile_diff", {document}},	{"side", {side}},
	{"changed_section", {section}}, {"changed_function", {function}},
	{"difference", {difference}},
};
