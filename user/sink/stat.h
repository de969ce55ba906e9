/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Statistics of a run, written at its end: by process, domain and phase the time that went into
 * collecting garbage, the pauses and their percentiles, collections, words, memory, and how much of
 * the time loss can hide something in. With an interval also a line for each. Memory does not grow
 * with the length of the run.
 *
 * A pause is the outermost span of a domain that stops its mutator; which phases do is said in
 * stat_phases.h. Its length goes into the percentiles only if both its ends were seen. What was cut
 * (by a loss, by the begin or the end of the recording) is counted apart, and the part that was
 * seen is part of the GC time. So is one of which an event came late, whose time is not its own.
 * The same holds of a pause of which only the end was seen, behind a
 * loss or the begin: it has lasted at least from there. Since nobody knows at once whether such an
 * end will come, pauses behind a loss or the begin are held back for a second (1024 of them at
 * most): if it comes, they were parts of it, no pauses of their own.
 *
 * A domain's time runs while its ring is in use and recorded into: from domain_spawn (or the begin
 * of the recording, or of the run) to domain_terminate (or its end); a ring that is used again
 * counts its uses together. ring_stop and ring_pause stop the time of all domains of the process;
 * a pause that was not written (OCaml writes none) reaches from the last event to ring_resume.
 * Of a live run nothing counts that lies before its begin; what the rings tell of the time before
 * serves to know what was open then. Threads without a ring have a time from their first event.
 *
 * Coverage is the share of a domain's time outside all holes, [since, ts] of each loss.
 */
#ifndef SINK_STAT_H
#define SINK_STAT_H

#include "base/json.h"
#include "core/session.h"
#include "core/sink.h"

/* Of the text: by default processes, or programs if there are many. */
enum stat_by { STAT_BY_DEFAULT, STAT_BY_PROGRAM, STAT_BY_PROCESS };

struct stat_options {
	bool json; /* which always has every process */
	enum stat_by by;
	uint32_t top;	      /* so many sections, those with the most GC time; 0: all */
	uint64_t interval_ns; /* 0: no lines but the report */
};

/* Writes to fd, which stays the caller's. 0 or -ENOMEM. */
int stat_new(const struct session *s, int fd, const struct stat_options *o, struct sink **ret);
/* The JSON Schema of what it writes with `json`, as a value. */
void stat_schema(struct json *j);

#endif
