/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reports what keeps the rings of a process from being read as they were written: once for each
 * process. It changes nothing.
 */
#ifndef ENGINE_LIVE_RING_WARNINGS_H
#define ENGINE_LIVE_RING_WARNINGS_H

#include "engine/live/follow.h"
#include "proc/ringfile.h"

/* The n rings, RINGFILE_MAX at most, were found open in the process. */
void ring_warnings_report(const struct report *r, struct followed *p, const struct ringfile *found,
			  int n);
/* The ring of a process is read, and has not what --blame or --stack want. */
void ring_warnings_unexplained(const struct engine *e, struct followed *p);

#endif
