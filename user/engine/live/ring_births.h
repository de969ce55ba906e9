/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * New files in the directories of rings that are read. A child that ends before the next scan has
 * removed its ring by then: without BPF it would go unnoticed. So its file is opened when inotify
 * reports it, and kept until the scan. A file that is gone before it could be opened is counted.
 */
#ifndef ENGINE_LIVE_RING_BIRTHS_H
#define ENGINE_LIVE_RING_BIRTHS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/messages.h"

struct ring_birth {
	int fd;
	pid_t pid;     /* in its name */
	char name[40]; /* in its directory */
	/* Another ring of the process was read: this one belongs to it only if a scan finds it
	 * mapped. */
	bool is_second;
	struct ring_birth *next;
};

struct ring_births_dir;

struct ring_births {
	int fd; /* inotify's, for the loop; -1: nothing is watched */
	struct ring_births_dir *dirs;
	struct ring_birth *first;
	unsigned waiting;
	bool more;	     /* the last read has left some of what was created */
	unsigned missed;     /* that could not be opened, as the user counts them */
	bool missed_unknown; /* and any number of others */
};

/* The process that a new file is named after. */
enum ring_parent {
	RING_PARENT_GONE, /* it has ended, and its parent is not known */
	RING_PARENT_OURS,
	RING_PARENT_READ, /* ours, and one of its rings is read already */
	RING_PARENT_OTHER,
};

struct ring_births_user {
	enum ring_parent (*parent)(void *ctx, pid_t pid);
	bool (*may_own)(void *ctx, uid_t uid);
	/* A file of a process that is ours, or may be, could not be opened. */
	void (*missed)(void *ctx, pid_t pid);
	void *ctx;
};

/* fd is -1 without memory or descriptors, which is no error: then children are left to the
 * scans. */
void ring_births_init(struct ring_births *b);
void ring_births_done(struct ring_births *b);
/* Watches a directory, by a descriptor that stays the caller's. Idempotent. */
void ring_births_watch(struct ring_births *b, int dir);
/* Adds the files of ours that were created since the last call. True if there was one. */
bool ring_births_read(struct ring_births *b, const struct ring_births_user *user);
/* Adds a file that a process left at its end, with its descriptor. False: no room; the descriptor
 * is closed. */
bool ring_births_keep(struct ring_births *b, int fd, pid_t pid, const char *name);
/* Takes one out of the list; its descriptor is the caller's. */
void ring_births_remove(struct ring_births *b, struct ring_birth **at);
/* Reports those that were missed: without BPF new processes are known by their rings alone. */
void ring_births_report(const struct ring_births *b, const struct messages *r);

#endif
