/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ring files that nobody writes any more: of processes that were killed, and of runs of ebtrace that
 * were, which leave a directory.
 */
#ifndef CMD_STALE_H
#define CMD_STALE_H

#include "cmd/opts.h"

/* What the directory of a run is called, in one for temporary files. As long as the run lasts, it
 * has a lock (flock) on it. */
#define STALE_RUN_PREFIX "ebtrace-run-"

/* Lists them, a line each, and removes them with --prune. */
void stale_list(const struct opts *o);

#endif
