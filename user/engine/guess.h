/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which OCaml wrote a ring file that does not tell: 5.0 to 5.2 number phases in one way, 5.3 and later
 * in another; what is nested in what betrays which.
 */
#ifndef ENGINE_GUESS_H
#define ENGINE_GUESS_H

#include <ebtrace/cursor.h>

#include "engine/report.h"

/* 5.2 or 5.5, for what shares their numbers; AUTO: what the rings hold does not betray it. The
 * descriptor stays open. */
enum ebt_release guess_release(int fd, const char *name);

/* Reports that nothing tells the release of OCaml that wrote the rings, if so. */
void guess_report_assumed(const struct report *r, struct ebt_cursor *c, const char *name);

#endif
