/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/profile/profile.h"

#include <stdlib.h>
#include <string.h>

#include "report/profile/diff.h"
#include "report/proportion.h"
#include "report/schema.h"

#define PROFILE_SCHEMA 1

static void put_share(struct json *j, const char *key, uint64_t part, uint64_t whole)
{
	struct proportion p = proportion_of(part, whole);
	json_key_open(j, key, '{');
	json_key_u64(j, "samples", part);
	json_key_double(j, "percent", p.percent);
	json_key_double(j, "low", p.low);
	json_key_double(j, "high", p.high);
	json_close(j, '}');
}

static void put_head(struct json *j, const struct profile_view *v)
{
	const struct profile_model *m = v->model;
	struct totals t = session_run_totals(v->session);
	uint64_t cpu_ns = 0;
	bool has_cpu = profile_cpu_ns(m, &cpu_ns);
	json_key_str(j, "kind", "profile");
	json_key_u64(j, "schema", PROFILE_SCHEMA);
	json_key_u64(j, "elapsed_ns", v->elapsed_ns);
	json_key_u64(j, "period_ns", m->period_ns);
	json_key_u64(j, "samples", m->samples);
	json_key_u64(j, "sampled_ns", m->time_ns);
	json_key_known(j, "cpu_ns", has_cpu, cpu_ns);
	json_key_known(j, "lost_events", !t.lost_uncounted, t.lost_events);
	put_share(j, "kernel", m->kernel, m->samples);
	json_key_open(j, "stacks", '{');
	for (unsigned i = 0; i < KINDS_SAMPLE_ENDS; i++)
		json_key_u64(j, kinds_sample_end_name(i), m->ends[i]);
	json_key_u64(j, "unknown", m->ends[KINDS_SAMPLE_ENDS]);
	json_close(j, '}');
}

static void put_phases(struct json *j, const struct profile_model *m)
{
	uint64_t of_place[PLACES] = {0};
	for (uint32_t i = 0; i < m->rows; i++)
		of_place[profile_place(m, &m->context[m->row[i].context])] += m->row[i].samples;
	json_key_open(j, "phases", '[');
	for (unsigned i = 0; i < PLACES; i++) {
		if (!of_place[i])
			continue;
		json_open(j, '{');
		json_key_str(j, "name", profile_place_name(i));
		json_key_bool(j, "collector", place_is_collector(i));
		put_share(j, "share", of_place[i], m->samples);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_function(struct json *j, const struct profile_function *f, uint64_t samples)
{
	json_open(j, '{');
	json_key_str(j, "function", f->name);
	if (f->file)
		json_key_str(j, "file", f->file);
	else
		json_key_null(j, "file");
	json_key_known(j, "line", f->line, f->line);
	put_share(j, "self", f->self, samples);
	put_share(j, "total", f->total, samples);
	json_close(j, '}');
}

static int put_section(struct json *j, const struct profile_view *v,
		       const struct profile_section *of)
{
	struct profile_function *f;
	uint32_t count;
	int err = profile_functions(v->sections, of, &f, &count);
	if (err)
		return err;
	json_open(j, '{');
	json_key_str(j, "name", of->name);
	put_share(j, "share", of->samples, v->model->samples);
	put_share(j, "collector", of->collector, of->samples);
	json_key_open(j, "functions", '[');
	for (uint32_t i = 0; i < count && (!v->opt.top || i < v->opt.top); i++)
		put_function(j, &f[i], v->model->samples);
	json_close(j, ']');
	json_close(j, '}');
	free(f);
	return 0;
}

int profile_json(struct buf *b, const struct profile_view *v)
{
	struct json j = {.out = b};
	int err = 0;
	json_open(&j, '{');
	put_head(&j, v);
	put_phases(&j, v->model);
	json_key_open(&j, "sections", '[');
	for (uint32_t i = 0; i < v->sections->count && !err; i++)
		err = put_section(&j, v, &v->sections->section[i]);
	json_close(&j, ']');
	json_close(&j, '}');
	buf_puts(b, "\n");
	return err;
}

static const struct schema_key document[] = {{"kind", SCHEMA_CONST("\"profile\"")},
					     {"schema", SCHEMA_CONST("1")},
					     {"elapsed_ns", SCHEMA_COUNT},
					     {"period_ns", SCHEMA_COUNT},
					     {"samples", SCHEMA_COUNT},
					     {"sampled_ns", SCHEMA_COUNT},
					     {"cpu_ns", SCHEMA_KNOWN},
					     {"lost_events", SCHEMA_KNOWN},
					     {"kernel", SCHEMA_REF("share")},
					     {"stacks", SCHEMA_REF("stacks")},
					     {"phases", SCHEMA_LIST("phase")},
					     {"sections", SCHEMA_LIST("section")},
					     {0}};
static const struct schema_key share[] = {{"samples", SCHEMA_COUNT},
					  {"percent", SCHEMA_SHARE},
					  {"low", SCHEMA_SHARE},
					  {"high", SCHEMA_SHARE},
					  {0}};
static const struct schema_key stacks[] = {
#define EBT_SAMPLE_END_DEF(value, CONSTANT, name, help) {#name, SCHEMA_COUNT},
#include <ebtrace/events.def>
	{"unknown", SCHEMA_COUNT}, {0}};
static const struct schema_key phase[] = {
	{"name", SCHEMA_STRING}, {"collector", SCHEMA_TRUTH}, {"share", SCHEMA_REF("share")}, {0}};
static const struct schema_key section[] = {{"name", SCHEMA_STRING},
					    {"share", SCHEMA_REF("share")},
					    {"collector", SCHEMA_REF("share")},
					    {"functions", SCHEMA_LIST("function")},
					    {0}};
static const struct schema_key function[] = {
	{"function", SCHEMA_STRING},	{"file", "{\"type\":[\"string\",\"null\"]}"},
	{"line", SCHEMA_KNOWN},		{"self", SCHEMA_REF("share")},
	{"total", SCHEMA_REF("share")}, {0}};

void profile_schema(struct json *j)
{
	static const struct schema_part own[] = {
		{"profile", {document}}, {"share", {share}},	 {"stacks", {stacks}},
		{"phase", {phase}},	 {"section", {section}}, {"function", {function}},
	};
	struct schema_part
		parts[PROFILE_DIFF_PARTS + PROFILE_TIME_PARTS + sizeof(own) / sizeof(*own)];
	/* The documents first. */
	struct schema_part *to = parts;
	*to++ = own[0];
	*to++ = profile_time_parts[0];
	memcpy(to, profile_diff_parts, sizeof(profile_diff_parts));
	to += PROFILE_DIFF_PARTS;
	memcpy(to, own + 1, sizeof(own) - sizeof(*own));
	to += sizeof(own) / sizeof(*own) - 1;
	memcpy(to, profile_time_parts + 1, sizeof(*to) * (PROFILE_TIME_PARTS - 1));
	schema_put(
		j,
		"What 'ebtrace profile --json' writes, schema 1. Shares are of all samples, from "
		"low to high in 95 of 100 cases",
		parts, sizeof(parts) / sizeof(*parts), 3, NULL, NULL);
}
