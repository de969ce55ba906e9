/* SPDX-License-Identifier: BSD-2-Clause */
/* What spans come to, for those who show it: their names in order, and the slowest of them. */
#ifndef REPORT_SPANS_MODEL_RESULT_H
#define REPORT_SPANS_MODEL_RESULT_H

#include "report/spans/model/sums.h"

#define SPANS_SEEN 16 /* names that match no pattern and are remembered */

struct span_result {
	struct span_sums *sums;
	struct span_name **name; /* the most time first */
	uint32_t names;
	struct span *slowest; /* the slowest first; they are those of the sums */
	uint32_t slow_count;
	uint64_t begin_ns, end_ns; /* the run's begin, or the first event; the end */
	bool knows_threads;	   /* there was an interval without a CPU */
	uint64_t without_room;	   /* fibers and spans of fibers that were not followed */
	uint32_t seen[SPANS_SEEN]; /* texts: names that match no pattern */
	uint32_t seen_count;
	bool seen_more;
};

/* Of the sums, which stay, and to which nothing is added any more; the globs as in struct
 * span_model_options. 0 or -ENOMEM; span_result_done() follows success. */
int span_result_make(struct span_sums *s, const char *const *globs, unsigned glob_count,
		     struct span_result *ret);
void span_result_done(struct span_result *r);

#endif
