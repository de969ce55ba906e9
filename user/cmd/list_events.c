/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ebtrace list --events: every name and kind that -e may match, from the one list of them.
 */
#include <string.h>

#include "cmd/list.h"
#include "cmd/print.h"
#include "core/names.h"
#include "sink/stat_phases.h"

struct named {
	const char *name, *help;
};

static const struct named counters[] = {
#define EBT_COUNTER_ID(id, name, help) {#name, help},
#include <ebtrace/events.def>
};
static const struct named lifecycles[] = {
#define EBT_LIFECYCLE_ID(id, name, help) {#name, help},
#include <ebtrace/events.def>
};

static const struct {
	uint16_t kind;
	const char *help;
} kinds[] = {
	{EBT_BEGIN, "a phase begins"},
	{EBT_END, "a phase ends"},
	{EBT_COUNTER, "a counter has a value"},
	{EBT_LIFECYCLE, "something happens to a ring, a domain or the process"},
	{EBT_ALLOC_SIZES, "allocations since the last one, by size"},
	{EBT_UNIT, "an event of the program, without a value"},
	{EBT_INT, "an event of the program, with a number"},
	{EBT_SPAN_BEGIN, "a span of the program begins"},
	{EBT_SPAN_END, "a span of the program ends"},
	{EBT_CUSTOM, "an event of the program, with bytes"},
	{EBT_LOST, "events are missing here; always shown"},
	{EBT_DAMAGE, "a ring is damaged here; always shown"},
	{EBT_PROCESS, "fork, exec or exit; always shown"},
};

static void print_one(const char *family, const char *name, const char *help, bool json)
{
	if (!json) {
		print("%-10s %-36s %s\n", family, name, help);
		return;
	}
	struct json_line line;
	print_json_begin(&line);
	json_open(&line.json, '{');
	json_key_str(&line.json, "family", family);
	json_key_str(&line.json, "name", name);
	json_key_str(&line.json, "help", help);
	json_close(&line.json, '}');
	print_json_end(&line);
}

void list_events(bool json)
{
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		print_one("kind", names_kind(kinds[i].kind), kinds[i].help, json);
	for (uint32_t i = 0; i < STAT_PHASES; i++)
		print_one("phase", stat_phase_name(i),
			  stat_phase_stops(i) ? "stops its domain" : "does not stop its domain",
			  json);
	for (unsigned i = 0; i < sizeof(counters) / sizeof(*counters); i++)
		print_one("counter", counters[i].name, counters[i].help, json);
	for (unsigned i = 0; i < sizeof(lifecycles) / sizeof(*lifecycles); i++)
		print_one("lifecycle", lifecycles[i].name, lifecycles[i].help, json);
}
