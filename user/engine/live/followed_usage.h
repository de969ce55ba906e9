/* SPDX-License-Identifier: BSD-2-Clause */
/* The name of a followed process, and what it uses of the machine from when it is followed on. */
#ifndef ENGINE_LIVE_FOLLOWED_USAGE_H
#define ENGINE_LIVE_FOLLOWED_USAGE_H

#include "session/session.h"

#include <sys/types.h>

#define FOLLOWED_COMM_BYTES 32 /* as of struct process */

struct followed_usage {
	pid_t pid;
	uint32_t process;	     /* its index in the registry */
	char comm[32];		     /* its name when that was last read */
	uint64_t user_ns, system_ns; /* that it had used before the run */
	uint64_t peak_rss_bytes;     /* with its ring; 0: not known */
};

/* Enters a process that lives into the session's registry, and refers to it until
 * followed_usage_end(). 0 or -ENOMEM. */
int followed_usage_begin(struct followed_usage *a, struct session *s, pid_t pid);
/* Counts from now on: what it has used so far is not of the run. */
void followed_usage_restart(struct followed_usage *a, const struct session *s);
/* Reads its name again: it has begun another program. */
void followed_usage_name(struct followed_usage *a);
/* When the process began (CLOCK_MONOTONIC, ns); now, if that is not known. */
uint64_t followed_usage_began_ns(const struct followed_usage *a, const struct session *s);
/* Writes what it has used so far, and its name, to its entry, if that is announced. Call it now and
 * then: a process may end at any time. */
void followed_usage_note(struct followed_usage *a, struct session *s);
/* The same, of one that has ended, announced or not: a ring of its may be found later. */
void followed_usage_end(struct followed_usage *a, struct session *s);

#endif
