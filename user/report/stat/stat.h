/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report of stat (report/stat/model/stat.h), written at the end of a run as text or JSON; with
 * an interval also a line for each.
 */
#ifndef REPORT_STAT_STAT_H
#define REPORT_STAT_STAT_H

#include "base/json.h"
#include "report/stat/sections.h"
#include "session/session.h"
#include "session/tally.h"
#include "stream/sink.h"

struct stat_options {
	bool json;
	bool svg;	      /* a picture of mmu */
	bool mmu;	      /* the least share of the mutator in windows of time */
	enum stat_by by;      /* of the text */
	uint32_t top;	      /* sections at most, those with the most GC time; 0: all */
	uint64_t interval_ns; /* 0: no lines but the report */
	bool blame;	      /* what pauses were made of, also where nothing was counted in them */
	bool counters;	      /* the run is one of tallies alone */
	uint32_t longest;     /* pauses, each with what it was made of */
	unsigned cpus;	      /* that the run may use; 0: not known */
	bool verbose;	      /* text has all percentiles and phases */
};

/* Writes to fd, which stays the caller's. 0 or -ENOMEM. */
int stat_new(const struct session *s, int fd, const struct stat_options *o, struct sink **ret);
/* A struct tally_reader's, with the sink as context. */
void stat_take_tally(void *sink, struct tally *t);
/* Writes the JSON Schema of what it writes with `json`, as a value. */
void stat_schema(struct json *j);

#endif
