/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/ndjson.h"

/* What the lines of a kind always have beside ts, kind and domain. */
#define KIND(name, more)                                       \
	"{\"properties\":{\"kind\":{\"const\":\"" name "\"}}," \
	"\"required\":[\"ts\",\"kind\",\"domain\"" more "]}"
#define NAMED(name, more) KIND(name, ",\"id\",\"name\"" more) ","

#define INTEGER(name) "\"" name "\":{\"type\":\"integer\"},"
#define KNOWN(name)   "\"" name "\":{\"type\":[\"integer\",\"null\"]},"
#define STRING(name)  "\"" name "\":{\"type\":\"string\"},"
#define TRUE(name)    "\"" name "\":{\"const\":true},"

/* clang-format off */
static const char schema[] =
	"{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
	"\"title\":\"A line of ebtrace's NDJSON, schema 1\",\"type\":\"object\","
	"\"required\":[\"kind\"],\"properties\":{"
	/* of the header */
	"\"schema\":{\"const\":1}," STRING("source") STRING("clock") INTEGER("start_ns")
	STRING("producer") STRING("runtime") STRING("comm")
	/* of events */
	STRING("kind") INTEGER("ts") "\"domain\":{\"type\":\"integer\",\"minimum\":-1},"
	INTEGER("pid") INTEGER("tid") INTEGER("cpu") INTEGER("pos") TRUE("history") TRUE("cut")
	"\"late\":{\"type\":[\"boolean\",\"integer\"]}," /* an event is; the summary counts */
	INTEGER("id") STRING("name") INTEGER("value")
	"\"values\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}},"
	"\"data\":{\"type\":\"string\",\"pattern\":\"^([0-9a-f]{2})*$\"},"
	INTEGER("events") INTEGER("words") INTEGER("since") INTEGER("offset") STRING("what")
	"\"change\":{\"enum\":[\"fork\",\"exec\",\"exit\",\"unknown\"]}," INTEGER("child")
	/* of the summary */
	KNOWN("lost_events") INTEGER("lost_words") KNOWN("history_events")
	INTEGER("history_words") INTEGER("unwatched_ns") "\"damaged\":{\"type\":\"integer\"}},"
	"\"oneOf\":["
	"{\"properties\":{\"kind\":{\"const\":\"header\"}},\"required\":"
	"[\"schema\",\"source\",\"pid\",\"clock\",\"start_ns\"]},"
	"{\"properties\":{\"kind\":{\"const\":\"summary\"}},\"required\":"
	"[\"events\",\"lost_events\",\"lost_words\",\"late\",\"damaged\"]},"
	NAMED("begin", "") NAMED("end", "") NAMED("counter", ",\"value\"") NAMED("lifecycle", "")
	NAMED("unit", "") NAMED("int", ",\"value\"") NAMED("span_begin", "") NAMED("span_end", "")
	NAMED("custom", ",\"data\"") KIND("alloc_sizes", ",\"values\"") ","
	KIND("lost", ",\"since\"") "," KIND("damage", ",\"offset\",\"what\"") ","
	KIND("process", ",\"change\"") "]}\n";
/* clang-format on */

const char *ndjson_schema(void)
{
	return schema;
}
