/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring file on disk: its directory, its safe creation, its static parts, its removal.
 *
 * The file is completed under a temporary name and then renamed without replacing anything, so a
 * reader never finds half a file, and nobody else's file is ever opened or truncated. No file
 * descriptor is kept: programs close descriptors that they do not know. Nothing here allocates,
 * since a tracer may ask for the ring in the middle of a program's malloc().
 *
 * Who lives holds an exclusive flock() on its file: the mapping keeps the open file description,
 * and with it the lock, after the descriptor is closed; exec() and death of any kind drop it. So a
 * file PID.events that can be locked is stale, though a process with this pid may live: it is
 * replaced. One that cannot is somebody's: another copy of this library in this process, or a
 * process of another pid namespace that shares the directory; then PID-2.events is used, and so
 * on. With `preserve`, also the file that this very process (pid, start time and boot are in it)
 * has left behind by exec() keeps its name.
 *
 * The file is sparse, and a store into a hole of a full disk is a SIGBUS: every part is reserved
 * before it is written, when its first user comes. The headers and the extension block are at the
 * start, a ring when a thread takes it, a name when it is registered. What has no room is refused
 * and its space given back.
 */
#ifndef EBT_RING_FILE_H
#define EBT_RING_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <ebtrace/ring.h>

struct ebt_file {
	char *base; /* NULL: there is no file */
	uint64_t bytes;
	struct ebt_ring_header *headers;
	uint64_t *data;
	char *names;
	struct ebt_ring_ext *ext;
	uint32_t max_domains;
	uint64_t elements;
	dev_t dev;
	ino_t ino;
	char path[PATH_MAX];
};

struct ebt_config {
	uint32_t max_domains;
	uint32_t log_words;
	bool preserve;
	char dir[PATH_MAX]; /* empty: the default places */
	char runtime[64];
};

/*
 * Makes and maps the file of the calling process; `fill_names` writes the first `names_bytes` of
 * the table of names before the file appears. -errno: nothing is left behind.
 */
int ebt_file_create(struct ebt_file *file, const struct ebt_config *config, uint64_t names_bytes,
		    void (*fill_names)(char *names));
/* Reserves a part of the mapping that nothing was written to yet. -errno: it must not be touched. */
int ebt_file_reserve(const struct ebt_file *file, const void *from, uint64_t bytes);
/* Unlinks the file, if what has its name is still ours. */
void ebt_file_remove(const struct ebt_file *file);
void ebt_file_unmap(struct ebt_file *file);
/* Puts private memory in its place: for a forked child that is inside a probe. */
void ebt_file_detach(struct ebt_file *file);

#endif
