/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds ring files that dead processes left in a set of directories. First the directories are
 * added, then leftover_judge() reads once the mappings of all processes of the machine, then
 * leftover_remove() removes a file if it is still the one that was judged. All operations use
 * descriptors, so a file or directory that replaces another under its name is never touched.
 */
#ifndef ENGINE_PROGRAM_LEFTOVER_H
#define ENGINE_PROGRAM_LEFTOVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct memory_reader;

enum leftover_verdict {
	LEFTOVER_STALE,
	LEFTOVER_USED, /* by a living process */
	LEFTOVER_DOUBT,
};

struct leftover_file {
	unsigned dir; /* index */
	char name[40];
	pid_t pid; /* in its name */
	dev_t dev;
	ino_t ino;
	uint64_t bytes; /* on the disk */
	pid_t mapped_by;
	enum leftover_verdict verdict;
	const char *reason; /* of doubt; static */
};

struct leftover_dir {
	int fd;
	dev_t dev;
	ino_t ino;
	char *path;
	bool private; /* owned by us, no access for others */
};

#define LEFTOVER_DIRS_MAX  4096
#define LEFTOVER_FILES_MAX 65536

struct leftover {
	struct memory_reader *memory; /* NULL: reads mappings without a worker */
	struct leftover_dir *dirs;
	struct leftover_file *files;
	unsigned dir_count, file_count;
	pid_t unread; /* a process with mappings that could not be read in time; 0: none */
	bool cut;     /* some directories or files are beyond the limits */
};

/* Adds the files of a directory that are named like rings. Owns `fd` from now on. The index of the
 * directory, or -errno; -EEXIST: already added. A zeroed set is valid and empty. */
int leftover_add(struct leftover *l, int fd, const char *path);
void leftover_judge(struct leftover *l);
/* Removes a stale file. True if it was removed. */
bool leftover_remove(struct leftover *l, struct leftover_file *f);
void leftover_done(struct leftover *l);

#endif
