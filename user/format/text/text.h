/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One line an event, for people:
 *
 *   [   0.000123456] 4711/4712       d0   cpu1               begin minor
 *   [   0.000125970] 4711/4712       d0   cpu1   2.514 us   end minor
 *
 * Columns: seconds since the first event; pid/tid ("-": not known); domain; CPU, if the source
 * reports it; the duration of the span that ends here; kind, name and arguments, indented by the
 * open spans of the lane. The last line is a summary that begins with '#'.
 */
#ifndef FORMAT_TEXT_TEXT_H
#define FORMAT_TEXT_TEXT_H

#include "format/text/columns.h"
#include "session/session.h"
#include "stream/sink.h"

/* Writes to fd, which stays the caller's. 0 or -ENOMEM. */
int text_new(const struct session *s, int fd, struct sink **ret);

/*
 * What the first column is: seconds since the first event, or since the event before, or the time
 * of day, which is that since the first event where the session does not know the wall clock.
 * Before the first event; any other sink is left as it is.
 */
void text_set_time(struct sink *k, enum text_time time);

#endif
