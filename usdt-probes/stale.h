/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ring files left by ended processes. A file that can be locked has no writer: see ring_file.h.
 * This module does not allocate, and reports no failure.
 */
#ifndef EBT_STALE_H
#define EBT_STALE_H

#include <stdbool.h>

enum ebt_stale {
	EBT_STALE_REMOVED, /* the name is free */
	EBT_STALE_KEPT,
	EBT_STALE_MAPPED, /* by this process: that of its runtime, or of a copy of this library */
};

/*
 * Removes the file `name` of `dir`, which has the name for our file, if it is stale; with
 * `preserve` except a ring of this boot, which may be unread: this process before an exec(), or an
 * earlier one with our pid, has made it.
 */
enum ebt_stale ebt_stale_remove(int dir, const char *name, bool preserve);
/*
 * Removes the files that ended programs of this user left for removal (`left_over` in
 * <ebtrace/ring.h>) from a directory that is the user's alone; inspects a limited number of files.
 * Files of crashed programs are kept.
 */
void ebt_stale_sweep(int dir);

#endif
