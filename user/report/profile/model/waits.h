/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The blocks of a profile: intervals in which threads did not run (session/offcpu.h), by what they
 * waited for and which thread ended that. A block is up to two waits: what the thread was blocked
 * in, and the time at its end in which it could run and waited for a CPU.
 */
#ifndef REPORT_PROFILE_MODEL_WAITS_H
#define REPORT_PROFILE_MODEL_WAITS_H

#include "base/map.h"
#include "report/parts/blame_parts.h"
#include "session/kinds.h"
#include "session/offcpu.h"

#define WAITS_ROWS 4096 /* at most; what has no row is counted in `others` */

/* What ended a wait. */
enum waits_by {
	WAITS_BY_UNKNOWN,
	WAITS_BY_THREAD,    /* it woke the thread; of a wait for a CPU, it ran there */
	WAITS_BY_INTERRUPT, /* a timer, a device */
	WAITS_STILL_OPEN,
};

struct waits_row {
	enum blame_part part;
	int32_t syscall; /* BLAME_NO_CALL: none */
	enum waits_by by;
	char comm[BLAME_COMM_BYTES]; /* of WAITS_BY_THREAD; may be empty */
	uint64_t count, ns, longest_ns;
};

/* Zeroed memory is an empty one. */
struct waits {
	uint64_t blocks, ns, shortest_ns, longest_ns;
	uint64_t open, open_ns;		      /* of these, not ended when the record was made */
	uint64_t ends[KINDS_SAMPLE_ENDS + 1]; /* of their stacks; the last: none was kept */
	struct waits_row *row;
	uint32_t rows;
	uint64_t others, others_ns;
	/* Private. */
	uint32_t room;
	struct map row_of; /* row + 1, by a hash of its key; those that collide follow it */
};

void waits_done(struct waits *w);
/* What a block is blocked in, and how long at its end it waits for a CPU. */
enum blame_part waits_part(const struct offcpu *o, uint64_t *ret_wait_ns);
/* has_stack: its event has one. 0 or -ENOMEM. */
int waits_add(struct waits *w, const struct offcpu *o, bool has_stack);
/* Puts rows in order, those with the most time first. */
void waits_sort(struct waits *w);

#endif
