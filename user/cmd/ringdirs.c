/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/ringdirs.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The directory of a ring: as the process sees it, or, if that is in a chroot, as we do. */
static int open_dir_of(pid_t pid, const struct ringfile *ring)
{
	const char *slash = strrchr(ring->path, '/');
	struct stat file, st;
	if (!slash || fstat(ring->fd, &file))
		return -1;
	for (int in_root = 1; in_root >= 0; in_root--) {
		char path[256] = "";
		if (in_root)
			snprintf(path, sizeof(path), "/proc/%d/root", pid);
		strncat(path, ring->path, (size_t)(slash + 1 - ring->path));
		int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 && !fstatat(fd, slash + 1, &st, AT_SYMLINK_NOFOLLOW) &&
		    st.st_dev == file.st_dev && st.st_ino == file.st_ino)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

void ring_dirs_take(struct ring_dirs *r, pid_t pid, const struct ringfile *ring)
{
	int fd = r->count < RING_DIRS_MAX ? open_dir_of(pid, ring) : -1;
	struct stat st;
	if (fd < 0)
		return;
	bool known = fstat(fd, &st);
	for (unsigned i = 0; !known && i < r->count; i++)
		known = r->dir[i].dev == st.st_dev && r->dir[i].ino == st.st_ino;
	if (known)
		close(fd);
	else
		r->dir[r->count++] = (struct ring_dir){st.st_dev, st.st_ino, fd};
}

static void remove_in(int fd, ring_left_over_fn *left_over, void *ctx)
{
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat st;
	if (!d && fd >= 0)
		close(fd);
	while (d && (e = readdir(d)))
		if (isdigit((unsigned char)*e->d_name) && strstr(e->d_name, ".events") &&
		    !fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) && left_over(&st, ctx))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

void ring_dirs_remove(struct ring_dirs *r, const char *dir, ring_left_over_fn *left_over, void *ctx)
{
	remove_in(open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), left_over, ctx);
	for (unsigned i = 0; i < r->count; i++)
		remove_in(dup(r->dir[i].fd), left_over, ctx);
}

void ring_dirs_done(struct ring_dirs *r)
{
	for (unsigned i = 0; i < r->count; i++)
		close(r->dir[i].fd);
	r->count = 0;
}
