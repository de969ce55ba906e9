/* SPDX-License-Identifier: BSD-2-Clause */
/* The sections of a profile, each with a tree of its functions: the mutator and the collector, or
 * what the model was asked for. */
#ifndef REPORT_PROFILE_MODEL_SECTIONS_H
#define REPORT_PROFILE_MODEL_SECTIONS_H

#include "report/frame_tree.h"
#include "report/profile/model/profile.h"

#define PROFILE_NAME_BYTES 280 /* a longer name is cut */

struct profile_section {
	char name[PROFILE_NAME_BYTES];
	uint64_t samples,
		collector; /* or other weight; of these, in phases that stop the mutator */
	uint32_t root;	   /* in the tree */
};

struct profile_sections {
	struct frame_tree tree;
	struct profile_section *section; /* those with the most samples first */
	uint32_t count;
	/* Private. */
	uint32_t room;
	uint32_t *of_context; /* by context */
};

/* Done follows either. 0 or -ENOMEM. */
int profile_sections_make(struct profile_sections *s, const struct profile_model *m);
void profile_sections_done(struct profile_sections *s);

/* A function, wherever it is called: in itself, and with what it calls. */
struct profile_function {
	const char *name, *file; /* file NULL: not known */
	uint32_t line;		 /* 0: not known */
	uint64_t self, total;
	uint64_t heaviest; /* private: of its nodes */
};

/* The functions of a section, those with the most samples of their own first; *ret is to be freed.
 * 0 or -ENOMEM. */
int profile_functions(const struct profile_sections *s, const struct profile_section *of,
		      struct profile_function **ret, uint32_t *ret_count);

/* The name of a place: "mutator", that of a phase, "phase not known", "no domain", "threads".
 * Static. */
const char *profile_place_name(unsigned place);

#endif
