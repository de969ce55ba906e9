/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which ring files are read: those that the traced processes have mapped, and those that
 * processes of ours left in the directory that their rings were sent to. Each is opened once and
 * handed to the ring source; what could not be read is reported to it as lost.
 */
#ifndef ENGINE_LIVE_RING_FILES_H
#define ENGINE_LIVE_RING_FILES_H

#include <stdbool.h>

#include "engine/context.h"
#include "engine/live/traced.h"
#include "source/ring/ring.h"

/* Period of the scans: less than the slack within which a ring may be found late. */
#define RING_FILES_SCAN_NS (RING_SLACK_NS / 4)

struct ring_files;
struct inspect;

/* Subscribes to the events of `traced`. All arguments outlive it. keep: remove no file. 0 or
 * -errno. */
int ring_files_new(const struct engine *e, struct traced *traced, struct ring_source *rings,
		   struct inspect *inspect, bool keep, struct ring_files **ret);
void ring_files_free(struct ring_files *r);

/* All processes that were running have been added and scanned: what is found later began in the
 * run. */
void ring_files_attached(struct ring_files *r);
/*
 * Without BPF: watches the directories of rings, so that children which end between two scans are
 * read. Returns the descriptor that is readable when ring_files_births() has something to do; -1:
 * none. It is closed by ring_files_free().
 */
int ring_files_watch_births(struct ring_files *r);
/* True if a ring of ours was found: it is to be scanned soon. */
bool ring_files_births(struct ring_files *r);
/* A traced process runs the program `name` by now, and may be gone before the first
 * scan. */
void ring_files_program_runs(struct ring_files *r, pid_t pid, const char *name);
/*
 * Where the files of processes that are gone before a scan are found; own: all that appears there
 * belongs to what is traced.
 */
void ring_files_directory(struct ring_files *r, const char *dir, bool own);

/* Scans the traced processes and the directory for new files. Processes forked before known_ns are
 * traced already; only a scan can find later ones (UINT64_MAX: all are traced). 0 or -errno. */
int ring_files_scan(struct ring_files *r, uint64_t known_ns);
/* The last scan of a run: what is there and cannot be read is lost. 0 or -errno. */
int ring_files_end(struct ring_files *r);
/* Files may still be opened: as soon as others have been read to their end. */
bool ring_files_pending(const struct ring_files *r);
unsigned ring_files_opened(const struct ring_files *r);
/* Processes that could not make a ring, as ring_files_end() has reported. */
unsigned ring_files_refused(const struct ring_files *r);
/* Why the last file that was seen could not be read, as -errno, and in a line; it has been
 * reported, but for -EAGAIN (a header that is still empty). 0: there was no such file. */
int ring_files_error(const struct ring_files *r, const char **ret_reason);
/* Removes the ring files of traced processes that ended after the last scan. */
void ring_files_remove(struct ring_files *r);

#endif
