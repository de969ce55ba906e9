/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/schema.h"
#include "report/budget.h"

#include "report/top/top.h"

static const struct schema_key frame[] = {
	{"kind", SCHEMA_CONST("\"top\"")},
	{"schema", SCHEMA_CONST("1")},
	{"source", SCHEMA_STRING},
	{"clock", SCHEMA_STRING},
	{"begin_ns", SCHEMA_COUNT},
	{"at_ns", SCHEMA_COUNT},
	{"running", SCHEMA_COUNT},
	{"ended", SCHEMA_COUNT},
	{"group", SCHEMA_STRING},
	{"sort", SCHEMA_STRING},
	{"total", SCHEMA_REF("figures")},
	{"rows", "{\"type\":\"array\",\"items\":{\"oneOf\":[" SCHEMA_REF("process") "," SCHEMA_REF(
			 "program") "," SCHEMA_REF("container") "," SCHEMA_REF("unit") "]}}"},
	{0}};
/* Only with --cpu or --memory. */
static const struct schema_key optional[] = {{"budget", SCHEMA_REF("budget")}, {0}};
#define TEXT_OR_NULL "{\"type\":[\"string\",\"null\"]}"
static const struct schema_key process[] = {{"pid", SCHEMA_COUNT},
					    {"parent", SCHEMA_KNOWN},
					    {"program", SCHEMA_STRING},
					    {"container", TEXT_OR_NULL},
					    {"unit", TEXT_OR_NULL},
					    {"ended", SCHEMA_TRUTH},
					    {0}};
static const struct schema_key program[] = {
	{"program", SCHEMA_STRING}, {"processes", SCHEMA_COUNT}, {0}};
static const struct schema_key container[] = {
	{"container", SCHEMA_STRING}, {"processes", SCHEMA_COUNT}, {0}};
static const struct schema_key unit[] = {{"unit", SCHEMA_STRING}, {"processes", SCHEMA_COUNT}, {0}};
static const struct schema_key figures[] = {{"gc_ns", SCHEMA_COUNT},
					    {"elapsed_ns", SCHEMA_COUNT},
					    {"gc_percent", SCHEMA_SHARE},
					    {"pauses", SCHEMA_COUNT},
					    {"p99_ns", SCHEMA_KNOWN},
					    {"max_ns", SCHEMA_KNOWN},
					    {"alloc_bytes_per_s", SCHEMA_NUMBER},
					    {"heap_bytes", SCHEMA_KNOWN},
					    {"lost", SCHEMA_REF("lost")},
					    {0}};
static const struct schema_key lost[] = {{"events", SCHEMA_KNOWN}, {"words", SCHEMA_COUNT}, {0}};

void top_schema(struct json *j)
{
	static const struct schema_part objects[] = {
		{"frame", {frame, optional}},
		{"process", {process, figures}},
		{"program", {program, figures}},
		{"container", {container, figures}},
		{"unit", {unit, figures}},
		{"figures", {figures}},
		{"lost", {lost}},
		{"budget", {budget_keys}},
	};
	schema_put(j, "What 'ebtrace top --json' writes, schema 1: one frame", objects,
		   sizeof(objects) / sizeof(*objects), 1,
		   (const struct schema_key *const[]){optional, NULL}, NULL);
}
