/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mappings of a process, from /proc/PID/maps. The traced process chooses the paths, so a line may
 * hold anything; newlines are escaped as \012. Nothing is kept: each entry is valid during its
 * callback. Since Linux 6.11 the kernel returns single mappings by their kind, without text; a path
 * longer than PATH_MAX is empty then.
 */
#ifndef PROC_MAPS_H
#define PROC_MAPS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define MAPS_PATH_BYTES (4 * PATH_MAX) /* every byte may be escaped */

struct maps_entry {
	uint64_t start, end, offset, inode;
	uint32_t dev_major, dev_minor;
	bool read, write, exec, shared;
	bool deleted;	  /* the path ended in " (deleted)", which is removed */
	const char *path; /* as the process sees it; "[heap]"; empty: anonymous */
};

/* Parses one line, without its newline; cuts it up in place. 0 or -EBADMSG. */
int maps_parse(char *line, struct maps_entry *ret);

enum maps_set {
	MAPS_ALL,
	/* Code, and files that are shared for writing, as rings are: a tenth of all. */
	MAPS_TRACED,
};

/*
 * Calls fn for each mapping of the set until it returns non-zero, which is then returned; else 0 or
 * -errno; -ESRCH: no such process. Mappings of code, and in MAPS_ALL all mappings, come in the
 * order of their addresses.
 */
int maps_each(pid_t pid, enum maps_set set, int (*fn)(const struct maps_entry *e, void *ctx),
	      void *ctx);

/* Mappings as they were at a moment. */
struct maps_list {
	struct maps_entry *entry;
	uint32_t count;
	int err;    /* why they could not be read, as -errno; 0 */
	char *data; /* private: the paths */
};
void maps_list_done(struct maps_list *l);

/*
 * Opens the file of a mapping: through /proc/PID/map_files if permitted, else by its path in the
 * process's mount namespace, else in ours (a chroot); never through a symbolic link at the end. A
 * descriptor, or -errno; -ESTALE: the path names another file now; -ELOOP: a symbolic link;
 * -EINVAL: not a regular file.
 */
int maps_open(pid_t pid, const struct maps_entry *e);

#endif
