/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines of /proc/PID/maps. The traced process chooses the paths, so a line may hold anything; the
 * kernel escapes newlines as \012. Nothing is kept: each entry is valid during its callback.
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

/* Calls fn for each mapping until it returns non-zero, which is then returned; else 0 or -errno. */
int maps_each(pid_t pid, int (*fn)(const struct maps_entry *e, void *ctx), void *ctx);

/*
 * Opens the file of a mapping: through /proc/PID/map_files if permitted, else by its path in the
 * process's mount namespace, else in ours (a chroot); never through a symbolic link at the end. A
 * descriptor, or -errno; -ESTALE: the path names another file now; -ELOOP: a symbolic link;
 * -EINVAL: not a regular file.
 */
int maps_open(pid_t pid, const struct maps_entry *e);

#endif
