/* SPDX-License-Identifier: BSD-2-Clause */
/* What a followed process is called, and takes of the machine from when it is followed on, for the
 * reports. */
#ifndef CMD_ACCOUNT_H
#define CMD_ACCOUNT_H

#include "core/session.h"

#include <sys/types.h>

#define ACCOUNT_COMM_BYTES 32 /* as of struct process */

/* How often usage is looked at: often at first, a program may end soon; and for each process. */
#define ACCOUNT_MIN_NS	4000000u
#define ACCOUNT_MAX_NS	100000000u
#define ACCOUNT_EACH_NS 1000000u

struct account {
	pid_t pid;
	uint32_t process;	     /* its index in the registry */
	char comm[32];		     /* as it was called when it was last looked at */
	uint64_t user_ns, system_ns; /* that it had used before the run */
};

/* Enters a process that lives into the session's registry. 0 or -ENOMEM. */
int account_begin(struct account *a, struct session *s, pid_t pid);
/* Counts from now on: what it has used so far is not of the run. */
void account_restart(struct account *a, const struct session *s);
/* Looks at its name again: it has begun another program. */
void account_name(struct account *a);
/* Puts what it has used so far, and its name, into the session, if it has events; now and then, as a
 * process may end at any time. */
void account_note(const struct account *a, struct session *s);
/* The same, of one that has ended. */
void account_end(const struct account *a, struct session *s);

#endif
