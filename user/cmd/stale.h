/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ring files that nobody writes any more: of processes that were killed, and of runs of ebtrace that
 * were, which leave a directory. A file is one of them only if everything says so: a regular file of
 * ours, named like a ring, with the header of one, not locked, mapped by no process that we can see,
 * and its process gone; and that a process is gone can be told only in the machine's own pid
 * namespace or in a directory that is ours alone. In doubt it is kept, and why is said.
 */
#ifndef CMD_STALE_H
#define CMD_STALE_H

#include "cmd/opts.h"

/* Lists them, a line for each directory, with -v or --json for each file, and removes them with
 * --prune. */
void stale_list(const struct opts *o);

#endif
