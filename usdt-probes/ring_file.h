/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring file on disk: its directory, its safe creation, its static parts, its removal.
 *
 * The file is completed under a temporary name and then renamed without replacing anything, so a
 * reader never finds half a file, and no file of another user or program is ever opened or
 * truncated. No file descriptor is kept: programs close descriptors that they do not know. Nothing
 * here allocates, since a tracer may ask for the ring in the middle of a program's malloc().
 *
 * A living process holds an exclusive flock() on its file: the mapping keeps the open file
 * description, and with it the lock, after the descriptor is closed; exec() and death of any kind
 * release it. So a file PID.events that can be locked is stale, even if a process with this pid
 * exists: it is replaced. A locked one is in use by another copy of this library in this process,
 * or by a process of another pid namespace that shares the directory; then PID-2.events is used,
 * and so on. Copies in one process number their domains one behind the other. With `preserve`, the
 * file that this very process (pid, start time and boot are in it) left at exec() keeps its name,
 * too.
 *
 * The file is sparse, and a store into a hole of a full disk is a SIGBUS: every part is reserved
 * before its first use. The headers and the extension block are reserved at the start, a ring when
 * a thread takes it, a name when it is registered. A part without room is refused, and its space
 * freed.
 */
#ifndef EBT_RING_FILE_H
#define EBT_RING_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <ebtrace/ring.h>

#include "shared/file_id.h"

struct ebt_file {
	char *base; /* NULL: no file */
	uint64_t bytes;
	struct ebt_ring_header *headers;
	uint64_t *data;
	char *names;
	struct ebt_ring_ext *ext;
	uint32_t max_domains;
	uint64_t elements;
	struct ebt_file_id id;
	char path[PATH_MAX];
};

struct ebt_config {
	uint32_t max_domains;
	uint32_t log_words;
	bool preserve;
	char dir[PATH_MAX]; /* empty: the default directories */
	char runtime[64];
};

/*
 * Creates and maps the file of the calling process; `fill_names` writes the first `names_bytes` of
 * the table of names before the file appears. -errno: nothing is left behind.
 */
int ebt_file_create(struct ebt_file *file, const struct ebt_config *config, uint64_t names_bytes,
		    void (*fill_names)(char *names));
/* Reserves an unwritten part of the mapping. -errno: it must not be accessed. */
int ebt_file_reserve(const struct ebt_file *file, const void *from, uint64_t bytes);
/* Unlinks the file, if its name still refers to our file. */
void ebt_file_remove(const struct ebt_file *file);
void ebt_file_unmap(struct ebt_file *file);
/* Replaces the mapping by private memory, for a forked child that is inside a probe. */
void ebt_file_detach(struct ebt_file *file);

#endif
