/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stale ring files: those of killed processes, and the directories of killed runs of ebtrace. A
 * file is stale only if all of this holds: it is a regular file of our user, has the name and the
 * header of a ring, is not locked, no visible process maps it, and its process has ended; which is
 * certain only in the machine's own pid namespace or in a directory that is ours alone. Any other
 * file is kept, and the reason is printed.
 */
#ifndef CMD_STALE_H
#define CMD_STALE_H

#include "cmd/opts.h"

/* Lists stale files, a line for each directory, with -v or --json for each file; removes them with
 * --prune. */
void stale_list(const struct opts *o);

#endif
