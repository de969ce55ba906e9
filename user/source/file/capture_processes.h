/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processes of a capture: maps the pids and incarnations of the file to entries of the
 * session's registry. It refers to each of them from the first record that names it up to the item
 * that says that nothing of it follows. Limits what processes and their names occupy in memory: a
 * compressed file of a few bytes can hold any number of them, and one that was recorded has events
 * too. What was released counts no more.
 */
#ifndef SOURCE_FILE_CAPTURE_PROCESSES_H
#define SOURCE_FILE_CAPTURE_PROCESSES_H

#include "base/ptrmap.h"
#include "codec/capture/capture.h"
#include "session/session.h"

/* An incarnation of the file, and what stands for it in the registry. */
struct capture_incarnate {
	uint32_t process; /* index; PROCESS_UNKNOWN: the limit was reached */
	uint32_t number;  /* in the file */
	uint32_t age;	  /* process.number of the entry */
	uint64_t kept_bytes;
	struct capture_incarnate *next_leaving;
};

struct capture_processes {
	struct session *session;
	const struct capture_stats *stats; /* of the reader */
	const char *name;		   /* of the capture, in messages */
	bool keeps;			   /* processes are not released */

	/* private */
	PTRMAP(struct capture_incarnate) incarnations; /* by pid << 32 | number; owned */
	PTRMAP(struct capture_incarnate) current;      /* by pid: the one that is meant now */
	struct capture_incarnate unknown;
	uint32_t last_pid; /* events of one process come in runs */
	struct capture_incarnate *last;
	/* Nothing of them follows; they count until the registry has released them. Owned. */
	struct capture_incarnate *first_leaving, *last_leaving;
	uint64_t kept_bytes;
	bool reported_many;
};

/* Initialised by zeroes and the first four fields, which must outlive it. */
void capture_processes_done(struct capture_processes *c);
/* From now on the pid in the file stands for this incarnation. 0 or -ENOMEM. */
int capture_processes_mean(struct capture_processes *c, const struct capture_incarnation *i);
/* The process that a pid in the file stands for, entered if there is none; PROCESS_UNKNOWN, too, if
 * the limit is reached. 0 or -ENOMEM. */
int capture_processes_find(struct capture_processes *c, uint32_t pid, uint32_t *ret);
/* The same without entering it. */
uint32_t capture_processes_known(const struct capture_processes *c, uint32_t pid);
/* True if the session may keep this many more bytes, a name of the process found last. */
bool capture_processes_may_keep(struct capture_processes *c, uint64_t bytes);
/* True if capture_processes_gone() will release anything. */
bool capture_processes_may_go(const struct capture_processes *c, uint32_t pid);
/* Nothing of the process that the pid stands for follows; its events have been merged. */
void capture_processes_gone(struct capture_processes *c, uint32_t pid);

#endif
