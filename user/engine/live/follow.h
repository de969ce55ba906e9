/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which processes are followed: those that the user named, their children, and those that are found
 * to belong to them. It notices when they end, and counts what they use of the machine. What is to
 * be read of a process is its visitor's business. The record of a followed process belongs to its
 * entry in the registry, and to its life: when its end is noticed the record and its descriptor go.
 */
#ifndef ENGINE_LIVE_FOLLOW_H
#define ENGINE_LIVE_FOLLOW_H

#include <stdbool.h>
#include <sys/types.h>

#include "engine/context.h"
#include "engine/loop.h"
#include "session/session.h"

#define FOLLOWED_COMM_BYTES 32 /* as of struct process */
struct followed_usage {
	pid_t pid;
	uint32_t process;	     /* its index in the registry */
	char comm[32];		     /* its name when that was last read */
	uint64_t user_ns, system_ns; /* that it had used before the run */
	uint64_t peak_rss_bytes;     /* with its ring; 0: not known */
};
/* When the process began (CLOCK_MONOTONIC, ns); now, if that is not known. */
uint64_t followed_usage_began_ns(const struct followed_usage *a, const struct session *s);
/* Writes what it has used so far, and its name, to its entry, if that is announced. Call it now and
 * then: a process may end at any time. */
void followed_usage_note(struct followed_usage *a, struct session *s);

struct follow;

struct followed {
	pid_t pid;
	uint32_t process; /* its index in the registry */
	struct followed_usage usage;
	/* The reader's of its ring files: */
	struct known_ring *rings; /* that it has mapped, as long as it runs */
	bool has_ring, told_mixed, told_many, told_unexplained;
	uint64_t opened_ns;	  /* a ring of the program that it ran then was found; 0: none */
	bool needs_ring;	  /* one that is there has what nobody else has seen */
	uint64_t unread_ns;	  /* its ring has been left out since then; 0: it has not */
	int reported_error;	  /* of its ring, that has been reported */
	enum ebt_release release; /* AUTO: not known yet */
	/* private: */
	struct follow *follow;
	struct loop_fd watch; /* its pidfd */
};

/* Each is called with ctx; none may be NULL. */
struct follow_hooks {
	void (*added)(void *ctx, pid_t pid);
	void (*ended)(void *ctx,
		      struct followed *p); /* noticed by a scan; it is freed afterwards */
	void (*changed)(void *ctx);	   /* by the loop: a process has ended, scan */
	void *ctx;
};

/* 0 or -errno. The loop is used until follow_free(). */
int follow_new(const struct engine *e, struct loop *l, const struct follow_hooks *hooks,
	       struct follow **ret);
void follow_free(struct follow *f);

/* Adds a process that the user named; one that runs and is followed stays as it is. 0 or -errno. */
int follow_add(struct follow *f, pid_t pid);
/* The same for one that was found, which follow_found() returns; parent: its pid, 0: not known. 0
 * or -errno; -ESRCH: it has ended. */
int follow_add_found(struct follow *f, pid_t pid, pid_t parent);

/* NULL: it does not run, or is not followed. Valid until its end is noticed. */
struct followed *follow_find(const struct follow *f, pid_t pid);
/* True if the process runs, as the kernel has it. */
bool follow_runs(const struct followed *p);

/*
 * Calls visit for each process that runs, takes in its children if the options say so, and notices
 * who has ended. Processes that are added meanwhile are visited, too. 0, or the first other result
 * of visit, or -errno.
 */
int follow_scan(struct follow *f, int (*visit)(struct followed *p, void *ctx), void *ctx);
/* True if children may have been left out of a scan, for want of descriptors. */
bool follow_is_starved(const struct follow *f);
/* Calls fn for each process that runs, as the last scan found them. */
void follow_each(struct follow *f, void (*fn)(struct followed *p, void *ctx), void *ctx);
unsigned follow_running(const struct follow *f);
unsigned follow_ended(const struct follow *f); /* of all that were ever followed */
/* Calls fn for each process that was found since the last call. */
void follow_found(struct follow *f, void (*fn)(void *ctx, pid_t pid), void *ctx);

/*
 * Writes what the processes have used to their entries; scans do so now and then, so that the
 * numbers of one that has ended are no older than a moment. begin: the run begins here, nothing has
 * been used.
 */
void follow_usage(struct follow *f, bool begin);
/* Something new is read of a process: scans read usage often for a while. */
void follow_usage_soon(struct follow *f);
/* A process, followed or not, has begun another program: it has another name now. */
void follow_renamed(struct follow *f, pid_t pid);

#endif
