/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/stat.h"

#define COUNT(name)  "\"" name "\":{\"type\":\"integer\",\"minimum\":0}"
#define KNOWN(name)  "\"" name "\":{\"type\":[\"integer\",\"null\"],\"minimum\":0}"
#define STRING(name) "\"" name "\":{\"type\":\"string\"}"
#define NUMBER(name) "\"" name "\":{\"type\":[\"number\",\"null\"],\"minimum\":0}"
#define SHARE(name)  "\"" name "\":{\"type\":[\"number\",\"null\"],\"minimum\":0,\"maximum\":100}"
#define TRUTH(name)  "\"" name "\":{\"type\":\"boolean\"}"
#define REF(name)    "{\"$ref\":\"#/$defs/" name "\"}"
#define LIST(name)   "{\"type\":\"array\",\"items\":" REF(name) "}"
/* Every object has all its keys and no others. */
#define OBJECT(keys, ...)                                                         \
	"{\"type\":\"object\",\"additionalProperties\":false,\"required\":[" keys \
	"],\"properties\":{" __VA_ARGS__ "}}"

/* clang-format off */
#define SECTION_KEYS \
	"\"wall_ns\",\"cpu_user_ns\",\"cpu_system_ns\",\"peak_rss_bytes\",\"elapsed_ns\"," \
	"\"gc_ns\",\"gc_percent\",\"coverage_percent\",\"lost\",\"pauses\",\"collections\"," \
	"\"words\",\"phases\",\"unmatched_ends\",\"late\",\"damaged\""
#define SECTION \
	COUNT("wall_ns") "," KNOWN("cpu_user_ns") "," KNOWN("cpu_system_ns") "," \
	KNOWN("peak_rss_bytes") "," COUNT("elapsed_ns") "," COUNT("gc_ns") "," \
	SHARE("gc_percent") "," SHARE("coverage_percent") ",\"lost\":" REF("lost") \
	",\"pauses\":" REF("pauses") ",\"collections\":" REF("collections") \
	",\"words\":" REF("words") ",\"phases\":" LIST("phase") "," COUNT("unmatched_ends") "," \
	COUNT("late") "," COUNT("damaged")

static const char schema[] =
	"{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
	"\"title\":\"What 'ebtrace stat --json' writes, schema 1: the report, and with --interval "
	"a line of its own for each interval before it\","
	"\"oneOf\":[" REF("report") "," REF("interval") "],\"$defs\":{"
	"\"report\":" OBJECT(
		"\"kind\",\"schema\",\"source\",\"clock\",\"begin_ns\",\"total\",\"processes\"",
		"\"kind\":{\"const\":\"stat\"},\"schema\":{\"const\":1}," STRING("source") ","
		STRING("clock") "," COUNT("begin_ns") ",\"total\":" REF("total")
		",\"processes\":" LIST("process")) ","
	"\"interval\":" OBJECT(
		"\"kind\",\"schema\",\"begin_ns\",\"end_ns\",\"pauses\",\"p50_ns\",\"p99_ns\","
		"\"max_ns\",\"gc_percent\",\"minor\",\"major\",\"words_per_s\",\"lost_events\","
		"\"lost_words\"",
		"\"kind\":{\"const\":\"interval\"},\"schema\":{\"const\":1}," COUNT("begin_ns") ","
		COUNT("end_ns") "," COUNT("pauses") "," KNOWN("p50_ns") "," KNOWN("p99_ns") ","
		KNOWN("max_ns") "," SHARE("gc_percent") "," COUNT("minor") "," COUNT("major") ","
		NUMBER("words_per_s") "," KNOWN("lost_events") "," COUNT("lost_words")) ","
	"\"total\":" OBJECT(SECTION_KEYS, SECTION) ","
	"\"process\":" OBJECT(
		"\"pid\",\"comm\",\"producer\"," SECTION_KEYS ",\"domains\"",
		COUNT("pid") "," STRING("comm") "," STRING("producer") "," SECTION
		",\"domains\":" LIST("domain")) ","
	"\"domain\":" OBJECT(
		"\"domain\",\"tid\",\"elapsed_ns\",\"gc_ns\",\"gc_percent\",\"pauses\","
		"\"coverage_percent\",\"lost\"",
		KNOWN("domain") "," KNOWN("tid") "," COUNT("elapsed_ns") "," COUNT("gc_ns") ","
		SHARE("gc_percent") "," COUNT("pauses") "," SHARE("coverage_percent")
		",\"lost\":" REF("lost")) ","
	"\"lost\":" OBJECT(
		"\"events\",\"words\",\"history_events\",\"history_words\",\"unwatched_ns\"",
		KNOWN("events") "," COUNT("words") "," KNOWN("history_events") ","
		COUNT("history_words") "," COUNT("unwatched_ns")) ","
	"\"pauses\":" OBJECT(
		"\"count\",\"min_ns\",\"max_ns\",\"mean_ns\",\"stddev_ns\",\"percentiles_ns\","
		"\"cut\"",
		COUNT("count") "," KNOWN("min_ns") "," KNOWN("max_ns") "," NUMBER("mean_ns") ","
		NUMBER("stddev_ns") ",\"percentiles_ns\":" REF("percentiles")
		",\"cut\":" REF("cut")) ","
	"\"percentiles\":" OBJECT(
		"\"25\",\"50\",\"60\",\"70\",\"75\",\"80\",\"85\",\"90\",\"95\",\"96\",\"97\","
		"\"98\",\"99\",\"99.9\",\"99.99\",\"99.999\",\"99.9999\",\"100\"",
		KNOWN("25") "," KNOWN("50") "," KNOWN("60") "," KNOWN("70") "," KNOWN("75") ","
		KNOWN("80") "," KNOWN("85") "," KNOWN("90") "," KNOWN("95") "," KNOWN("96") ","
		KNOWN("97") "," KNOWN("98") "," KNOWN("99") "," KNOWN("99.9") "," KNOWN("99.99") ","
		KNOWN("99.999") "," KNOWN("99.9999") "," KNOWN("100")) ","
	"\"cut\":" OBJECT(
		"\"start\",\"loss\",\"end\",\"late\",\"longest_ns\"",
		COUNT("start") "," COUNT("loss") "," COUNT("end") ","
		COUNT("late") "," COUNT("longest_ns")) ","
	"\"collections\":" OBJECT(
		"\"minor\",\"major\",\"forced_minor\",\"forced_major\",\"compactions\","
		"\"compactions_requested\"",
		COUNT("minor") "," COUNT("major") "," COUNT("forced_minor") ","
		COUNT("forced_major") "," COUNT("compactions") "," COUNT("compactions_requested")) ","
	"\"words\":" OBJECT(
		"\"minor_allocated\",\"major_allocated\",\"promoted\",\"heap_last\",\"heap_max\"",
		KNOWN("minor_allocated") "," KNOWN("major_allocated") "," KNOWN("promoted") ","
		KNOWN("heap_last") "," KNOWN("heap_max")) ","
	"\"phase\":" OBJECT(
		"\"name\",\"stops\",\"count\",\"cut\",\"total_ns\",\"self_ns\",\"max_ns\"",
		STRING("name") "," TRUTH("stops") "," COUNT("count") "," COUNT("cut") ","
		COUNT("total_ns") "," COUNT("self_ns") "," COUNT("max_ns"))
	"}}\n";
/* clang-format on */

const char *stat_schema(void)
{
	return schema;
}
