/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files of a rotated output (--rotate): FILE is the newest complete one, FILE.1 the one before
 * it, and so on, with the number before the suffix: run.1.ebt. Only regular files of our own user
 * are renamed or replaced.
 */
#ifndef CMD_ROTATION_H
#define CMD_ROTATION_H

#include "cmd/outfile.h"

/* Checks that the `keep` names are free, or files that may be replaced. 0, or an exit status after
 * a line on stderr. */
int rotation_check(const struct outfile *f, unsigned keep);
/*
 * Frees the name FILE: renames each file to the next number and removes the keep-th. 0 or -errno
 * after a line on stderr.
 */
int rotation_shift(struct outfile *f, unsigned keep);

#endif
