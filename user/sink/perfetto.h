/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A Perfetto trace, streamed: a track for each process, below it one for each domain (for each
 * thread, of what no domain has), with the phases as nested slices and everything else as instants
 * with annotations. Below a domain: a track for each kind of user span, one for each counter, and
 * "lost events" with a slice from the last moment before a hole to the first behind it. Damage,
 * fork, exec and exit are on the track of the process. A slice whose end was not seen is ended, with
 * an annotation that says why. At the end comes an instant "summary", on a track of its own.
 *
 * Memory follows what is alive (processes, domains, names), not the length of the run. The same
 * process, domain and kind always have the same track uuid.
 */
#ifndef SINK_PERFETTO_H
#define SINK_PERFETTO_H

#include "core/session.h"
#include "core/sink.h"

/* Writes to fd, which stays the caller's. 0 or -errno. */
int perfetto_new(const struct session *s, int fd, struct sink **ret);

#endif
