/* SPDX-License-Identifier: BSD-2-Clause */
/* The schema of what ebtrace info --json prints of each kind of input. */
#include "cmd/info_print.h"
#include "cmd/print.h"
#include "report/schema.h"
#include "session/kinds.h"
#include "session/totals.h"

#define KEYS(variable, ...) static const struct schema_key variable[] = {__VA_ARGS__, {0}}

#define FORMAT(name)                                   \
	{"name", SCHEMA_STRING},                       \
	{                                              \
		"format", SCHEMA_CONST("\"" name "\"") \
	}
#define DOMAIN "{\"type\":\"integer\",\"minimum\":-1}"

KEYS(ring, FORMAT("ring"), {"producer", SCHEMA_STRING}, {"producer_assumed", SCHEMA_TRUTH},
     {"runtime", SCHEMA_STRING}, {"pid", SCHEMA_COUNT}, {"rings", SCHEMA_COUNT},
     {"ring_words", SCHEMA_COUNT}, {"events", SCHEMA_COUNT}, {"first_ns", SCHEMA_KNOWN},
     {"last_ns", SCHEMA_KNOWN}, {"lost_events", SCHEMA_KNOWN}, {"lost_words", SCHEMA_COUNT},
     {"history_events", SCHEMA_KNOWN}, {"history_words", SCHEMA_COUNT}, {"damaged", SCHEMA_COUNT},
     {"domains", SCHEMA_LIST("domain")});
KEYS(capture, FORMAT("capture"), {"version", SCHEMA_COUNT}, {"source", SCHEMA_STRING},
     {"producer", SCHEMA_STRING}, {"whole", SCHEMA_TRUTH}, {"processes", SCHEMA_LIST("process")},
     {"blocks", SCHEMA_COUNT}, {"bytes", SCHEMA_COUNT}, {"raw_bytes", SCHEMA_COUNT});
KEYS(triggered, {"trigger", SCHEMA_REF("trigger")});
KEYS(memtrace, FORMAT("memtrace"), {"producer", SCHEMA_STRING}, {"pid", SCHEMA_COUNT},
     {"packets", SCHEMA_COUNT}, {"other_pid_packets", SCHEMA_COUNT}, {"lost_allocs", SCHEMA_COUNT},
     {"raised_times", SCHEMA_COUNT});
KEYS(pagetrace, FORMAT("pagetrace"), {"page_bytes", SCHEMA_COUNT}, {"blocks", SCHEMA_COUNT},
     {"damaged_bytes", SCHEMA_COUNT}, {"has_boot", SCHEMA_TRUTH});
KEYS(kinds, {"kinds", SCHEMA_REF("kinds")});
KEYS(allocations, {"executable", SCHEMA_STRING}, {"host", SCHEMA_STRING},
     {"runtime_params", SCHEMA_STRING}, {"context", SCHEMA_STRING}, {"sample_rate", SCHEMA_NUMBER},
     {"word_bits", SCHEMA_COUNT});
KEYS(process, {"pid", SCHEMA_COUNT}, {"producer", SCHEMA_STRING}, {"runtime", SCHEMA_STRING},
     {"comm", SCHEMA_STRING});
KEYS(domain, {"domain", SCHEMA_COUNT});
KEYS(trigger, {"condition", SCHEMA_STRING}, {"span", SCHEMA_STRING}, {"pid", SCHEMA_COUNT},
     {"domain", DOMAIN}, {"begin_ns", SCHEMA_COUNT}, {"end_ns", SCHEMA_COUNT}, {"ns", SCHEMA_COUNT},
     {"from_ns", SCHEMA_COUNT}, {"kept_ns", SCHEMA_COUNT});

#define FORMATS	    4
#define TOTALS_KEYS 32

/* As totals_put_json() writes them. */
static void list_totals(struct schema_key ret[TOTALS_KEYS + 1])
{
	static const struct totals none;
	struct totals_row row;
	unsigned n = 0;
	for (unsigned at = 0; n < TOTALS_KEYS && totals_next(&none, true, &at, &row);)
		ret[n++] = (struct schema_key){row.key, SCHEMA_KNOWN};
	ret[n] = (struct schema_key){0};
}

/* Objects with keys that may be absent: kinds without events, what only sampled allocations
 * have. */
static void put_more(struct json *j)
{
	struct schema_key kind[EBT_KINDS + 1];
	unsigned n = 0;
	for (uint16_t k = 0; k < EBT_KINDS; k++)
		if (kinds_get(k)->name)
			kind[n++] = (struct schema_key){kinds_name(k), SCHEMA_COUNT};
	kind[n] = (struct schema_key){0};
	const struct schema_key *const of_domain[] = {domain, kind, NULL};
	const struct schema_key *const of_process[] = {process, allocations, NULL};
	const struct schema_key *const of_trigger[] = {trigger, NULL};
	const struct schema_key *const counts[] = {kind, NULL};
	schema_object(j, "kinds", of_domain + 1, counts);
	schema_object(j, "domain", of_domain, counts);
	schema_object(j, "process", of_process, of_process + 1);
	schema_object(j, "trigger", of_trigger, NULL);
}

void info_put_schema(struct json *j)
{
	struct schema_key totals[TOTALS_KEYS + 1];
	list_totals(totals);
	const struct schema_part part[FORMATS] = {
		{"ring", {ring}},
		{"capture", {capture, triggered, totals, kinds}},
		{"memtrace", {memtrace, allocations, totals, kinds}},
		{"pagetrace", {pagetrace, totals, kinds}},
	};
	schema_put(
		j,
		"What 'ebtrace info --json' prints: a line for each input, by its format. null is "
		"what is not known",
		part, FORMATS, FORMATS, (const struct schema_key *const[]){triggered, NULL},
		put_more);
}
