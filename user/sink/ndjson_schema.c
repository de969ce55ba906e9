/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/ndjson.h"

/* One branch a kind; `more` is what its lines always have beside ts, kind and domain. */
#define KIND(name, more)                                       \
	"{\"properties\":{\"kind\":{\"const\":\"" name "\"}}," \
	"\"required\":[\"ts\",\"kind\",\"domain\"" more "]}"
#define NAMED ",\"id\",\"name\""

const char *ndjson_schema(void)
{
	return "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
	       "\"title\":\"A line of ebtrace's NDJSON, schema 1\",\"type\":\"object\","
	       "\"required\":[\"kind\"],\"properties\":{"
	       "\"kind\":{\"type\":\"string\"},\"schema\":{\"const\":1},"
	       "\"source\":{\"type\":\"string\"},\"clock\":{\"type\":\"string\"},"
	       "\"ts\":{\"type\":\"integer\"},\"domain\":{\"type\":\"integer\",\"minimum\":-1},"
	       "\"id\":{\"type\":\"integer\"},\"name\":{\"type\":\"string\"},"
	       "\"value\":{\"type\":\"integer\"},"
	       "\"values\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}},"
	       "\"data\":{\"type\":\"string\",\"pattern\":\"^([0-9a-f]{2})*$\"},"
	       "\"pid\":{\"type\":\"integer\"},\"tid\":{\"type\":\"integer\"},"
	       "\"cpu\":{\"type\":\"integer\"},\"pos\":{\"type\":\"integer\"},"
	       "\"events\":{\"type\":\"integer\"},\"words\":{\"type\":\"integer\"},"
	       "\"since\":{\"type\":\"integer\"},\"offset\":{\"type\":\"integer\"},"
	       "\"what\":{\"type\":\"string\"},\"late\":{\"type\":[\"boolean\",\"integer\"]},"
	       "\"history\":{\"const\":true},\"cut\":{\"const\":true},"
	       "\"change\":{\"enum\":[\"fork\",\"exec\",\"exit\",\"unknown\"]},"
	       "\"child\":{\"type\":\"integer\"}},"
	       "\"oneOf\":["
	       "{\"properties\":{\"kind\":{\"const\":\"header\"}},\"required\":"
	       "[\"schema\",\"source\",\"pid\",\"clock\",\"start_ns\"]},"
	       "{\"properties\":{\"kind\":{\"const\":\"summary\"}},\"required\":"
	       "[\"events\",\"lost_events\",\"lost_words\",\"late\",\"damaged\"]}," KIND("begin", NAMED) "," KIND("end", NAMED) "," KIND("counter", NAMED ",\"value\"") "," KIND(
		       "lifecycle",
		       NAMED) "," KIND("alloc_sizes",
				       ",\"values\"") "," KIND("unit",
							       NAMED) "," KIND("int", NAMED
									       ",\"value\"") "," KIND("span_begin",
												      NAMED) "," KIND("span_end",
														      NAMED) "," KIND("custom",
																      NAMED
																      ",\"data\"") "," KIND("lost",
																			    ",\"since\"") "," KIND("damage",
																						   ",\"offset\",\"what\"") "," KIND("process",
																										    ",\"change\"") "]}\n";
}
