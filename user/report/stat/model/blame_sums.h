/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What pauses were made of, added up, and the longest of them. Those of a lane may turn out to have
 * been parts of a longer one: behind a loss, and at the begin of the lane's time, an end without a
 * begin may come (pauses.h). So they are held until that is known.
 */
#ifndef REPORT_STAT_MODEL_BLAME_SUMS_H
#define REPORT_STAT_MODEL_BLAME_SUMS_H

#include "report/parts/blame_parts.h"
#include "session/pause_counts.h"
#include "session/phases.h"
#include "session/stacks.h"

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
	/* Its splits have stacks, too; blame_pause_hold() is of all of these. */
	struct blame_split split;
	struct blame_culprit culprit;
	bool has_counts;
	struct pause_counts counts;
};
struct longest_pauses {
	struct stacks *stacks;
	struct blame_pause *at; /* a heap, the shortest of them first */
	uint32_t count, max;
};
struct blame_sum {
	uint64_t pauses, pause_ns;
	uint64_t ns[BLAME_PARTS];
	/* Of the pauses with known counts of the kernel. */
	uint64_t counted, never_blocked;
	struct pause_counts counts;
};
/* The threads of one name that ran while pauses waited for a CPU. */
struct blame_runner {
	char comm[BLAME_COMM_BYTES]; /* with a NUL; empty: none */
	bool is_tracer;		     /* as of struct blame_cause: not one of the same name */
	uint64_t ns;		     /* at least: of each pause its longest wait counts */
};
#define BLAME_RUNNERS 32 /* of more names those of the least time are forgotten */
struct blame_sums {
	bool is_known; /* there was an interval without a CPU */
	struct blame_runner runners[BLAME_RUNNERS];
	struct blame_sum total, of_row[PHASE_ROWS]; /* by phases_row() */
	struct longest_pauses longest;
};
/* In the order of their ends, each with a reference to its stack. Zeroed memory holds none. */
struct held_pauses {
	struct blame_pause *at;
	uint32_t count;
};

/* Adds and drops a reference to each stack of a pause. */
void blame_pause_hold(struct stacks *t, const struct blame_pause *p);
void blame_pause_drop(struct stacks *t, const struct blame_pause *p);
/* longest: the number of pauses that are kept. The stacks are kept. 0 or -ENOMEM; done() works
 * after either, and of zeroed memory. */
int blame_sums_init(struct blame_sums *s, struct stacks *stacks, uint32_t longest);
void blame_sums_done(struct blame_sums *s);
/* Copies the pause. */
void blame_sums_add(struct blame_sums *s, const struct blame_pause *p);
/* 0, or -ENOMEM: *ret is as before. */
int blame_sums_copy(struct blame_sums *ret, const struct blame_sums *s);
/* Sorts the longest ones, the longest first; no pause is added to them then. */
void blame_sums_sort(struct blame_sums *s);
/* The one that ran the most while pauses waited for a CPU; NULL: none is known. */
const struct blame_runner *blame_sums_runner(const struct blame_sums *s);

/* Copies the pause. 0 or -ENOMEM. */
int blame_sums_hold(struct blame_sums *s, struct held_pauses *h, const struct blame_pause *p);
/* Adds the held pauses, and holds them further. */
void blame_sums_add_held(struct blame_sums *s, const struct held_pauses *h);
/* The held pauses were pauses: adds them, and holds them no longer. */
void blame_sums_settle(struct blame_sums *s, struct held_pauses *h);
/* The held pauses were parts of one: drops them. */
void blame_sums_drop(struct blame_sums *s, struct held_pauses *h);

#endif
