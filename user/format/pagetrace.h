/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Page events as a page trace of Go (include/ebtrace/pagetrace.h), of one process: the first that
 * has any. A heap with the format's pages of 8 KiB is written as it is, each P in blocks of its
 * own, P -1 last: a page trace of Go's that is read and written again has the same events. All else
 * is lossy, and a line in the log says how: smaller pages are rounded (report/pages/model/round.h);
 * an address space has no Ps, so what was there when tracing began is P -1's, and what happens then
 * P 0's; a resident page that is returned is freed and scavenged.
 */
#ifndef FORMAT_PAGETRACE_H
#define FORMAT_PAGETRACE_H

#include "session/session.h"
#include "stream/sink.h"

/* Writes to fd, which stays the caller's. 0 or -ENOMEM. */
int pagetrace_new(struct session *s, int fd, struct sink **ret);

#endif
