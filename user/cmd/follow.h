/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processes that are followed through their rings: finds their ring files as they appear, their
 * children, and notices their ends. It feeds the ring source; it decides nothing else.
 */
#ifndef CMD_FOLLOW_H
#define CMD_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmd/opts.h"
#include "source/ring.h"

/* How often scan() is worth calling: less than the slack within which a ring may be found late. */
#define FOLLOW_SCAN_NS (RING_SLACK_NS / 4)

struct follow;
struct inspect;

/*
 * inspect: what is known of files, kept. epoll_fd: pidfds are added to it, with the address of the follow as data,
 * so that the caller wakes up when a process ends.
 */
int follow_new(struct session *session, struct ring_source *rings, const struct opts *o,
	       struct inspect *inspect, int epoll_fd, struct follow **ret);
void follow_free(struct follow *f);

int follow_add(struct follow *f, pid_t pid); /* takes in a process; 0 or -errno */
/* It runs its program by now, which may be gone before the first scan. */
void follow_begun(struct follow *f, pid_t pid);
/*
 * Where files of processes that are gone before we look can be found; own: all that appear there
 * belong to what is followed.
 */
void follow_dir(struct follow *f, const char *dir, bool own);
/* Looks for new rings, new children and ended processes. 0 or -errno. */
int follow_scan(struct follow *f);
/* The last look of a run: rings that are there and could not be read are told as lost. */
int follow_end(struct follow *f);
/*
 * Tells the session what the processes have used; scans do so now and then, so that what is told of
 * one that has ended is no older than a moment. begin: the run
 * begins here, its probes are in place; nothing has been used.
 */
void follow_usage(struct follow *f, bool begin);
/* Processes that still run; not 0 either while there are rings to be opened. */
unsigned follow_running(const struct follow *f);
/* Ring files that were found. */
unsigned follow_rings(const struct follow *f);
/* Why the last ring that was seen could not be read, as -errno; it has been said. 0: no such thing. */
int follow_error(const struct follow *f);
/* In a line; of -EAGAIN (a header that is still empty) it has not been said. */
const char *follow_reason(const struct follow *f);
/* Removes the files in the directory that were read and whose processes have ended. */
void follow_remove_files(struct follow *f);
/* Calls fn for each child that was taken in since the last call. */
void follow_children(struct follow *f, void (*fn)(pid_t pid, void *ctx), void *ctx);

/* A process that may be followed has begun another program: it has another name now. */
void follow_renamed(struct follow *f, pid_t pid);

#endif
