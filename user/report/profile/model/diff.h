/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares two profiles, by function and by stack, in sections that are found by their names. A
 * function is its name; the numbers are shares of all samples of a side, so that runs of different
 * lengths and rates compare.
 *
 * The models may be of different sessions, one freed before the other is read: the diff has its own
 * strings. The interval of a difference of shares combines those of its two shares by the squares
 * of their distances; a difference is within the noise of sampling if its interval includes 0.
 */
#ifndef REPORT_PROFILE_MODEL_DIFF_H
#define REPORT_PROFILE_MODEL_DIFF_H

#include "report/profile/model/sections.h"
#include "report/proportion.h"
#include "session/strings.h"
#include "session/totals.h"

enum { PROFILE_BEFORE = 0, PROFILE_AFTER = 1, PROFILE_SIDES = 2 };

/* What a side is of. */
struct profile_side {
	uint32_t program; /* string: its first program, held; 0: no sample */
	uint64_t elapsed_ns, samples, time_ns, period_ns;
	uint64_t ends[KINDS_SAMPLE_ENDS + 1];
	bool has_cpu;
	uint64_t cpu_ns;
	struct totals totals;
};

/* Samples of the sides. */
struct profile_pair {
	uint64_t of[PROFILE_SIDES];
};

struct profile_difference {
	struct proportion value[PROFILE_SIDES];
	double change, low, high; /* after - before, in per cent of all */
	bool is_noise;
};

struct profile_diff_function {
	uint32_t name;	     /* string, held */
	uint32_t file, line; /* of the later side that has the function; 0: not known */
	struct profile_pair self, total;
	uint32_t section; /* private */
};

struct profile_diff_section {
	char name[PROFILE_NAME_BYTES];
	struct profile_pair samples;
	uint32_t root;	       /* in the tree */
	uint32_t first, count; /* of its functions */
};

/* A node of the tree. */
struct profile_diff_node {
	struct profile_pair self, total;
};

/* Readers use the sides, and after finish() the rest. */
struct profile_diff {
	struct strings *strings;
	struct profile_side side[PROFILE_SIDES];
	struct profile_diff_section *section; /* those with the largest shares first */
	/* By section, those whose own share changed most first. */
	struct profile_diff_function *function;
	/* Values are weights: the mean of both shares is weight / weight_of_all. */
	struct frame_tree tree;
	struct profile_diff_node *node; /* by node of the tree */
	double weight_of_all;
	uint32_t sections, functions;
	/* Private. */
	uint32_t section_room, function_room, node_room;
	struct map function_of; /* section and name → function + 1 */
};

/* Done follows init() in any case. 0 or -ENOMEM, as are the next two. */
int profile_diff_init(struct profile_diff *d);
void profile_diff_done(struct profile_diff *d);
/* Adds a side, once each. */
int profile_diff_add(struct profile_diff *d, unsigned side, const struct profile_sections *s,
		     const struct profile_model *m, uint64_t elapsed_ns);
/* After both sides. */
int profile_diff_finish(struct profile_diff *d);

struct profile_difference profile_diff_of(const struct profile_diff *d,
					  const struct profile_pair *samples);

#endif
