/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reports of mem as JSON, one object a report, in a line; mem_schema() describes them. They
 * have all sites, or those of --top. Bytes are written with the ends of their 95 % interval.
 */
#ifndef REPORT_MEM_JSON_H
#define REPORT_MEM_JSON_H

#include "base/json.h"
#include "report/mem/mem.h"
#include "report/mem/model/mem.h"

/* The reports. Of what they need see mem.h. */
int mem_summary_json(struct buf *b, const struct mem_view *v);
int mem_hotspots_json(struct buf *b, const struct mem_view *v);
int mem_live_json(struct buf *b, const struct mem_view *v);
int mem_lifetimes_json(struct buf *b, const struct mem_view *v);

/* Writes the JSON Schema of all reports, as a value. */
void mem_schema(struct json *j);

/* Pieces of the reports. Opens the object of a report with the keys that all have. */
void mem_json_begin(struct json *j, struct buf *b, const char *report);
void mem_json_end(struct json *j);
/* The programs, and how much of them was recorded. */
void mem_json_run(struct json *j, const struct mem_view *v);
/* The members "bytes", "low" and "high". */
void mem_json_amount(struct json *j, const struct mem_amount *a);
/* The members "value", "low" and "high". */
void mem_json_value(struct json *j, const struct mem_amount *a);
/* The members of an amount, with "samples" and "objects". */
void mem_json_measure(struct json *j, const struct mem_measure *m);
/* The members of mem_json_measure() as an object. */
void mem_json_key_measure(struct json *j, const char *key, const struct mem_measure *m);
/* "function" as the source names it, "symbol" and "file". */
void mem_json_name(struct json *j, const char *shown, const char *symbol, const char *file);
void mem_json_function(struct json *j, const struct mem_view *v, const struct mem_function *f);
void mem_json_positions(struct json *j, const struct mem_function *f);
/* The number of sites of a report. */
uint32_t mem_json_sites(const struct mem_view *v, const struct mem_sites *t);

#endif
