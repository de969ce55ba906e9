/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ring files that their processes have left behind. A file that can be locked is written by nobody:
 * see ring_file.h. Nothing here allocates, and no failure is told.
 */
#ifndef EBT_STALE_H
#define EBT_STALE_H

#include <stdbool.h>

/*
 * Removes the file `name` of `dir`, which has the name that we want, if it is stale; with
 * `preserve` not a ring of this boot, which may be unread: this very process has made it before an
 * exec(), or one that had our pid. True: the name is free.
 */
bool ebt_stale_remove(int dir, const char *name, bool preserve);
/*
 * Removes the files that ended programs of this user left to others (`left_over` in <ebtrace/ring.h>)
 * from a directory that is the user's alone; it looks at some of them at most. What a crash has left
 * stays.
 */
void ebt_stale_sweep(int dir);

#endif
