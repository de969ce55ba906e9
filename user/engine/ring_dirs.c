/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/ring_dirs.h"

#include <dirent.h>
#include <ebtrace/ring.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proc/process.h"
#include "runtime/language.h"
#include "source/ring_header.h"

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

/* True if the ring lies in the directory, which may be relative to we do not know what. */
static bool lies_in(const char *ring, const char *dir)
{
	const char *slash = strrchr(ring, '/');
	size_t n = slash ? (size_t)(slash - ring) : 0, len = strlen(dir);
	while (len > 1 && dir[len - 1] == '/')
		len--;
	return len <= n && !memcmp(ring + n - len, dir, len) &&
	       (len == n || (*dir != '/' && ring[n - len - 1] == '/'));
}

bool ring_dirs_asked(pid_t pid, const char *ring, const char *dir)
{
	char value[PATH_MAX];
	for (unsigned i = 0; i < LANGUAGES; i++) {
		ssize_t n = process_getenv(pid, languages[i].dir, value, sizeof(value));
		if (n < 0 && n != -ENOENT && n != -ESRCH)
			return false;
		if (n > 0 && strcmp(value, dir) && lies_in(ring, value))
			return false;
	}
	return true;
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

/* The mark that libebtrace-probes puts into a file at the end of a program, when it was we who had
 * asked for the ring: see `left_over` in ring.h. */
static bool is_left(int dir, const char *name, const struct ring_id *id)
{
	struct ring_header header;
	struct ring_fault fault;
	struct stat now;
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool left = fd >= 0 && !fstat(fd, &now) && now.st_dev == id->dev && now.st_ino == id->ino &&
		    !ring_header_read(fd, &header, &fault) && header.has_ext &&
		    header.ext.left_over;
	if (fd >= 0)
		close(fd);
	return left;
}

static void remove_in(int fd, ring_left_over_fn *left_over, void *ctx)
{
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	if (!d && fd >= 0)
		close(fd);
	while (d && (e = readdir(d))) {
		struct ring_id id;
		pid_t named = ringfile_name_pid(e->d_name);
		if (named && ring_id_look(dirfd(d), e->d_name, &id) && id.regular &&
		    left_over(&id, named, is_left(dirfd(d), e->d_name, &id), ctx))
			unlinkat(dirfd(d), e->d_name, 0);
	}
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
