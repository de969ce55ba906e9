/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/json.h"

#include "report/schema.h"

#define AMOUNT	"{\"type\":\"number\"}"
#define AMOUNTS "{\"type\":\"array\",\"items\":" AMOUNT "}"
#define RATIO	"{\"type\":[\"number\",\"null\"]}"
#define TEXT	"{\"type\":[\"string\",\"null\"]}"
#define RATE	"{\"type\":[\"number\",\"null\"],\"minimum\":0,\"maximum\":1}"
#define OF	"{\"enum\":[\"allocated\",\"live\"]}"
#define PER	"{\"enum\":[\"run\",\"time\",\"alloc\"]}"
#define UNIT	"{\"enum\":[\"bytes\",\"bytes/s\",\"percent\"]}"

static const struct schema_key head[] = {
	{"kind", SCHEMA_CONST("\"mem\"")}, {"schema", SCHEMA_CONST("1")}, {0}};
#define REPORT(variable, name) \
	static const struct schema_key variable[] = {{"report", SCHEMA_CONST("\"" name "\"")}, {0}}
REPORT(is_summary, "summary");
REPORT(is_hotspots, "hotspots");
REPORT(is_live, "live");
REPORT(is_lifetimes, "lifetimes");
REPORT(is_timeline, "timeline");
REPORT(is_diff, "diff");
static const struct schema_key run[] = {
	{"programs", SCHEMA_LIST("program")}, {"elapsed_ns", SCHEMA_COUNT},
	{"lost_events", SCHEMA_KNOWN},	      {"damaged", SCHEMA_COUNT},
	{"lost_allocs", SCHEMA_COUNT},	      {0}};
/* Only with --interval. */
static const struct schema_key moment[] = {{"at_ns", SCHEMA_COUNT}, {0}};
static const struct schema_key summary[] = {{"totals", SCHEMA_REF("totals")},
					    {"allocated_at", SCHEMA_LIST("caller")},
					    {"live_at", SCHEMA_LIST("caller")},
					    {"collected_at", SCHEMA_LIST("caller")},
					    {0}};
static const struct schema_key totals[] = {{"allocated", SCHEMA_REF("amount")},
#define EBT_ALLOC_SOURCE_DEF(value, CONSTANT, name) {#name, SCHEMA_REF("amount")},
#include <ebtrace/events.def>
					   {"promoted", SCHEMA_REF("amount")},
					   {"live", SCHEMA_REF("amount")},
					   {"peak_bytes", RATIO},
					   {"peak_ns", SCHEMA_KNOWN},
					   {0}};
static const struct schema_key hotspots[] = {{"total", SCHEMA_REF("measure")},
					     {"sites", SCHEMA_LIST("site")},
					     {"functions", SCHEMA_LIST("function")},
					     {0}};
static const struct schema_key live[] = {
	{"total", SCHEMA_REF("measure")}, {"sites", SCHEMA_LIST("live_site")}, {0}};
static const struct schema_key lifetimes[] = {
	{"total", SCHEMA_REF("measure")}, {"sites", SCHEMA_LIST("lifetimes_site")}, {0}};
static const struct schema_key timeline[] = {{"peak", SCHEMA_REF("peak")},
					     {"live", SCHEMA_REF("amount")},
					     {"bucket_ns", SCHEMA_COUNT},
					     {"points", SCHEMA_LIST("point")},
					     {"bands", SCHEMA_LIST("band")},
					     {"other", SCHEMA_REF("other")},
					     {0}};
static const struct schema_key at[] = {{"at_ns", SCHEMA_COUNT}, {0}};
static const struct schema_key begin[] = {{"begin_ns", SCHEMA_COUNT}, {0}};
static const struct schema_key changes[] = {{"max_bytes", AMOUNT},
					    {"allocated_bytes", AMOUNT},
					    {"promoted_bytes", AMOUNT},
					    {"collected_bytes", AMOUNT},
					    {0}};
static const struct schema_key band[] = {{"live_bytes", AMOUNTS}, {0}};
static const struct schema_key positions[] = {{"positions", SCHEMA_LIST("position")}, {0}};
static const struct schema_key callers[] = {{"callers", SCHEMA_LIST("caller")}, {0}};
static const struct schema_key oldest[] = {{"oldest_ns", SCHEMA_COUNT}, {0}};
static const struct schema_key fates[] = {{"promoted_bytes", AMOUNT},
					  {"live_bytes", AMOUNT},
					  {"collected_bytes", AMOUNT},
					  {"lifetimes", SCHEMA_LIST("lifetime")},
					  {0}};
static const struct schema_key lifetime[] = {
	{"least_ns", SCHEMA_COUNT}, {"below_ns", SCHEMA_KNOWN}, {"bytes", AMOUNT}, {0}};
static const struct schema_key diff[] = {{"of", OF},
					 {"per", PER},
					 {"unit", UNIT},
					 {"before", SCHEMA_REF("side")},
					 {"after", SCHEMA_REF("side")},
					 {"total", SCHEMA_REF("difference")},
					 {"sites", SCHEMA_LIST("changed")},
					 {0}};
static const struct schema_key program[] = {{"pid", SCHEMA_KNOWN},
					    {"processes", SCHEMA_COUNT},
					    {"name", SCHEMA_STRING},
					    {"context", TEXT},
					    {"rate", RATE},
					    {"word_bytes", AMOUNT},
					    {"periodic", SCHEMA_TRUTH},
					    {"words_between_samples", SCHEMA_KNOWN},
					    {"complete", SCHEMA_TRUTH},
					    {"not_recorded", SCHEMA_REF("lack")},
					    {0}};
static const struct schema_key lack[] = {
	{"programs", SCHEMA_COUNT}, {"ended_early", SCHEMA_TRUTH}, {"events", SCHEMA_COUNT}, {0}};
static const struct schema_key name[] = {
	{"function", SCHEMA_STRING}, {"symbol", SCHEMA_STRING}, {"file", TEXT}, {0}};
static const struct schema_key amount[] = {{"bytes", AMOUNT}, {"low", RATIO}, {"high", RATIO}, {0}};
static const struct schema_key counts[] = {
	{"samples", SCHEMA_COUNT}, {"objects", SCHEMA_COUNT}, {"objects_estimate", AMOUNT}, {0}};
static const struct schema_key position[] = {
	{"line", SCHEMA_KNOWN}, {"start_char", SCHEMA_KNOWN}, {"end_char", SCHEMA_KNOWN}, {0}};
static const struct schema_key sums[] = {
	{"self", SCHEMA_REF("measure")}, {"total", SCHEMA_REF("measure")}, {0}};
static const struct schema_key side[] = {{"program", TEXT}, {"elapsed_ns", SCHEMA_COUNT}, {0}};
static const struct schema_key changed[] = {
	{"in_before", SCHEMA_TRUTH}, {"in_after", SCHEMA_TRUTH}, {0}};
static const struct schema_key difference[] = {
	{"before", SCHEMA_REF("value")}, {"after", SCHEMA_REF("value")},
	{"change", SCHEMA_REF("value")}, {"ratio", RATIO},
	{"noise", SCHEMA_TRUTH},	 {0}};
static const struct schema_key value[] = {{"value", AMOUNT}, {"low", RATIO}, {"high", RATIO}, {0}};

void mem_schema(struct json *j)
{
	static const struct schema_part objects[] = {
		{"summary", {head, is_summary, run, moment, summary}},
		{"hotspots", {head, is_hotspots, run, moment, hotspots}},
		{"live", {head, is_live, run, moment, live}},
		{"lifetimes", {head, is_lifetimes, run, moment, lifetimes}},
		{"timeline", {head, is_timeline, run, timeline}},
		{"diff", {head, is_diff, diff}},
		{"program", {program}},
		{"lack", {lack}},
		{"measure", {amount, counts}},
		{"amount", {amount}},
		{"totals", {totals}},
		{"site", {name, amount, counts, positions, callers}},
		{"live_site", {name, amount, counts, positions, oldest}},
		{"lifetimes_site", {name, amount, counts, fates}},
		{"lifetime", {lifetime}},
		{"peak", {amount, at}},
		{"point", {begin, amount, changes}},
		{"band", {name, band}},
		{"other", {band}},
		{"position", {position, amount, counts}},
		{"caller", {name, amount, counts}},
		{"function", {name, sums}},
		{"side", {side, amount}},
		{"changed", {name, changed, difference}},
		{"difference", {difference}},
		{"value", {value}},
	};
	schema_put(j,
		   "What 'ebtrace mem --json' writes, schema 1: one report; with --interval one a "
		   "line, of "
		   "all up to at_ns. Bytes and values "
		   "are estimates, from low to high in 95 of 100 cases",
		   objects, sizeof(objects) / sizeof(*objects), 6,
		   (const struct schema_key *const[]){moment, NULL}, NULL);
}
