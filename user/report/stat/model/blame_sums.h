/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What pauses were made of, added up, and the longest of them. Those of a lane may turn out to have been
 * parts of a longer one: behind a loss, and at the begin of the lane's time, an end may come whose begin
 * was not seen (pauses.h). So they are held until that is known.
 */
#ifndef REPORT_STAT_MODEL_BLAME_SUMS_H
#define REPORT_STAT_MODEL_BLAME_SUMS_H

#include "report/parts/phases.h"
#include "report/stat/model/longest_pauses.h"

struct blame_sum {
	uint64_t pauses, pause_ns;
	uint64_t ns[BLAME_PARTS];
	/* Of the pauses of which the kernel's counts are known. */
	uint64_t counted, never_blocked;
	struct pause_usage usage;
};

/* Who ran while pauses waited for a CPU, by the name of the thread. */
struct blame_runner {
	char comm[BLAME_COMM_BYTES]; /* with a NUL; empty: none */
	bool is_tracer;		     /* as of struct blame_cause: not one of the same name */
	uint64_t ns;		     /* at least: of each pause its longest wait counts */
};

#define BLAME_RUNNERS 32 /* of more names those of the least time are forgotten */

struct blame_sums {
	struct blame_runner runners[BLAME_RUNNERS];
	struct blame_sum total, of_row[PHASES + 1]; /* PHASES: unknown ones */
	struct longest_pauses longest;
};

/* In the order of their ends, each with a reference to its stack. Zeroed memory holds none. */
struct held_pauses {
	struct blame_pause *at;
	uint32_t count, cap;
};

/* longest: so many are kept. The stacks are kept. 0 or -ENOMEM; done() works after either. */
int blame_sums_init(struct blame_sums *s, struct stacks *stacks, uint32_t longest);
void blame_sums_done(struct blame_sums *s);
void blame_sums_add(struct blame_sums *s, const struct blame_pause *p);
/* Copies it. 0 or -ENOMEM. */
int blame_sums_hold(struct blame_sums *s, struct held_pauses *h, const struct blame_pause *p);
/* Those that are held were pauses: adds them. */
void blame_sums_settle(struct blame_sums *s, struct held_pauses *h);
/* They were parts of one. */
void blame_sums_drop(struct blame_sums *s, struct held_pauses *h);

#endif
