/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that ebtrace starts itself. It is forked first and held before exec(), so that the
 * tracer can attach to it, then let go: nothing it does is missed. Its environment is extended by
 * what makes a runtime record from the first event into a directory of ours, and keep the file
 * until it has been read; variables that the user has set are left as they are.
 */
#ifndef ENGINE_PROGRAM_H
#define ENGINE_PROGRAM_H

#include <limits.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "core/session.h"
#include "engine/report.h"
#include "engine/rundir.h"
#include "proc/usage.h"

struct program {
	const struct report *report;
	pid_t pid;
	uint32_t process; /* its index in the registry; the owner's to set */
	int pidfd;
	int go_fd;	    /* a byte here lets it exec */
	int failed_fd;	    /* errno of a failed exec, or end of file */
	char dir[PATH_MAX]; /* where its ring files appear */
	uint64_t sweep_ns;  /* not to be swept before */
	struct rundir own;  /* that directory, if we made it; removed by program_done() */
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

struct program_options {
	int nice;
	rlim_t open_files; /* soft limit */
	/* program_go() is to leave it stopped behind exec(), when its file is mapped (by ptrace, which
	 * takes a set-user-id program's privilege unless we are root). */
	bool stop;
};

/*
 * Chooses where its rings go, if they are to be switched on: `record` in `t` is false if there is no
 * room for them, which is said; with `must` that is -ENOSPC. 0 or -errno; program_done() either way.
 */
int program_prepare(struct program *t, const struct report *report, bool record, bool must);
/* Forks `argv`, held before exec(). 0 or -errno. */
int program_spawn(struct program *t, char **argv, const struct program_options *o);
/* Lets it exec. 0, or -errno of the exec(). */
int program_go(struct program *t);
/* Lets a program go on that was stopped behind exec(). */
void program_release(struct program *t);
/* True once it has ended; does not wait. */
bool program_ended(struct program *t);
/* Tells the session what it has used, once it has ended. */
void program_usage(const struct program *t, struct session *s);
/*
 * Removes the rings of processes that have ended from the directory that we made, now and then: when
 * the trace is over but the program goes on, nobody reads them, and they would fill the memory.
 */
void program_sweep(struct program *t);
/* The status that a shell would show: its own, or 128 + signal. */
int program_exit_status(const struct program *t);
/* Removes what was made; kills a program that was never let go. */
void program_done(struct program *t);

#endif
