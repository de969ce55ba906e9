/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reports of pages as JSON, one object a report, in a line; pages_schema() describes them.
 * Amounts are in pages. Times are ns since the first event of the trace; start_ns is that event's
 * own time.
 */
#ifndef REPORT_PAGES_JSON_H
#define REPORT_PAGES_JSON_H

#include "base/json.h"
#include "report/pages/model/fragmentation.h"
#include "report/pages/model/occupancy.h"
#include "report/pages/pages.h"

int pages_summary_json(struct buf *b, const struct pages_view *v);
int pages_totals_json(struct buf *b, const struct pages_view *v);
int pages_fragmentation_json(struct buf *b, const struct pages_view *v);
int pages_occupancy_json(struct buf *b, const struct pages_view *v);
int pages_churn_json(struct buf *b, const struct pages_view *v);
int pages_heat_json(struct buf *b, const struct pages_view *v);
int pages_lifetimes_json(struct buf *b, const struct pages_view *v);
int pages_owners_json(struct buf *b, const struct pages_view *v);
int pages_damage_json(struct buf *b, const struct pages_view *v);

/* Writes the JSON Schema of all reports, as a value. */
void pages_schema(struct json *j);

/* Pieces of the reports. Opens the object of a report with the keys that all have. */
void pages_json_begin(struct json *j, struct buf *b, const struct pages_view *v,
		      const char *report);
void pages_json_end(struct json *j);
/* Pages by state, as an object. */
void pages_json_state(struct json *j, const char *key, const uint64_t count[PAGES_COUNTS]);
/* The keys of totals, of churn, of damage, in an open object. */
void pages_json_totals(struct json *j, const struct pages_model *m);
void pages_json_churn(struct json *j, const struct pages_model *m);
void pages_json_faults(struct json *j, const struct pages_model *m);
/* Pages that appeared and went for other reasons than the program's calls and faults, as two
 * keys. */
void pages_json_causes(struct json *j, const struct pages_model *m);
/* Objects. */
void pages_json_runs(struct json *j, const char *key, const struct pages_runs *r);
void pages_json_units(struct json *j, const char *key, const struct pages_units *u);
/* Percentiles of times, as an object: null where there is no time. */
void pages_json_times(struct json *j, const char *key, const struct histogram *h);
/* "least" and "most" of a class of sizes. */
void pages_json_class(struct json *j, unsigned size_class);
/* An address, as a string. */
void pages_json_addr(struct json *j, const char *key, uint64_t addr);
/* The number of a P; null: of several others. */
void pages_json_owner(struct json *j, const char *key, const struct pages_model *m, uint32_t slot);
/* A time of the trace, since its begin. */
void pages_json_time(struct json *j, const char *key, const struct pages_model *m, uint64_t ns);

#endif
