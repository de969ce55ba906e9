/* SPDX-License-Identifier: BSD-2-Clause */
/* Which names of spans are asked for, by patterns; and some of those that are not. */
#ifndef REPORT_SPANS_MODEL_CHOICE_H
#define REPORT_SPANS_MODEL_CHOICE_H

#include "base/map.h"
#include "report/spans/model/sums.h"

#define SPANS_SEEN 16 /* names that match no pattern and are remembered */

/* Zeroed memory but for the patterns. Readers use those and `seen`. */
struct span_choice {
	const char *const *globs; /* none: all names */
	unsigned count;
	struct map matches;	   /* text → 1: no pattern matches, 2: one does; private */
	uint32_t seen[SPANS_SEEN]; /* texts */
	uint32_t seen_count;
	bool seen_more;
};

/* Whether a pattern matches, or there is none. */
bool span_choice_matches(const struct span_choice *c, const char *name);
/* Whether a pattern matches the name of a phase. */
bool span_choice_matches_a_phase(const struct span_choice *c);
/* Of a span that was seen. */
bool span_choice_wants(struct span_choice *c, struct span_sums *sums, const char *name);
void span_choice_done(struct span_choice *c);

#endif
