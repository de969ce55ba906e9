/* SPDX-License-Identifier: BSD-2-Clause */
/* What a row of the report is of, beside a name: an argument of a marker, a program, a process. */
#ifndef REPORT_SPANS_MODEL_GROUPING_H
#define REPORT_SPANS_MODEL_GROUPING_H

#include "session/session.h"

enum span_owner { SPANS_OF_ALL, SPANS_BY_PROGRAM, SPANS_BY_PROCESS };

struct span_grouping {
	/* Spans of markers by the value of this argument of their begins: its number, and 1; 0: not
	 * by an argument. */
	uint32_t argument;
	enum span_owner owner;
};

#define SPAN_GROUP_BYTES 256

/* Whether a row may have another name than its spans. */
static inline bool span_groups(const struct span_grouping *g)
{
	return g->owner != SPANS_OF_ALL || g->argument;
}

/*
 * The name of a row, in `scratch` or `name` itself: "p:begin~p:end #0=12" with the value of an
 * argument, if the begin has one; "request of prog", "request of prog (123)". begin: NULL: it is no
 * span of markers.
 */
const char *span_group_name(const struct span_grouping *g, const struct session *s,
			    uint32_t process, const struct ebt_event *begin, const char *name,
			    char scratch[SPAN_GROUP_BYTES]);
/* The name of the program of a process, as far as it is known; never NULL. */
const char *span_program(const struct session *s, uint32_t process);

#endif
