/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/spans/spans.h"

#include "report/budget.h"
#include "report/schema.h"
#include "report/spans/model/sums.h"

static const struct schema_key report[] = {
	{"kind", SCHEMA_CONST("\"spans\"")}, {"schema", SCHEMA_CONST("1")},
	{"begin_ns", SCHEMA_COUNT},	     {"wall_ns", SCHEMA_COUNT},
	{"threads_known", SCHEMA_TRUTH},     {"not_followed", SCHEMA_COUNT},
	{"spans", SCHEMA_LIST("name")},	     {"domains", SCHEMA_LIST("domain")},
	{"slowest", SCHEMA_LIST("span")},    {0}};
/* Only with --cpu or --memory. */
static const struct schema_key budget[] = {{"budget", SCHEMA_REF("budget")}, {0}};
/* Only with --interval. */
static const struct schema_key at[] = {{"at_ns", SCHEMA_COUNT}, {"hung", SCHEMA_LIST("open")}, {0}};
static const struct schema_key hung[] = {{"name", SCHEMA_STRING},
					 {"pid", SCHEMA_COUNT},
					 {"tid", SCHEMA_KNOWN},
					 {"domain", SCHEMA_KNOWN},
					 {"fiber", "{\"type\":[\"integer\",\"null\"]}"},
					 {"begin_ns", SCHEMA_COUNT},
					 {"ns", SCHEMA_COUNT},
					 {"p99_ns", SCHEMA_KNOWN},
					 {0}};
static const struct schema_key name[] = {{"name", SCHEMA_STRING},
					 {"is_phase", SCHEMA_TRUTH},
					 {"count", SCHEMA_COUNT},
					 {"per_second", SCHEMA_NUMBER},
					 {"total_ns", SCHEMA_COUNT},
					 {"min_ns", SCHEMA_KNOWN},
					 {"p50_ns", SCHEMA_KNOWN},
					 {"p90_ns", SCHEMA_KNOWN},
					 {"p99_ns", SCHEMA_KNOWN},
					 {"max_ns", SCHEMA_KNOWN},
#define X(CONSTANT, key) {#key, SCHEMA_COUNT},
					 SPAN_CUTS_LIST(X)
#undef X
						 {"parts", SCHEMA_LIST("part")},
					 {"slowest_hundredth", SCHEMA_REF("slow")},
					 {"suspended_while", SCHEMA_MAYBE("while")},
					 {0}};
static const struct schema_key slow[] = {{"count", SCHEMA_COUNT},
					 {"from_ns", SCHEMA_COUNT},
					 {"total_ns", SCHEMA_COUNT},
					 {"parts", SCHEMA_LIST("part")},
					 {0}};
static const struct schema_key of[] = {{"part", SCHEMA_STRING},
				       {"of", "{\"type\":[\"string\",\"null\"]}"},
				       {"reason", "{\"type\":[\"string\",\"null\"]}"},
				       {"ns", SCHEMA_COUNT},
				       {0}};
static const struct schema_key span[] = {{"name", SCHEMA_STRING},
					 {"pid", SCHEMA_COUNT},
					 {"comm", SCHEMA_STRING},
					 {"tid", SCHEMA_KNOWN},
					 {"domain", SCHEMA_KNOWN},
					 {"fiber", "{\"type\":[\"integer\",\"null\"]}"},
					 {"begin_ns", SCHEMA_COUNT},
					 {"ns", SCHEMA_COUNT},
					 {"parts", SCHEMA_LIST("part")},
					 {"in_order", SCHEMA_LIST("segment")},
					 {"in_order_more", SCHEMA_COUNT},
					 {"block", SCHEMA_MAYBE("block")},
					 {0}};
static const struct schema_key block[] = {
	{"ns", SCHEMA_COUNT}, {"stack", SCHEMA_STRINGS}, {"stack_left_out", SCHEMA_COUNT}, {0}};
static const struct schema_key domain[] = {{"pid", SCHEMA_COUNT},
					   {"domain", SCHEMA_COUNT},
#define X(CONSTANT, key, text) {#key "_ns", SCHEMA_COUNT},
					   SPAN_DOMAIN_LIST(X)
#undef X
						   {0}};
static const struct schema_key suspended_while[] = {
#define X(CONSTANT, key, text) {#key "_ns", SCHEMA_COUNT},
	SPAN_DOMAIN_LIST(X)
#undef X
		{"unknown_ns", SCHEMA_COUNT},
	{0}};
static const struct schema_key segment[] = {
	{"begin_ns", SCHEMA_COUNT}, {"tid", SCHEMA_KNOWN}, {"comm", SCHEMA_STRING}, {0}};

void spans_schema(struct json *j)
{
	static const struct schema_part parts[] = {
		{"spans", {report, budget, at}},
		{"name", {name}},
		{"open", {hung}},
		{"slow", {slow}},
		{"part", {of}},
		{"span", {span}},
		{"segment", {of, segment}},
		{"domain", {domain}},
		{"while", {suspended_while}},
		{"block", {block}},
		{"budget", {budget_keys}},
	};
	static const struct schema_key *const optional[] = {budget, at, NULL};
	schema_put(j, "ebtrace spans", parts, sizeof(parts) / sizeof(*parts), 1, optional, NULL);
}
