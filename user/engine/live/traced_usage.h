/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The name of a traced process, and what it uses of the machine since tracing began. Of the thread
 * that traces; it refers to the process's entry in the session's registry.
 */
#ifndef ENGINE_LIVE_TRACED_USAGE_H
#define ENGINE_LIVE_TRACED_USAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "session/process_event.h"
#include "session/session.h"

#define TRACED_COMM_BYTES 32 /* as of struct process */
struct traced_usage {
	pid_t pid;
	uint32_t process;	     /* its index in the registry */
	char comm[32];		     /* its name when that was last read */
	char forked_as[32];	     /* its parent's, until it has called exec; empty: not known */
	uint64_t user_ns, system_ns; /* that it had used before the run */
	uint64_t peak_rss_bytes;     /* with its ring; 0: not known */
	uint64_t due_ns, step_ns; /* when scans note it again, and how long after that, at least */
};

/* Enters a process that lives into the session's registry, and refers to it until
 * traced_usage_end(). 0 or -ENOMEM. */
int traced_usage_begin(struct traced_usage *a, struct session *s, const struct process_event *born);
/* Counts from now on: what it has used so far is not of the run. */
void traced_usage_restart(struct traced_usage *a, const struct session *s);
/* Sets its own name, in place of its parent's. comm: that name; NULL: it is read. */
void traced_usage_name(struct traced_usage *a, const char *comm);
/* When the process began (CLOCK_MONOTONIC, ns); now, if that is not known. */
uint64_t traced_usage_began_ns(const struct traced_usage *a, const struct session *s);
/* Writes what it has used so far, and its name, to its entry, if that is announced. Call it now and
 * then: a process may end at any time. */
void traced_usage_note(struct traced_usage *a, struct session *s);
/* The same at the end of the run. knows_execs: all that are called are reported. */
void traced_usage_last(struct traced_usage *a, struct session *s, bool knows_execs);
/* The same, of one that has ended, announced or not: a ring of its may be found later. */
void traced_usage_end(struct traced_usage *a, struct session *s, bool knows_execs);

#endif
