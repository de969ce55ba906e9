/* SPDX-License-Identifier: BSD-2-Clause */
/* The counters of a lane as numbers of its process: words allocated and promoted, the heap. */
#ifndef REPORT_STAT_MODEL_COUNTERS_H
#define REPORT_STAT_MODEL_COUNTERS_H

#include "report/stat/model/lane.h"

/* Adds an EBT_COUNTER event. */
void stat_counters_add(struct stat_lane *l, const struct ebt_event *ev);
/* The lane's domain has ended: its part of the heap is no longer its own. */
void stat_counters_leave(struct stat_lane *l);

#endif
