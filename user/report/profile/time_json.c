/* SPDX-License-Identifier: BSD-2-Clause */
/* The JSON of a profile of time: blocks alone, or with samples on one scale. */
#include "report/profile/profile.h"

#include <stdlib.h>

#include "report/text.h"

#define PROFILE_TIME_SCHEMA 1

static void put_share(struct json *j, const char *key, uint64_t ns, uint64_t whole)
{
	json_key_open(j, key, '{');
	json_key_u64(j, "ns", ns);
	json_key_double(j, "percent", report_percent((double)ns, (double)whole));
	json_close(j, '}');
}

static void put_ends(struct json *j, const char *key, const uint64_t ends[KINDS_SAMPLE_ENDS + 1])
{
	json_key_open(j, key, '{');
	for (unsigned i = 0; i < KINDS_SAMPLE_ENDS; i++)
		json_key_u64(j, kinds_sample_end_name(i), ends[i]);
	json_key_u64(j, "unknown", ends[KINDS_SAMPLE_ENDS]);
	json_close(j, '}');
}

static void put_blocks(struct json *j, const struct waits *w)
{
	json_key_open(j, "blocks", '{');
	json_key_u64(j, "count", w->blocks);
	json_key_u64(j, "ns", w->ns);
	json_key_u64(j, "shortest_ns", w->shortest_ns);
	json_key_u64(j, "longest_ns", w->longest_ns);
	json_key_u64(j, "open", w->open);
	json_key_u64(j, "open_ns", w->open_ns);
	put_ends(j, "stacks", w->ends);
	json_close(j, '}');
}

static void put_head(struct json *j, const struct profile_view *v)
{
	const struct profile_model *m = v->model;
	struct totals t = session_run_totals(v->session);
	uint64_t cpu_ns = 0;
	bool has_cpu = profile_cpu_ns(m, &cpu_ns);
	json_key_str(j, "kind", "time_profile");
	json_key_u64(j, "schema", PROFILE_TIME_SCHEMA);
	json_key_str(j, "time", profile_time_name(m->time));
	json_key_u64(j, "elapsed_ns", v->elapsed_ns);
	json_key_u64(j, "ns", m->weight);
	json_key_u64(j, "samples", m->samples);
	json_key_u64(j, "period_ns", m->period_ns);
	json_key_u64(j, "sampled_ns", m->time_ns);
	json_key_known(j, "cpu_ns", has_cpu, cpu_ns);
	json_key_known(j, "lost_events", !t.lost_uncounted, t.lost_events);
	put_ends(j, "stacks", m->ends);
	put_blocks(j, &m->waits);
}

static const char *by_name(enum waits_by by)
{
	return by == WAITS_BY_THREAD	  ? "thread"
	       : by == WAITS_BY_INTERRUPT ? "interrupt"
	       : by == WAITS_STILL_OPEN	  ? "open"
					  : "unknown";
}

static void put_wait(struct json *j, const struct waits_row *r, uint64_t whole)
{
	const char *call = blame_call_name(r->syscall);
	json_open(j, '{');
	json_key_str(j, "reason", blame_part_key(r->part));
	json_key_known(j, "syscall", r->syscall != BLAME_NO_CALL, (uint64_t)(uint32_t)r->syscall);
	if (call)
		json_key_str(j, "call", call);
	else
		json_key_null(j, "call");
	json_key_str(j, "by", by_name(r->by));
	if (r->by == WAITS_BY_THREAD)
		json_key_str(j, "comm", r->comm);
	else
		json_key_null(j, "comm");
	json_key_u64(j, "count", r->count);
	put_share(j, "share", r->ns, whole);
	json_key_u64(j, "longest_ns", r->longest_ns);
	json_close(j, '}');
}

static void put_waits(struct json *j, const struct profile_model *m)
{
	json_key_open(j, "waits", '[');
	for (uint32_t i = 0; i < m->waits.rows; i++)
		put_wait(j, &m->waits.row[i], m->weight);
	json_close(j, ']');
	json_key_u64(j, "unlisted_waits", m->waits.others);
	json_key_u64(j, "unlisted_ns", m->waits.others_ns);
}

static void put_function(struct json *j, const struct profile_function *f, uint64_t whole)
{
	json_open(j, '{');
	json_key_str(j, "function", f->name);
	if (f->file)
		json_key_str(j, "file", f->file);
	else
		json_key_null(j, "file");
	json_key_known(j, "line", f->line, f->line);
	put_share(j, "self", f->self, whole);
	put_share(j, "total", f->total, whole);
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
	put_share(j, "share", of->samples, v->model->weight);
	put_share(j, "collector", of->collector, v->model->weight);
	json_key_open(j, "functions", '[');
	for (uint32_t i = 0; i < count && (!v->opt.top || i < v->opt.top); i++)
		put_function(j, &f[i], v->model->weight);
	json_close(j, ']');
	json_close(j, '}');
	free(f);
	return 0;
}

int profile_time_json(struct buf *b, const struct profile_view *v)
{
	struct json j = {.out = b};
	int err = 0;
	json_open(&j, '{');
	put_head(&j, v);
	put_waits(&j, v->model);
	json_key_open(&j, "sections", '[');
	for (uint32_t i = 0; i < v->sections->count && !err; i++)
		err = put_section(&j, v, &v->sections->section[i]);
	json_close(&j, ']');
	json_close(&j, '}');
	buf_puts(b, "\n");
	return err;
}

/* ---- the schema ---- */

static const struct schema_key document[] = {{"kind", SCHEMA_CONST("\"time_profile\"")},
					     {"schema", SCHEMA_CONST("1")},
					     {"time", "{\"enum\":[\"off_cpu\",\"wall\"]}"},
					     {"elapsed_ns", SCHEMA_COUNT},
					     {"ns", SCHEMA_COUNT},
					     {"samples", SCHEMA_COUNT},
					     {"period_ns", SCHEMA_COUNT},
					     {"sampled_ns", SCHEMA_COUNT},
					     {"cpu_ns", SCHEMA_KNOWN},
					     {"lost_events", SCHEMA_KNOWN},
					     {"stacks", SCHEMA_REF("stacks")},
					     {"blocks", SCHEMA_REF("blocks")},
					     {"waits", SCHEMA_LIST("wait")},
					     {"unlisted_waits", SCHEMA_COUNT},
					     {"unlisted_ns", SCHEMA_COUNT},
					     {"sections", SCHEMA_LIST("time_section")},
					     {0}};
static const struct schema_key blocks[] = {
	{"count", SCHEMA_COUNT},	  {"ns", SCHEMA_COUNT},
	{"shortest_ns", SCHEMA_COUNT},	  {"longest_ns", SCHEMA_COUNT},
	{"open", SCHEMA_COUNT},		  {"open_ns", SCHEMA_COUNT},
	{"stacks", SCHEMA_REF("stacks")}, {0}};
static const struct schema_key share[] = {{"ns", SCHEMA_COUNT}, {"percent", SCHEMA_SHARE}, {0}};
static const struct schema_key wait[] = {
	{"reason", "{\"enum\":["
#define X(CONSTANT, key, text) "\"" #key "\","
	 BLAME_PARTS_LIST(X)
#undef X
		 "null]}"},
	{"syscall", SCHEMA_KNOWN},
	{"call", "{\"type\":[\"string\",\"null\"]}"},
	{"by", "{\"enum\":[\"thread\",\"interrupt\",\"open\",\"unknown\"]}"},
	{"comm", "{\"type\":[\"string\",\"null\"]}"},
	{"count", SCHEMA_COUNT},
	{"share", SCHEMA_REF("time_share")},
	{"longest_ns", SCHEMA_COUNT},
	{0}};
static const struct schema_key section[] = {{"name", SCHEMA_STRING},
					    {"share", SCHEMA_REF("time_share")},
					    {"collector", SCHEMA_REF("time_share")},
					    {"functions", SCHEMA_LIST("time_function")},
					    {0}};
static const struct schema_key function[] = {{"function", SCHEMA_STRING},
					     {"file", "{\"type\":[\"string\",\"null\"]}"},
					     {"line", SCHEMA_KNOWN},
					     {"self", SCHEMA_REF("time_share")},
					     {"total", SCHEMA_REF("time_share")},
					     {0}};

const struct schema_part profile_time_parts[PROFILE_TIME_PARTS] = {
	{"time_profile", {document}}, {"blocks", {blocks}},
	{"time_share", {share}},      {"wait", {wait}},
	{"time_section", {section}},  {"time_function", {function}},
};
