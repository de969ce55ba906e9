/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/pages/json.h"

#include "report/schema.h"

#define ADDRESS	      "{\"type\":\"string\",\"pattern\":\"^0x[0-9a-f]+$\"}"
#define MAYBE_ADDRESS "{\"type\":[\"string\",\"null\"]}"
#define SIGNED	      "{\"type\":\"integer\"}"
#define MAYBE_P	      "{\"type\":[\"integer\",\"null\"]}"
#define RATE	      "{\"type\":[\"number\",\"null\"]}"
#define PART	      "{\"type\":\"number\",\"minimum\":0,\"maximum\":1}"
#define COUNTS	      "{\"type\":\"array\",\"items\":" SCHEMA_COUNT "}"
#define STATE	      "{\"enum\":[\"unseen\",\"allocated\",\"free\",\"scavenged\"]}"
#define OF	      "{\"enum\":[\"heap\",\"address_space\"]}"
#define FAULT                                                                              \
	"{\"enum\":[\"double_alloc\",\"double_free\",\"scavenged_allocated\",\"scavenged_" \
	"unseen\","                                                                        \
	"\"untracked\"]}"

#define KEYS(variable, ...) static const struct schema_key variable[] = {__VA_ARGS__, {0}}

KEYS(head, {"kind", SCHEMA_CONST("\"pages\"")}, {"schema", SCHEMA_CONST("1")});
#define REPORT(name) KEYS(is_##name, {"report", SCHEMA_CONST("\"" #name "\"")})
REPORT(summary);
REPORT(totals);
REPORT(fragmentation);
REPORT(occupancy);
REPORT(churn);
REPORT(heat);
REPORT(lifetimes);
REPORT(owners);
REPORT(damage);
KEYS(run, {"of", OF}, {"page_bytes", SCHEMA_COUNT}, {"events", SCHEMA_COUNT},
     {"start_ns", SCHEMA_KNOWN}, {"from_ns", SCHEMA_KNOWN}, {"to_ns", SCHEMA_KNOWN},
     {"lost_events", SCHEMA_KNOWN}, {"damaged", SCHEMA_COUNT}, {"other_events", SCHEMA_COUNT});
KEYS(summary, {"totals", SCHEMA_REF("total")}, {"free_runs", SCHEMA_REF("runs")},
     {"huge", SCHEMA_REF("units")}, {"chunk", SCHEMA_REF("units")},
     {"churn", SCHEMA_REF("returned")}, {"allocations_of_pages", SCHEMA_COUNT},
     {"lifetime", SCHEMA_REF("times")}, {"freed", SCHEMA_COUNT}, {"freed_by_another", SCHEMA_COUNT},
     {"damage", SCHEMA_REF("faults")});
KEYS(changed, {"appeared", SCHEMA_REF("causes")}, {"gone", SCHEMA_REF("causes")},
     {"found_late_ns", SCHEMA_COUNT});
/* clang-format off */
static const struct schema_key causes[] = {
#define EBT_PAGE_CAUSE_DEF(value, CONSTANT, name, help) {#name, SCHEMA_COUNT},
#include <ebtrace/events.def>
	{0}
};
/* clang-format on */
KEYS(total, {"chunks", SCHEMA_COUNT}, {"start", SCHEMA_REF("state")}, {"end", SCHEMA_REF("state")},
     {"peak_pages", SCHEMA_COUNT}, {"peak_ns", SCHEMA_KNOWN}, {"growth_pages", SIGNED},
     {"growth_pages_per_s", RATE});
KEYS(moved, {"allocated_pages", SCHEMA_COUNT}, {"freed_pages", SCHEMA_COUNT},
     {"returned_pages", SCHEMA_COUNT});
KEYS(timeline, {"width_ns", SCHEMA_KNOWN}, {"timeline", SCHEMA_LIST("point")});
KEYS(point, {"begin_ns", SCHEMA_COUNT}, {"end", SCHEMA_REF("state")}, {"most", SCHEMA_COUNT});
KEYS(state, {"allocated", SCHEMA_COUNT}, {"free", SCHEMA_COUNT}, {"scavenged", SCHEMA_COUNT},
     {"unseen", SCHEMA_COUNT});
KEYS(found, {"found_allocated", SCHEMA_COUNT}, {"found_free", SCHEMA_COUNT});
KEYS(fragmentation, {"all", SCHEMA_REF("runs")}, {"free", SCHEMA_REF("runs")},
     {"scavenged", SCHEMA_REF("runs")});
KEYS(runs, {"runs", SCHEMA_COUNT}, {"pages", SCHEMA_COUNT}, {"largest", SCHEMA_COUNT},
     {"largest_addr", MAYBE_ADDRESS}, {"fragmentation", PART}, {"sizes", SCHEMA_LIST("run_class")});
KEYS(size, {"least", SCHEMA_COUNT}, {"most", SCHEMA_COUNT});
KEYS(run_class, {"runs", SCHEMA_COUNT}, {"pages", SCHEMA_COUNT});
KEYS(occupancy, {"huge", SCHEMA_REF("units")}, {"chunk", SCHEMA_REF("units")},
     {"kept_by_few", SCHEMA_LIST("kept")});
KEYS(units, {"unit_bytes", SCHEMA_COUNT}, {"unit_pages", SCHEMA_COUNT}, {"units", SCHEMA_COUNT},
     {"empty", SCHEMA_COUNT}, {"tenths", COUNTS}, {"full", SCHEMA_COUNT}, {"whole", SCHEMA_COUNT},
     {"mixed", SCHEMA_COUNT}, {"returned", SCHEMA_COUNT}, {"few", SCHEMA_COUNT},
     {"kept", SCHEMA_COUNT}, {"kept_allocated", SCHEMA_COUNT}, {"kept_free", SCHEMA_COUNT},
     {"kept_scavenged", SCHEMA_COUNT});
KEYS(addr, {"addr", ADDRESS});
KEYS(holders, {"holders", SCHEMA_LIST("holder")}, {"more_holders", SCHEMA_COUNT});
KEYS(holder, {"p", MAYBE_P}, {"pages", SCHEMA_COUNT}, {"first_ns", SCHEMA_COUNT},
     {"last_ns", SCHEMA_COUNT});
KEYS(returned, {"scavenges", SCHEMA_COUNT}, {"returned_pages", SCHEMA_COUNT},
     {"returned_bytes_per_s", RATE}, {"again_pages", SCHEMA_COUNT}, {"again_bytes_per_s", RATE},
     {"again_after", SCHEMA_REF("times")});
KEYS(again, {"again", SCHEMA_LIST("again_class")});
KEYS(again_class, {"least_ns", SCHEMA_COUNT}, {"below_ns", SCHEMA_KNOWN}, {"pages", SCHEMA_COUNT});
KEYS(times, {"min_ns", SCHEMA_KNOWN}, {"p50_ns", SCHEMA_KNOWN}, {"p90_ns", SCHEMA_KNOWN},
     {"p99_ns", SCHEMA_KNOWN}, {"max_ns", SCHEMA_KNOWN}, {"mean_ns", SCHEMA_NUMBER});
KEYS(heat, {"pages", SCHEMA_COUNT}, {"allocations", SCHEMA_COUNT}, {"never", SCHEMA_COUNT},
     {"times", SCHEMA_LIST("heat_class")}, {"hottest_pages", SCHEMA_LIST("hot_page")},
     {"hottest_huge_pages", SCHEMA_LIST("hot_huge")});
KEYS(heat_class, {"pages", SCHEMA_COUNT}, {"allocations", SCHEMA_COUNT});
KEYS(hot, {"addr", ADDRESS}, {"allocations", SCHEMA_COUNT});
KEYS(hot_page, {"state", STATE}, {"p", MAYBE_P});
KEYS(lifetimes, {"partial_frees", SCHEMA_COUNT}, {"joined_frees", SCHEMA_COUNT},
     {"rest_pages", SCHEMA_COUNT}, {"sizes", SCHEMA_LIST("lifetime_class")});
KEYS(lifetime_class, {"runs", SCHEMA_COUNT}, {"pages", SCHEMA_COUNT}, {"freed_runs", SCHEMA_COUNT},
     {"alive_runs", SCHEMA_COUNT}, {"alive_pages", SCHEMA_COUNT},
     {"lifetime", SCHEMA_REF("times")});
KEYS(owners, {"freed", SCHEMA_COUNT}, {"freed_by_another", SCHEMA_COUNT}, {"others", SCHEMA_COUNT},
     {"ps", SCHEMA_LIST("owner")}, {"matrix", SCHEMA_LIST("cell")});
KEYS(owner, {"p", MAYBE_P}, {"events", SCHEMA_COUNT}, {"allocated", SCHEMA_COUNT},
     {"freed", SCHEMA_COUNT}, {"scavenged", SCHEMA_COUNT});
KEYS(cell, {"allocated_by", MAYBE_P}, {"freed_by", MAYBE_P}, {"pages", SCHEMA_COUNT});
KEYS(faults, {"double_allocs", SCHEMA_COUNT}, {"double_frees", SCHEMA_COUNT},
     {"scavenged_allocated", SCHEMA_COUNT}, {"scavenged_unseen_pages", SCHEMA_COUNT},
     {"untracked", SCHEMA_COUNT}, {"has_boot", SCHEMA_TRUTH}, {"late", SCHEMA_COUNT},
     {"late_boot", SCHEMA_COUNT});
KEYS(damage, {"bytes", SCHEMA_KNOWN}, {"blocks", SCHEMA_KNOWN}, {"backwards", SCHEMA_KNOWN},
     {"damages", SCHEMA_KNOWN}, {"damaged_bytes", SCHEMA_KNOWN},
     {"first_damages", SCHEMA_LIST("place")}, {"first_faults", SCHEMA_LIST("fault")});
KEYS(place, {"offset", SCHEMA_COUNT}, {"bytes", SCHEMA_COUNT}, {"p", SIGNED}, {"ns", SCHEMA_KNOWN});
KEYS(fault, {"fault", FAULT}, {"ns", SCHEMA_COUNT}, {"p", SIGNED}, {"addr", ADDRESS},
     {"pages", SCHEMA_COUNT}, {"faulty_pages", SCHEMA_COUNT});

#define REPORTS 9

static const struct schema_part objects[] = {
	/* The reports are first. */
	{"summary", {head, is_summary, run, summary, changed}},
	{"totals", {head, is_totals, run, total, moved, timeline}},
	{"fragmentation", {head, is_fragmentation, run, fragmentation}},
	{"occupancy", {head, is_occupancy, run, occupancy}},
	{"churn", {head, is_churn, run, returned, again}},
	{"heat", {head, is_heat, run, heat}},
	{"lifetimes", {head, is_lifetimes, run, lifetimes}},
	{"owners", {head, is_owners, run, owners}},
	{"damage", {head, is_damage, run, faults, changed, damage}},
	{"total", {total, moved}},
	{"point", {point, moved}},
	{"state", {state, found}},
	{"runs", {runs}},
	{"run_class", {size, run_class}},
	{"units", {units}},
	{"kept", {addr, state, holders}},
	{"holder", {holder}},
	{"returned", {returned}},
	{"again_class", {again_class}},
	{"times", {times}},
	{"heat_class", {size, heat_class}},
	{"hot_page", {hot, hot_page}},
	{"hot_huge", {hot}},
	{"lifetime_class", {size, lifetime_class}},
	{"owner", {owner}},
	{"cell", {cell}},
	{"faults", {faults}},
	{"causes", {causes + 1}}, /* the first one is none */
	{"place", {place}},
	{"fault", {fault}},
};

void pages_schema(struct json *j)
{
	schema_put(j,
		   "What 'ebtrace pages --json' writes, schema 1: one report. Amounts are pages of "
		   "page_bytes; times are ns since start_ns; a P, or thread, of null is several "
		   "others",
		   objects, sizeof(objects) / sizeof(*objects), REPORTS, NULL, NULL);
}
