/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ebtrace list --events: prints every name and kind that -e can match.
 */
#include "cmd/list_events.h"
#include "cmd/print.h"
#include "session/kinds.h"
#include "session/phases.h"

static void print_one(void *ctx, const char *family, const char *name, const char *help)
{
	const bool *json = ctx;
	if (!*json) {
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

void list_events_each(void (*fn)(void *ctx, const char *family, const char *name, const char *help),
		      void *ctx)
{
	static const char *const stops[] = {
		[TRAITS_RUNS] = "does not stop its domain",
		[TRAITS_STOPS] = "stops its domain",
		[TRAITS_STOPS_PROCESS] = "stops its process",
	};
	for (uint16_t kind = 0; kind < EBT_KINDS; kind++)
		if (kinds_get(kind)->name)
			fn(ctx, "kind", kinds_name(kind), kinds_get(kind)->help);
	for (uint32_t id = UINT32_MAX; phases_next(&id);)
		fn(ctx, "phase", kinds_phase_name(id), stops[phases_find(id)->stop]);
	for (uint32_t id = 0; kinds_counter_name(id); id++)
		fn(ctx, "counter", kinds_counter_name(id), kinds_counter_help(id));
	for (uint32_t id = 0; kinds_lifecycle_name(id); id++)
		fn(ctx, "lifecycle", kinds_lifecycle_name(id), kinds_lifecycle_help(id));
}

void list_events(bool json)
{
	list_events_each(print_one, &json);
}
