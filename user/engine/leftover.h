/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Judges whether ring files in a set of directories were left behind. First all directories are
 * added, then leftover_judge() looks once at what the processes of the machine have mapped, then
 * leftover_remove() removes a file, if it still is what was judged. All of it goes through
 * descriptors, so that another file or directory put under a name is never touched.
 */
#ifndef ENGINE_LEFTOVER_H
#define ENGINE_LEFTOVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum leftover_verdict {
	LEFTOVER_STALE,
	LEFTOVER_USED, /* by a process that lives */
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
	bool private; /* ours, and nobody else may enter */
};

#define LEFTOVER_DIRS_MAX  4096
#define LEFTOVER_FILES_MAX 65536

struct leftover {
	struct leftover_dir *dirs;
	struct leftover_file *files;
	unsigned dir_count, file_count;
	bool cut; /* there were more than are looked at */
};

/* Adds what is named like a ring in a directory, unless it has been added. `fd` is owned from here
 * on. The index of the directory, or -errno; -EEXIST: it was known. All zero is a valid set. */
int leftover_add(struct leftover *l, int fd, const char *path);
void leftover_judge(struct leftover *l);
/* True if it was removed. */
bool leftover_remove(struct leftover *l, struct leftover_file *f);
void leftover_done(struct leftover *l);

#endif
