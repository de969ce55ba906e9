/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A Perfetto trace, streamed: a track for each process, below it one for each lane (a domain, or a
 * thread outside of any), with the phases as nested slices and all other events as instants with
 * annotations. Below a lane: a track for each kind of user span, one for each counter, of a thread
 * "off CPU" with a slice for each interval in which it did not run, and "lost events" with a slice
 * from the last moment before a hole to the first behind it. Damage, fork, exec and exit are on the
 * track of the process. A slice without an end event is ended, with the reason as an annotation.
 * The last event is an instant "summary", on a track of its own.
 *
 * Memory follows the number of living processes, their lanes and names, not the length of the run.
 * Equal process, domain and kind have equal track uuids.
 */
#ifndef FORMAT_PERFETTO_PERFETTO_H
#define FORMAT_PERFETTO_PERFETTO_H

#include "session/session.h"
#include "stream/sink.h"

/* Writes to fd, which stays the caller's. 0 or -errno. */
int perfetto_new(const struct session *s, int fd, struct sink **ret);

#endif
