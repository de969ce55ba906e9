/* SPDX-License-Identifier: BSD-2-Clause */
/* Which names of spans are asked for, by patterns; and some of those that are not. */
#ifndef REPORT_SPANS_MODEL_CHOICE_H
#define REPORT_SPANS_MODEL_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#define SPANS_SEEN 16 /* names that match no pattern and are remembered */

/* Zeroed memory but for the patterns. Readers use those and `seen`. */
struct span_choice {
	const char *const *globs; /* none: all names */
	unsigned count;
	uint8_t *matches; /* by text; private */
	uint32_t matches_count;
	uint32_t seen[SPANS_SEEN]; /* texts */
	uint32_t seen_count;
	bool seen_more;
};

/* Whether a pattern matches, or there is none. */
bool span_choice_matches(const struct span_choice *c, const char *name);
/* Whether a pattern matches the name of a phase. */
bool span_choice_matches_a_phase(const struct span_choice *c);
/* Of a span that was seen; text: that of the name, 0 where there was no room for it. */
bool span_choice_wants(struct span_choice *c, const char *name, uint32_t text);
void span_choice_done(struct span_choice *c);

#endif
