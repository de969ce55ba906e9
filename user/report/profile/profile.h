/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report of profile (report/profile/model/profile.h), written at the end of a run: a function
 * that writes the model's numbers in one format. One sink runs the model for all of them.
 */
#ifndef REPORT_PROFILE_PROFILE_H
#define REPORT_PROFILE_PROFILE_H

#include "base/buf.h"
#include "base/json.h"
#include "report/profile/model/sections.h"
#include "report/schema.h"
#include "session/session.h"
#include "stream/sink.h"

#define PROFILE_TOP 20 /* functions of a table, unless the user says how many */

struct profile_diff;

struct profile_options {
	enum profile_by by;
	enum profile_time time;
	uint64_t min_ns;	   /* of blocks that count */
	bool marked;		   /* the stacks of blocks end with what these waited for */
	uint32_t top;		   /* 0: PROFILE_TOP in text, all in JSON */
	struct profile_diff *diff; /* NULL: not of this report */
};

/* What a report prints: plain data. */
struct profile_view {
	const struct session *session;
	const struct profile_model *model;
	const struct profile_sections *sections;
	struct profile_options opt;
	uint64_t elapsed_ns;
	struct moment start; /* CLOCK_REALTIME */
};

/* Writes a report. 0 or -ENOMEM. */
typedef int profile_put(struct buf *b, const struct profile_view *v);

int profile_text(struct buf *b, const struct profile_view *v);
int profile_json(struct buf *b, const struct profile_view *v);
int profile_folded(struct buf *b, const struct profile_view *v);
int profile_svg(struct buf *b, const struct profile_view *v);
int profile_pprof(struct buf *b, const struct profile_view *v);

#define PROFILE_NO_STACK "[no stack]" /* what has none, in pictures and folded stacks */

/* The line of how stacks end. title: "Stacks"; unknown: what is printed of ends without a kind. */
void profile_put_ends(struct buf *b, const char *title, const char *unknown,
		      const uint64_t ends[KINDS_SAMPLE_ENDS + 1]);
/* Prints a part of all samples, or of another weight. */
typedef void profile_put_share(struct buf *b, uint64_t part, uint64_t whole);
/* The functions of a section, below `head`, with their shares of `whole`. 0 or -ENOMEM. */
int profile_put_functions(struct buf *b, const struct profile_view *v,
			  const struct profile_section *of, const char *head, uint64_t whole,
			  profile_put_share *put_share);
/* "off_cpu", "wall", "on_cpu". Static. */
const char *profile_time_name(enum profile_time time);
/* For profiles of time, in place of the two above. */
int profile_time_text(struct buf *b, const struct profile_view *v);
int profile_time_json(struct buf *b, const struct profile_view *v);

/* Writes to fd, which stays the caller's. 0 or -ENOMEM. */
int profile_new(const struct session *s, int fd, profile_put *put, const struct profile_options *o,
		struct sink **ret);
/* The lists of keys of a profile of time, in a schema. */
#define PROFILE_TIME_PARTS 6
extern const struct schema_part profile_time_parts[PROFILE_TIME_PARTS];
/* Writes the JSON Schema of profile_json(), as a value. */
void profile_schema(struct json *j);

#endif
