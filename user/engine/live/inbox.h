/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directory into which the rings of a program of ours go: a process that started and ended
 * between two scans is found by the file that it left there. A directory that the user chose may
 * have files of others: files that were there before us, files of users that no process of ours
 * runs as, and files of living processes that are not of our run are never offered.
 */
#ifndef ENGINE_LIVE_INBOX_H
#define ENGINE_LIVE_INBOX_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "engine/live/known_rings.h"

struct memory_reader;

struct inbox {
	char path[PATH_MAX]; /* empty: there is none */
	bool own;	     /* all files in it belong to our run */
	bool starved;	     /* the last scan could not open all */
	bool deferred;	     /* the last scan left some to the next one */
	struct known_rings others;
	struct map users; /* by uid */
	struct map waits; /* of files by number: the round in which each was found */
	uint64_t round;	  /* begun so far */
};

void inbox_open(struct inbox *in, const char *path, bool own);
void inbox_done(struct inbox *in);
/* True if the files of a user are read. */
bool inbox_is_user(const struct inbox *in, uid_t uid);
/* A process of ours runs as this user. */
void inbox_add_user(struct inbox *in, uid_t uid);
/* 1; 0 if the living process belongs to another run, or to none; -EMFILE, -ENFILE, -ENOMEM: its
 * environment could not be read. */
int inbox_is_ours(const struct inbox *in, struct memory_reader *memory, pid_t pid);
/* All processes that are traced are visited from here on: a round begins. */
void inbox_begin_round(struct inbox *in);
/* True if the file is to be offered again: no round has begun since it was found, so its writer may
 * not have been visited. */
bool inbox_defer(struct inbox *in, int fd);
/* The file belongs to another run: it is never offered again. */
void inbox_refuse(struct inbox *in, int fd);

struct inbox_reader {
	/* Whether a ring named after `pid` may be new; called before its file is looked up. */
	bool (*may_be_new)(pid_t pid, void *ctx);
	/* Whether the file has been read already. */
	bool (*is_known)(const struct ring_id *id, void *ctx);
	/* One file, open, the callee's; `pid` is the one in its name. Other than 0 ends the
	 * scan. */
	int (*read)(int fd, const char *name, pid_t pid, const struct stat *st, void *ctx);
	void *ctx;
};
/* Offers all new files that may be ours. 0, -errno or what read() returned. */
int inbox_scan(struct inbox *in, const struct inbox_reader *reader);

#endif
