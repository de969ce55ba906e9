/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The numbers of a model of stat as of a moment: those that it would come to if no more events
 * came, with what is open ended then. The model itself goes on as if there had been no snapshot;
 * the report at the end of a run is the last one. One costs about as much as copying the processes
 * that have not been released, and their lanes; a histogram is copied only while pauses of its
 * process are held (pauses.h), which they are in the first PAUSES_HELD_NS behind a begin or a loss.
 *
 * A moment should not be later than the events that have come: the horizon of struct sink_ops'
 * advance(), or the time of the last event. A process that has not been seen to end lasts until it.
 */
#ifndef REPORT_STAT_MODEL_SNAPSHOT_H
#define REPORT_STAT_MODEL_SNAPSHOT_H

#include "report/stat/model/stat.h"

/* Zeroed memory: none. Readers use all but `room`. */
struct stat_snapshot {
	struct moment at;
	/* Those with numbers of their own, in order of appearance: `next` of each. */
	const struct stat_process *first;
	uint32_t listed;
	uint32_t count;			      /* that there ever were */
	const struct stat_programs *programs; /* of all other processes */
	struct stat_room *room;
};

/*
 * As of `now`. Not known: each process that has not ended lasts until its last event, as at the end
 * of a recording without an end. Valid until the next call for the model or the snapshot, which may
 * have been used before. 0 or -ENOMEM; done() works after either.
 */
int stat_snapshot_take(struct stat_snapshot *s, struct stat_model *m, struct moment now);
void stat_snapshot_done(struct stat_snapshot *s);
/* Adds the numbers of all processes to a sum. 0 or -ENOMEM. */
int stat_snapshot_total(const struct stat_snapshot *s, struct stat_numbers *sum);

#endif
