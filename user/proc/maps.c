/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc/maps.h"
#include "base/file.h"
#include "base/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_BYTES (MAPS_PATH_BYTES + 128)

int maps_parse(char *line, struct maps_entry *ret)
{
	static const char deleted[] = " (deleted)";
	unsigned long long start, end, offset, inode;
	unsigned major, minor;
	char perms[5];
	int at = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu%n", &start, &end, perms, &offset, &major,
		   &minor, &inode, &at) != 7 ||
	    strlen(perms) != 4 || start >= end)
		return -EBADMSG;
	char *path = line + at + strspn(line + at, " ");
	size_t n = strlen(path), suffix = sizeof(deleted) - 1;
	bool gone = n > suffix && !strcmp(path + n - suffix, deleted);
	if (gone)
		path[n - suffix] = 0;
	*ret = (struct maps_entry){
		.start = start,
		.end = end,
		.offset = offset,
		.inode = inode,
		.dev_major = major,
		.dev_minor = minor,
		.read = perms[0] == 'r',
		.write = perms[1] == 'w',
		.exec = perms[2] == 'x',
		.shared = perms[3] == 's',
		.deleted = gone,
		.path = path,
	};
	return 0;
}

int maps_each(pid_t pid, int (*fn)(const struct maps_entry *e, void *ctx), void *ctx)
{
	char name[32];
	char line[LINE_BYTES];
	struct maps_entry e;
	int ret = 0;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	int fd = file_open(AT_FDCWD, name, 0);
	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	FILE *f = fdopen(fd, "r");
	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	errno = 0;
	while (!ret && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		if (!maps_parse(line, &e))
			ret = fn(&e, ctx);
	}
	if (!ret && ferror(f))
		ret = errno ? -errno : -EIO;
	fclose(f);
	return ret;
}

/* map_files does not depend on the path, but needs more than CAP_BPF and CAP_PERFMON; exe works for
 * a deleted program; the inode shows whether a path still names the file. */
int maps_open(pid_t pid, const struct maps_entry *e)
{
	char path[PATH_MAX + 64];
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid,
		 (unsigned long long)e->start, (unsigned long long)e->end);
	int fd = regular_open(path, e->inode, 0);
	if (fd >= 0 || fd == -EINVAL || fd == -EBUSY)
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	fd = regular_open(path, e->inode, 0);
	if (fd >= 0 || e->path[0] != '/')
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/root%s", pid, e->path);
	fd = regular_open(path, e->inode, O_NOFOLLOW);
	if (fd >= 0)
		return fd;
	/* For a process in a chroot of our own mount namespace the kernel shows the path that we
	 * see. */
	int seen = regular_open(e->path, e->inode, O_NOFOLLOW);
	return seen < 0 ? fd : seen;
}
