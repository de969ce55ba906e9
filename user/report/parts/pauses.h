/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pauses of one lane (pause_clock.h): their lengths go into the sum of the process (struct
 * stat_pauses), their union is the GC time of the lane.
 *
 * Behind a loss, and at the begin of the lane's time, an end without a begin may come; then
 * all pauses since were parts of that one. So they are held, PAUSES_HELD_MAX at most:
 *
 *             pauses_unsure      pauses_add: a pause  held for PAUSES_HELD_NS,  pauses_orphan
 *                                                     or too many, or settled
 *   SURE      UNSURE             counted              -                         - (unmatched)
 *   UNSURE    UNSURE, settled    held                 SURE: the held count      CUT: the held are
 *                                                                               dropped, 1 is cut
 *   CUT       UNSURE, settled    held                 SURE: the held count      CUT: the held are
 *                                                                               dropped
 *
 * A pause that is itself cut by what made the lane unsure is the one that is cut: CUT.
 */
#ifndef REPORT_PARTS_PAUSES_H
#define REPORT_PARTS_PAUSES_H

#include "report/parts/numbers.h"
#include "report/parts/pause_clock.h"

#define PAUSES_HELD_NS	30000000000ull /* hardly any pause lasts longer */
#define PAUSES_HELD_MAX 1024	       /* 4 times a power of 4 */

enum pauses_certainty { PAUSES_SURE, PAUSES_UNSURE, PAUSES_CUT };

/* Zeroed memory, with `sum` set: no pauses. */
struct pauses {
	struct stat_pauses *sum; /* of the process */
	struct pause_clock clock;
	uint64_t count;

	enum pauses_certainty certainty;
	enum stat_cut unsure_cause;
	uint64_t unsure_ns, unsure_gc_ns; /* since when, and clock.gc_ns then */
	uint64_t *held;
	uint32_t held_count, held_cap;
};

void pauses_done(struct pauses *p);
/*
 * A pause of `ns` has ended. cut: STAT_CUTS if both its ends are known. now_ns: of the stream.
 * interval: counts it too, or NULL. 0 or -ENOMEM.
 */
int pauses_add(struct pauses *p, uint64_t ns, enum stat_cut cut, uint64_t now_ns,
	       struct histogram *interval);
/* From now_ns on an end without a begin may come. */
void pauses_unsure(struct pauses *p, uint64_t now_ns, enum stat_cut cause);
/* No end without a begin will come any more: what is held counts. 0 or -ENOMEM. */
int pauses_settle(struct pauses *p);
/* An end without a begin has come, `ns` after the state became unsure; its phase stops the
 * mutator. */
void pauses_orphan(struct pauses *p, uint64_t ns);

#endif
