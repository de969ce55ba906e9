/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/stat.h"

#include "base/json.h"
#include "report/budget.h"
#include "report/parts/blame_parts.h"
#include "report/schema.h"
#include "report/stat/percentiles.h"
#include "session/pause_counts.h"

static const struct schema_key report[] = {{"kind", SCHEMA_CONST("\"stat\"")},
					   {"schema", SCHEMA_CONST("1")},
					   {"source", SCHEMA_STRING},
					   {"clock", SCHEMA_STRING},
					   {"begin_ns", SCHEMA_COUNT},
					   {"total", SCHEMA_REF("total")},
					   {"processes", SCHEMA_LIST("process")},
					   {0}};
/* at_ns: only with --interval; programs: only if processes were added up that have no element of
 * `processes`; budget: only with --cpu or --memory; blame: only with --blame, or where a probe
 * stood at pauses; open: only with --interval and --blame. */
static const struct schema_key optional[] = {{"at_ns", SCHEMA_COUNT},
					     {"programs", SCHEMA_LIST("program")},
					     {"budget", SCHEMA_REF("budget")},
					     {"blame", SCHEMA_REF("blame")},
					     {"open", SCHEMA_MAYBE("blamed_pause")},
					     {0}};
static const struct schema_key section[] = {{"wall_ns", SCHEMA_COUNT},
					    {"cpu_user_ns", SCHEMA_KNOWN},
					    {"cpu_system_ns", SCHEMA_KNOWN},
					    {"peak_rss_bytes", SCHEMA_KNOWN},
					    {"elapsed_ns", SCHEMA_COUNT},
					    {"gc_ns", SCHEMA_COUNT},
					    {"gc_percent", SCHEMA_SHARE},
					    {"coverage_percent", SCHEMA_SHARE},
					    {"lost", SCHEMA_REF("lost")},
					    {"pauses", SCHEMA_REF("pauses")},
					    {"collections", SCHEMA_REF("collections")},
					    {"words", SCHEMA_REF("words")},
					    {"phases", SCHEMA_LIST("phase")},
					    {"unmatched_ends", SCHEMA_COUNT},
					    {"late", SCHEMA_COUNT},
					    {"damaged", SCHEMA_COUNT},
					    {0}};
static const struct schema_key pid[] = {{"pid", SCHEMA_COUNT}, {0}};
static const struct schema_key named[] = {
	{"comm", SCHEMA_STRING}, {"producer", SCHEMA_STRING}, {0}};
static const struct schema_key size[] = {{"processes", SCHEMA_COUNT}, {0}};
/* Only with --mmu. */
static const struct schema_key mmu[] = {
	{"mmu", SCHEMA_LIST("window")}, {"mmu_within_ns", SCHEMA_COUNT}, {0}};
static const struct schema_key window[] = {
	{"window_ns", SCHEMA_COUNT}, {"least_percent", SCHEMA_SHARE}, {0}};
static const struct schema_key lanes[] = {{"domains", SCHEMA_LIST("domain")}, {0}};
static const struct schema_key domain[] = {{"domain", SCHEMA_KNOWN},
					   {"tid", SCHEMA_KNOWN},
					   {"elapsed_ns", SCHEMA_COUNT},
					   {"gc_ns", SCHEMA_COUNT},
					   {"gc_percent", SCHEMA_SHARE},
					   {"pauses", SCHEMA_COUNT},
					   {"coverage_percent", SCHEMA_SHARE},
					   {"lost", SCHEMA_REF("lost")},
					   {0}};
static const struct schema_key lost[] = {
	{"events", SCHEMA_KNOWN},	  {"words", SCHEMA_COUNT},
	{"history_events", SCHEMA_KNOWN}, {"history_words", SCHEMA_COUNT},
	{"unwatched_ns", SCHEMA_COUNT},	  {0}};
static const struct schema_key pauses[] = {
	{"count", SCHEMA_COUNT},      {"min_ns", SCHEMA_KNOWN},
	{"max_ns", SCHEMA_KNOWN},     {"mean_ns", SCHEMA_NUMBER},
	{"stddev_ns", SCHEMA_NUMBER}, {"percentiles_ns", SCHEMA_REF("percentiles")},
	{"cut", SCHEMA_REF("cut")},   {0}};
static const struct schema_key cut[] = {{"start", SCHEMA_COUNT},      {"loss", SCHEMA_COUNT},
					{"end", SCHEMA_COUNT},	      {"late", SCHEMA_COUNT},
					{"longest_ns", SCHEMA_COUNT}, {0}};
static const struct schema_key collections[] = {{"minor", SCHEMA_COUNT},
						{"major", SCHEMA_COUNT},
						{"forced_minor", SCHEMA_COUNT},
						{"forced_major", SCHEMA_COUNT},
						{"compactions", SCHEMA_COUNT},
						{"compactions_requested", SCHEMA_COUNT},
						{0}};
static const struct schema_key words[] = {
	{"minor_allocated", SCHEMA_KNOWN}, {"major_allocated", SCHEMA_KNOWN},
	{"promoted", SCHEMA_KNOWN},	   {"heap_last", SCHEMA_KNOWN},
	{"heap_max", SCHEMA_KNOWN},	   {0}};
static const struct schema_key phase[] = {{"name", SCHEMA_STRING},    {"stops", SCHEMA_TRUTH},
					  {"count", SCHEMA_COUNT},    {"cut", SCHEMA_COUNT},
					  {"total_ns", SCHEMA_COUNT}, {"self_ns", SCHEMA_COUNT},
					  {"max_ns", SCHEMA_COUNT},   {0}};

static const struct schema_key blame[] = {{"known", SCHEMA_TRUTH}, {0}};
static const struct schema_key blame_sum[] = {{"pauses", SCHEMA_COUNT},
					      {"pause_ns", SCHEMA_COUNT},
					      {"parts_ns", SCHEMA_REF("parts")},
					      {"counted", SCHEMA_MAYBE("counted_sum")},
					      {0}};
static const struct schema_key counted_sum[] = {
	{"pauses", SCHEMA_COUNT}, {"never_blocked", SCHEMA_COUNT}, {0}};
static const struct schema_key counted[] = {
#define X(CONSTANT, key) {#key, SCHEMA_KNOWN},
	PAUSE_COUNTS_LIST(X)
#undef X
		{0}};
static const struct schema_key blame_lists[] = {
	{"phases", SCHEMA_LIST("blamed_phase")}, {"longest", SCHEMA_LIST("blamed_pause")}, {0}};
static const struct schema_key blamed_phase[] = {{"name", SCHEMA_STRING}, {0}};
static const struct schema_key parts[] = {
#define X(CONSTANT, key, text) {#key, SCHEMA_COUNT},
	BLAME_PARTS_LIST(X)
#undef X
		{0}};
static const struct schema_key split[] = {{"parts_ns", SCHEMA_REF("parts")},
					  {"cause", SCHEMA_MAYBE("cause")},
					  {"block", SCHEMA_MAYBE("block")},
					  {0}};
static const struct schema_key block[] = {
	{"ns", SCHEMA_COUNT}, {"stack", SCHEMA_STRINGS}, {"stack_left_out", SCHEMA_COUNT}, {0}};
static const struct schema_key cause[] = {{"part", SCHEMA_STRING},
					  {"ns", SCHEMA_COUNT},
					  {"syscall", SCHEMA_KNOWN},
					  {"tid", SCHEMA_KNOWN},
					  {"comm", SCHEMA_STRING},
					  {"cpu", SCHEMA_KNOWN},
					  {0}};
static const struct schema_key blamed_pause[] = {{"begin_ns", SCHEMA_COUNT},
						 {"ns", SCHEMA_COUNT},
						 {"pid", SCHEMA_COUNT},
						 {"domain", SCHEMA_KNOWN},
						 {"tid", SCHEMA_KNOWN},
						 {"phase", SCHEMA_STRING},
						 {"counted", SCHEMA_MAYBE("counted")},
						 {"waited_for", SCHEMA_MAYBE("culprit")},
						 {"stack", SCHEMA_STRINGS},
						 {"stack_left_out", SCHEMA_COUNT},
						 {0}};
static const struct schema_key culprit[] = {
	{"domain", SCHEMA_KNOWN}, {"tid", SCHEMA_KNOWN}, {"ns", SCHEMA_COUNT}, {0}};

static void put_percentiles(struct json *j)
{
	struct schema_key percentiles[STAT_PERCENTILES + 1] = {{0}};
	char names[STAT_PERCENTILES][STAT_PERCENTILE_BYTES];
	for (unsigned i = 0; i < STAT_PERCENTILES; i++) {
		stat_percentile_name(i, names[i]);
		percentiles[i] = (struct schema_key){names[i], SCHEMA_KNOWN};
	}
	schema_object(j, "percentiles", (const struct schema_key *const[SCHEMA_LISTS]){percentiles},
		      NULL);
}

void stat_schema(struct json *j)
{
	static const struct schema_part objects[] = {
		{"report", {report, optional}},
		{"total", {section}},
		{"budget", {budget_keys}},
		{"process", {pid, named, section, lanes, mmu}},
		{"program", {named, size, section}},
		{"domain", {domain, mmu}},
		{"window", {window}},
		{"lost", {lost}},
		{"pauses", {pauses}},
		{"cut", {cut}},
		{"collections", {collections}},
		{"words", {words}},
		{"phase", {phase}},
		{"blame", {blame, blame_sum, blame_lists}},
		{"blamed_phase", {blamed_phase, blame_sum}},
		{"parts", {parts}},
		{"cause", {cause}},
		{"block", {block}},
		{"counted_sum", {counted_sum, counted}},
		{"counted", {counted}},
		{"blamed_pause", {blamed_pause, split}},
		{"culprit", {culprit, split}},
	};
	schema_put(j,
		   "What 'ebtrace stat --json' writes, schema 1: the report; with --interval one a "
		   "line, "
		   "of all up to at_ns",
		   objects, sizeof(objects) / sizeof(*objects), 1,
		   (const struct schema_key *const[]){optional, mmu, NULL}, put_percentiles);
}
