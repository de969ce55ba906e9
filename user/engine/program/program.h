/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program that ebtrace starts. It is forked and waits before exec(), so that the tracer can
 * attach to it first and misses no event. Its environment is extended by variables that make a
 * runtime record from the first event into a directory of ours, and keep the file until it has been
 * read; variables that the user has set do not change.
 */
#ifndef ENGINE_PROGRAM_PROGRAM_H
#define ENGINE_PROGRAM_PROGRAM_H

#include <limits.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/messages.h"
#include "engine/program/rundir.h"
#include "proc/usage.h"
#include "session/session.h"

struct memory_reader;

struct program {
	const struct messages *messages;
	pid_t pid;
	uint32_t process; /* its index in the registry; the owner's to set */
	int pidfd;
	int go_fd;	    /* a byte written here makes it exec */
	int failed_fd;	    /* reads errno of a failed exec, or end of file */
	char dir[PATH_MAX]; /* where its ring files appear */
	uint64_t sweep_ns;  /* earliest time of the next sweep */
	struct rundir own;  /* that directory, if we made it; removed by program_done() */
	bool keep_files;    /* the user asked for them */
	bool traced;	    /* stopped behind exec(), before its first instruction */
	bool record;	    /* its environment switches its rings on */
	bool reaped;
	bool has_usage;
	char comm[16];		 /* its name at its end; empty: not known */
	int status;		 /* as of waitpid() */
	struct usage usage;	 /* at its end; peak_rss_bytes: exact */
	uint64_t fork_rss_bytes; /* peak before exec(), as a copy of us */
	int nice;		 /* the program's, as its limit of open files: ours are raised */
	rlim_t open_files;
	bool stdout_is_stderr, no_terminal;
	void (*extend)(void *ctx); /* its environment */
	void *extend_ctx;
};

struct program_options {
	int nice;
	rlim_t open_files;     /* soft limit */
	bool stdout_is_stderr; /* its standard output goes to standard error */
	/* standard streams that are a terminal, which a screen has, are /dev/null */
	bool no_terminal;
	/* program_go() leaves it stopped behind exec(), when its file is mapped (by ptrace: a
	 * set-user-id program does not get its privilege unless we are root). */
	bool stop;
	/* Changes the environment of the program, in its process; NULL: nothing to change. */
	void (*extend)(void *ctx);
	void *ctx;
};

/*
 * Chooses the directory of its rings, if record: without space for them t->record becomes false,
 * which is reported; with `must` that is -ENOSPC. 0 or -errno; program_done() in either case.
 */
int program_prepare(struct program *t, const struct messages *messages, bool record, bool must);
/* Forks a child that waits to exec `argv`. 0 or -errno. */
int program_spawn(struct program *t, char **argv, const struct program_options *o);
/* Makes it exec. 0, or -errno of the exec(); -ECANCELED: the user asked to end while it did not,
 * and it was killed. */
int program_go(struct program *t);
/* Continues a program that was stopped behind exec(). */
void program_release(struct program *t);
/* True once it has ended; does not wait. */
bool program_ended(struct program *t);
/* Stores the resource usage of a program that has ended in the session. */
void program_usage(const struct program *t, struct session *s);
/*
 * Removes the rings of ended processes from the directory that we made, at most at intervals: when
 * the trace is over but the program runs on, they are not read, and they would fill the memory.
 * memory: see struct leftover.
 */
void program_sweep(struct program *t, struct memory_reader *memory);
/* Its exit status as a shell shows it, 128 + signal if one killed it. */
int program_exit_status(const struct program *t);
/* Removes the directory and frees all; kills a program that has not called exec. */
void program_done(struct program *t);

#endif
