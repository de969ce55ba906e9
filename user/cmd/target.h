/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that ebtrace starts itself. It is forked first and held before exec(), so that the
 * tracer can attach to it, then let go: nothing it does is missed. Its environment is extended by
 * what makes a runtime record from the first event into a directory of ours, and keep the file
 * until it has been read; variables that the user has set are left as they are.
 */
#ifndef CMD_TARGET_H
#define CMD_TARGET_H

#include <limits.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "cmd/rundir.h"
#include "core/session.h"
#include "proc/usage.h"

struct target {
	pid_t pid;
	uint32_t process; /* its index in the registry; the owner's to set */
	int pidfd;
	int go_fd;	    /* a byte here lets it exec */
	int failed_fd;	    /* errno of a failed exec, or end of file */
	char dir[PATH_MAX]; /* where its ring files appear */
	uint64_t sweep_ns;  /* not to be swept before */
	struct rundir own;  /* that directory, if we made it; removed by target_done() */
	bool keep_files;    /* the user asked for them */
	bool traced;	    /* stopped behind exec(), before its first instruction */
	bool record;	    /* its rings are to be switched on */
	bool reaped;
	bool has_usage;
	int status;		 /* as of waitpid() */
	struct usage usage;	 /* at its end; peak_rss_bytes: exact */
	uint64_t fork_rss_bytes; /* peak as our copy, before exec() */
	int nice;		 /* the program's, and its limit of open files: ours are raised */
	rlim_t open_files;
};

struct target_options {
	int nice;
	rlim_t open_files; /* soft limit */
	/* target_go() is to leave it stopped behind exec(), when its file is mapped (by ptrace, which
	 * takes a set-user-id program's privilege unless we are root). */
	bool stop;
};

/*
 * Chooses where its rings go, if they are to be switched on: `record` in `t` is false if there is no
 * room for them, which is said; with `must` that is -ENOSPC. 0 or -errno; target_done() either way.
 */
int target_prepare(struct target *t, bool record, bool must);
/* Forks `argv`, held before exec(). 0 or -errno. */
int target_spawn(struct target *t, char **argv, const struct target_options *o);
/* Lets it exec. 0, or -errno of the exec(). */
int target_go(struct target *t);
/* Lets a program go on that was stopped behind exec(). */
void target_release(struct target *t);
/* True once it has ended; does not wait. */
bool target_ended(struct target *t);
/* Tells the session what it has used, once it has ended. */
void target_usage(const struct target *t, struct session *s);
/*
 * Removes the rings of processes that have ended from the directory that we made, now and then: when
 * the trace is over but the program goes on, nobody reads them, and they would fill the memory.
 */
void target_sweep(struct target *t);
/* The status that a shell would show: its own, or 128 + signal. */
int target_exit_status(const struct target *t);
/* Removes what was made; kills a program that was never let go. */
void target_done(struct target *t);

#endif
