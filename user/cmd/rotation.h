/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The older files of an output that is kept in several (--rotate): FILE is the newest, FILE.1 the one
 * before it, and so on, with the number before the suffix: run.1.ebt. Only regular files of our own
 * are renamed or replaced.
 */
#ifndef CMD_ROTATION_H
#define CMD_ROTATION_H

#include "cmd/outfile.h"

/* Whether the `keep` names are free or ours to use. 0, or an exit status after a line on stderr. */
int rotation_check(const struct outfile *f, unsigned keep);
/*
 * Makes FILE free for the next one: each file moves on by a number, the keep-th goes. 0 or -errno
 * after a line on stderr.
 */
int rotation_shift(struct outfile *f, unsigned keep);

#endif
