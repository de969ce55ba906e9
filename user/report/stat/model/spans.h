/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The phases of lanes as numbers of their processes: how many, how long, collections that all
 * domains are in together. stream/tracks pairs begins and ends; phases that stop the mutator are
 * reported to the pauses of their lane.
 */
#ifndef REPORT_STAT_MODEL_SPANS_H
#define REPORT_STAT_MODEL_SPANS_H

#include "report/stat/model/sets.h"

/* For the tracks of the stream, with the lane of each as its `user` and the sets as context. */
extern const struct tracks_visitor stat_spans_visitor;
/* An EBT_BEGIN or EBT_END of a lane that is LIVE and BUSY. 0 or -ENOMEM. */
int stat_spans_push(struct stat_sets *sets, struct stat_lane *l, const struct ebt_event *ev);

#endif
