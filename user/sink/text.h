/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One line an event, for people:
 *
 *   [   0.000123456] 4711/4712  d0  cpu1  begin minor
 *
 * Columns: seconds since the first event; pid/tid (0: not known); domain; CPU, where known; what,
 * indented by the phases that are open in the domain. The end of a phase shows its duration. It
 * closes with a summary line that begins with '#'.
 */
#ifndef SINK_TEXT_H
#define SINK_TEXT_H

#include "core/session.h"
#include "core/sink.h"

/* Writes to fd, which stays the caller's; losses and damage in red if `color`. 0 or -ENOMEM. */
int text_new(const struct session *s, int fd, bool color, struct sink **ret);

#endif
