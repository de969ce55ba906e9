/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/stat.h"

#include "base/json.h"
#include "sink/stat_percentiles.h"

#define COUNT	   "{\"type\":\"integer\",\"minimum\":0}"
#define KNOWN	   "{\"type\":[\"integer\",\"null\"],\"minimum\":0}"
#define STRING	   "{\"type\":\"string\"}"
#define NUMBER	   "{\"type\":[\"number\",\"null\"],\"minimum\":0}"
#define SHARE	   "{\"type\":[\"number\",\"null\"],\"minimum\":0,\"maximum\":100}"
#define TRUTH	   "{\"type\":\"boolean\"}"
#define REF(name)  "{\"$ref\":\"#/$defs/" name "\"}"
#define LIST(name) "{\"type\":\"array\",\"items\":" REF(name) "}"
#define CONST(v)   "{\"const\":" v "}"

/* A key of an object, and what its value is. */
struct key {
	const char *name, *schema; /* NULL: behind the last one */
};

static const struct key report[] = {{"kind", CONST("\"stat\"")},
				    {"schema", CONST("1")},
				    {"source", STRING},
				    {"clock", STRING},
				    {"begin_ns", COUNT},
				    {"total", REF("total")},
				    {"processes", LIST("process")},
				    {0}};
/* Only if processes were added up that have no element of `processes`. */
static const struct key optional[] = {{"programs", LIST("program")}, {0}};
static const struct key interval[] = {{"kind", CONST("\"interval\"")},
				      {"schema", CONST("1")},
				      {"begin_ns", COUNT},
				      {"end_ns", COUNT},
				      {"pauses", COUNT},
				      {"p50_ns", KNOWN},
				      {"p99_ns", KNOWN},
				      {"max_ns", KNOWN},
				      {"gc_percent", SHARE},
				      {"minor", COUNT},
				      {"major", COUNT},
				      {"words_per_s", NUMBER},
				      {"lost_events", KNOWN},
				      {"lost_words", COUNT},
				      {0}};
static const struct key section[] = {{"wall_ns", COUNT},
				     {"cpu_user_ns", KNOWN},
				     {"cpu_system_ns", KNOWN},
				     {"peak_rss_bytes", KNOWN},
				     {"elapsed_ns", COUNT},
				     {"gc_ns", COUNT},
				     {"gc_percent", SHARE},
				     {"coverage_percent", SHARE},
				     {"lost", REF("lost")},
				     {"pauses", REF("pauses")},
				     {"collections", REF("collections")},
				     {"words", REF("words")},
				     {"phases", LIST("phase")},
				     {"unmatched_ends", COUNT},
				     {"late", COUNT},
				     {"damaged", COUNT},
				     {0}};
static const struct key pid[] = {{"pid", COUNT}, {0}};
static const struct key named[] = {{"comm", STRING}, {"producer", STRING}, {0}};
static const struct key size[] = {{"processes", COUNT}, {0}};
static const struct key lanes[] = {{"domains", LIST("domain")}, {0}};
static const struct key domain[] = {{"domain", KNOWN},
				    {"tid", KNOWN},
				    {"elapsed_ns", COUNT},
				    {"gc_ns", COUNT},
				    {"gc_percent", SHARE},
				    {"pauses", COUNT},
				    {"coverage_percent", SHARE},
				    {"lost", REF("lost")},
				    {0}};
static const struct key lost[] = {{"events", KNOWN},	     {"words", COUNT},
				  {"history_events", KNOWN}, {"history_words", COUNT},
				  {"unwatched_ns", COUNT},   {0}};
static const struct key pauses[] = {{"count", COUNT},	   {"min_ns", KNOWN},
				    {"max_ns", KNOWN},	   {"mean_ns", NUMBER},
				    {"stddev_ns", NUMBER}, {"percentiles_ns", REF("percentiles")},
				    {"cut", REF("cut")},   {0}};
static const struct key cut[] = {{"start", COUNT}, {"loss", COUNT},	  {"end", COUNT},
				 {"late", COUNT},  {"longest_ns", COUNT}, {0}};
static const struct key collections[] = {{"minor", COUNT},
					 {"major", COUNT},
					 {"forced_minor", COUNT},
					 {"forced_major", COUNT},
					 {"compactions", COUNT},
					 {"compactions_requested", COUNT},
					 {0}};
static const struct key words[] = {{"minor_allocated", KNOWN}, {"major_allocated", KNOWN},
				   {"promoted", KNOWN},	       {"heap_last", KNOWN},
				   {"heap_max", KNOWN},	       {0}};
static const struct key phase[] = {
	{"name", STRING},    {"stops", TRUTH},	 {"count", COUNT},  {"cut", COUNT},
	{"total_ns", COUNT}, {"self_ns", COUNT}, {"max_ns", COUNT}, {0}};

#define LISTS 5

/* Every object has the keys of its lists, in their order, and no others. */
static void put_object(struct json *j, const char *name, const struct key *const lists[LISTS])
{
	json_key_open(j, name, '{');
	json_key_str(j, "type", "object");
	json_key_bool(j, "additionalProperties", false);
	json_key_open(j, "required", '[');
	for (unsigned i = 0; lists[i]; i++)
		for (const struct key *k = lists[i]; k->name && lists[i] != optional; k++)
			json_string(j, k->name, strlen(k->name));
	json_close(j, ']');
	json_key_open(j, "properties", '{');
	for (unsigned i = 0; lists[i]; i++) {
		for (const struct key *k = lists[i]; k->name; k++) {
			json_key(j, k->name);
			json_raw(j, k->schema);
		}
	}
	json_close(j, '}');
	json_close(j, '}');
}

static void put_percentiles(struct json *j)
{
	struct key percentiles[STAT_PERCENTILES + 1] = {{0}};
	char names[STAT_PERCENTILES][STAT_PERCENTILE_BYTES];
	for (unsigned i = 0; i < STAT_PERCENTILES; i++) {
		stat_percentile_name(i, names[i]);
		percentiles[i] = (struct key){names[i], KNOWN};
	}
	put_object(j, "percentiles", (const struct key *const[LISTS]){percentiles});
}

void stat_schema(struct json *j)
{
	static const struct {
		const char *name;
		const struct key *lists[LISTS];
	} objects[] = {
		{"report", {report, optional}},
		{"interval", {interval}},
		{"total", {section}},
		{"process", {pid, named, section, lanes}},
		{"program", {named, size, section}},
		{"domain", {domain}},
		{"lost", {lost}},
		{"pauses", {pauses}},
		{"cut", {cut}},
		{"collections", {collections}},
		{"words", {words}},
		{"phase", {phase}},
	};
	json_open(j, '{');
	json_key_str(j, "$schema", "https://json-schema.org/draft/2020-12/schema");
	json_key_str(j, "title",
		     "What 'ebtrace stat --json' writes, schema 1: the report, and with --interval "
		     "a line of its own for each interval before it");
	json_key_open(j, "oneOf", '[');
	json_raw(j, REF("report"));
	json_raw(j, REF("interval"));
	json_close(j, ']');
	json_key_open(j, "$defs", '{');
	for (unsigned i = 0; i < sizeof(objects) / sizeof(*objects); i++) {
		if (objects[i].lists[0] == cut)
			put_percentiles(j);
		put_object(j, objects[i].name, objects[i].lists);
	}
	json_close(j, '}');
	json_close(j, '}');
}
