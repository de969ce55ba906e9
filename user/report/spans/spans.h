/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report of spans (report/spans/model/spans.h), written at the end of a run in a form; with an
 * interval also a line of text for each, with the spans that hang, or as JSON the report so far.
 * Where no span matches it writes a message with the names that were seen.
 */
#ifndef REPORT_SPANS_SPANS_H
#define REPORT_SPANS_SPANS_H

#include "base/json.h"
#include "report/spans/model/grouping.h"
#include "session/session.h"
#include "stream/sink.h"

enum spans_form { SPANS_TEXT, SPANS_JSON, SPANS_FOLDED, SPANS_SVG };

struct spans_options {
	const char *const *globs; /* as in struct span_model_options */
	unsigned glob_count;
	enum spans_form form;
	struct span_grouping by; /* as in struct span_model_options */
	bool fibers;		 /* likewise */
	uint32_t top;		 /* of the slowest spans */
	bool is_file;		 /* nothing is recorded now */
	uint64_t interval_ns;	 /* of SPANS_TEXT and SPANS_JSON; 0: none */
	bool *ret_none;		 /* set at the end: whether there was no span to report */
};

/* Writes to fd, which stays the caller's. 0 or -ENOMEM. */
int spans_report_new(const struct session *s, int fd, const struct spans_options *o,
		     struct sink **ret);
/* Writes the JSON Schema of what it writes as SPANS_JSON, as a value. */
void spans_schema(struct json *j);

#endif
