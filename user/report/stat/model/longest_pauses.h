/* SPDX-License-Identifier: BSD-2-Clause */
/* A pause with what it was made of, and the longest of many, with a reference to the stack of each. */
#ifndef REPORT_STAT_MODEL_LONGEST_PAUSES_H
#define REPORT_STAT_MODEL_LONGEST_PAUSES_H

#include "report/parts/blame_parts.h"
#include "report/parts/ids.h"
#include "session/pause_usage.h"

/* Another domain that was waited for; the longest such wait of a pause. */
struct blame_culprit {
	uint64_t ns; /* 0: none */
	uint16_t domain;
	uint32_t tid;		  /* 0: not known */
	struct blame_split split; /* of its time while it was waited for */
};

struct blame_pause {
	uint32_t pid, tid; /* tid 0: not known */
	uint16_t domain;
	uint32_t process;    /* its index */
	uint32_t phase, row; /* the outermost phase, and its phases_row() */
	uint64_t begin_ns, end_ns;
	uint64_t ns;	/* its length (pause_clock.h): at most end_ns - begin_ns */
	uint32_t stack; /* where it began; 0: not recorded */
	struct blame_split split;
	struct blame_culprit culprit;
	bool has_usage;
	struct pause_usage usage;
};

struct longest_pauses {
	struct stacks *stacks;
	struct blame_pause *at; /* a heap, the shortest of them first */
	uint32_t count, max;
};

/* The stacks are kept. 0 or -ENOMEM. */
int longest_pauses_init(struct longest_pauses *l, struct stacks *stacks, uint32_t max);
void longest_pauses_done(struct longest_pauses *l);
/* Copies the pause if it is one of the longest. */
void longest_pauses_add(struct longest_pauses *l, const struct blame_pause *p);
/* Sorts them, the longest first. */
void longest_pauses_sort(struct longest_pauses *l);

#endif
