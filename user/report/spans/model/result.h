/* SPDX-License-Identifier: BSD-2-Clause */
/* What spans come to, for what shows it: their names in order, and the slowest of them. */
#ifndef REPORT_SPANS_MODEL_RESULT_H
#define REPORT_SPANS_MODEL_RESULT_H

#include "report/spans/model/choice.h"
#include "report/spans/model/sums.h"

struct span_domain {
	uint32_t pid;
	uint16_t domain;
	uint64_t ns[SPAN_DOMAIN_STATES];
};

struct span_result {
	struct span_sums *sums;
	struct span_name **name; /* the most time first */
	uint32_t names;
	struct span *slowest; /* the slowest first; they are those of the sums */
	uint32_t slow_count;
	uint64_t begin_ns, end_ns;	  /* the run's begin, or the first event; the end */
	const struct span_domain *domain; /* that run fibers, if these were asked for */
	uint32_t domains;
	bool knows_threads;		  /* there was an interval without a CPU */
	uint64_t without_room;		  /* fibers and spans of fibers that were not followed */
	const struct span_choice *choice; /* with names that match no pattern */
};

/* Of the sums, which stay, and to which nothing is added any more; the globs of struct
 * span_choice. 0 or -ENOMEM; span_result_done() follows success. */
int span_result_make(struct span_sums *s, const char *const *globs, unsigned glob_count,
		     struct span_result *ret);
void span_result_done(struct span_result *r);

#endif
