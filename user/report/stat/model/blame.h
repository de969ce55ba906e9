/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What pauses were made of: each pause (phases.h) is split into the time on a CPU, waiting for one,
 * blocked by reason, and waiting for another domain; parts add up to the pause. It needs intervals
 * without a CPU (EBT_OFFCPU) and the thread of a pause, or what the kernel counted in it
 * (pause_counts.h): a pause without a voluntary switch was on a CPU, or waited for one. Where both
 * lack, the part is not known.
 *
 * A domain waits for another one in phases that are barriers: all participants begin the phase when
 * they arrive, and none leaves it before the last has. So the last one to begin it was waited for,
 * from the begin of each other's phase to its own; what is behind that is the waiting domain's own
 * time. What the last one did meanwhile is split, too, which distinguishes a domain without a CPU
 * from one that was long in its own code. A section of arrivals ends when the first participant
 * leaves.
 *
 * A pause is split only if both its ends were seen and no loss cut it. Pauses that began before the
 * run are not in the sums. Nor are pauses with an unseen begin, or pauses inside of them, as far as
 * that turns out in time (pauses.h).
 */
#ifndef REPORT_STAT_MODEL_BLAME_H
#define REPORT_STAT_MODEL_BLAME_H

#include "report/stat/model/blame_sums.h"

struct blame;

/* longest: the number of pauses that are kept. The session is kept. 0 or -ENOMEM. */
int blame_new(const struct session *s, uint32_t longest, struct blame **ret);
void blame_free(struct blame *b); /* NULL is allowed */
/* Calls fn for each pause, when blame_events() is given its end. */
typedef void blame_on_pause(void *ctx, const struct blame_pause *p);
void blame_watch(struct blame *b, blame_on_pause *fn, void *ctx);
/* In order of time. 0 or -ENOMEM. */
int blame_events(struct blame *b, const struct ebt_event *ev, size_t n);
/* As forget() of struct sink_ops. 0 or -ENOMEM. */
int blame_forget(struct blame *b, uint32_t process);

/*
 * The sums up to now, with the longest pauses sorted. They include pauses that may yet turn out to
 * be parts of one with an unseen begin, as the end of the run would count them; those that are open
 * are in no sum. The model goes on as before. Ended with blame_sums_done(), also if it fails:
 * -ENOMEM.
 */
int blame_snapshot(const struct blame *b, struct blame_sums *ret);
/*
 * The longest pause that is open at a moment, split up to it; false: none is. Whether its thread
 * has a CPU is not known behind its last event or switch, and the last moment for which open
 * intervals were emitted.
 */
bool blame_open(struct blame *b, uint64_t now_ns, struct blame_pause *ret);

#endif
