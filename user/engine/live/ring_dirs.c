/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/live/ring_dirs.h"

#include <ebtrace/ring.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "engine/program/rundir.h"
#include "proc/memory_reader.h"
#include "session/languages.h"
#include "source/ring/header.h"

struct ring_dir {
	dev_t dev;
	ino_t ino;
	int fd;
	unsigned holds;
};

bool ring_dirs_default(unsigned i, char *ret)
{
	const char *bases[RUNDIR_BASES];
	rundir_bases(bases);
	if (i)
		return snprintf(ret, PATH_MAX, "/dev/shm/ebtrace-%u", geteuid()) < PATH_MAX;
	return bases[0] && snprintf(ret, PATH_MAX, "%s/ebtrace", bases[0]) < PATH_MAX;
}

/* True if the file of the ring's name in the directory is the ring. */
static bool has_ring(int dir, const struct ringfile *ring)
{
	const char *slash = strrchr(ring->path, '/');
	struct stat named, st;
	return slash && !fstatat(dir, slash + 1, &named, AT_SYMLINK_NOFOLLOW) &&
	       !fstat(ring->fd, &st) && named.st_dev == st.st_dev && named.st_ino == st.st_ino;
}

/* The directory of a ring: as the process sees it, or, if that is in a chroot, as we do. */
static int open_dir_of(pid_t pid, const struct ringfile *ring)
{
	const char *slash = strrchr(ring->path, '/');
	if (!slash)
		return -1;
	for (int in_root = 1; in_root >= 0; in_root--) {
		char path[256] = "";
		if (in_root)
			snprintf(path, sizeof(path), "/proc/%d/root", pid);
		strncat(path, ring->path, (size_t)(slash + 1 - ring->path));
		int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 && has_ring(fd, ring))
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

bool ring_dirs_requested(const struct ring_dirs *r, const struct ring_dir *held,
			 struct memory_reader *memory, pid_t pid, const char *ring, const char *dir)
{
	char value[PATH_MAX];
	const struct language *l;
	if (held && held == r->own)
		return true;
	for (unsigned at = 0; (l = languages_next_ring(&at));) {
		ssize_t n = memory_reader_getenv(memory, pid, l->ring->dir, value, sizeof(value));
		if (n < 0 && n != -ENOENT && n != -ENODATA && n != -ESRCH)
			return false;
		if (n > 0 && strcmp(value, dir) && lies_in(ring, value))
			return false;
	}
	return true;
}

/* Takes the descriptor. */
static struct ring_dir *hold(struct ring_dirs *r, int fd)
{
	struct stat st = {0};
	bool is_new = false;
	struct ring_dir *dir =
		fd < 0 || fstat(fd, &st)
			? NULL
			: ptrmap_make(&r->by_file, hash_file(st.st_dev, st.st_ino), &is_new);
	if (is_new)
		*dir = (struct ring_dir){.dev = st.st_dev, .ino = st.st_ino, .fd = fd};
	else if (fd >= 0)
		close(fd);
	if (!dir || dir->dev != st.st_dev || dir->ino != st.st_ino)
		return NULL; /* another one has the same hash: rings in this one are left */
	dir->holds++;
	return dir;
}

struct ring_dir *ring_dirs_hold(struct ring_dirs *r, pid_t pid, const struct ringfile *ring)
{
	if (!r->own || !has_ring(r->own->fd, ring))
		return hold(r, open_dir_of(pid, ring));
	r->own->holds++;
	return r->own;
}

void ring_dirs_own(struct ring_dirs *r, const char *path)
{
	r->own = ring_dirs_hold_path(r, path);
}

struct ring_dir *ring_dirs_hold_path(struct ring_dirs *r, const char *path)
{
	return hold(r, open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

int ring_dirs_fd(const struct ring_dir *dir)
{
	return dir ? dir->fd : -1;
}

void ring_dirs_put(struct ring_dirs *r, struct ring_dir *dir)
{
	if (!dir || --dir->holds)
		return;
	ptrmap_remove(&r->by_file, hash_file(dir->dev, dir->ino));
	close(dir->fd);
	free(dir);
}

/* Opens a ring file that has the mark `left_over` (ring.h): libebtrace-probes sets it at the end of
 * a program if ebtrace had asked for the ring. A descriptor; -1: it is no such file. */
static int open_left(int dir, const char *name, const struct ring_id *id)
{
	struct ring_header header;
	struct ring_fault fault;
	struct stat now;
	int fd = file_open(dir, name, O_NOFOLLOW);
	bool left = fd >= 0 && !fstat(fd, &now) && now.st_dev == id->dev && now.st_ino == id->ino &&
		    !ring_header_read(fd, &header, &fault) && header.has_ext &&
		    header.ext.left_over;
	if (fd >= 0 && !left)
		close(fd);
	return left ? fd : -1;
}

static bool is_left(int dir, const char *name, const struct ring_id *id)
{
	int fd = open_left(dir, name, id);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

bool ring_dirs_remove(const struct known_ring *ring)
{
	struct ring_id id;
	int dir = ring->dir->fd;
	if (!ring_id_read(dir, ring->name, &id) || !ring_id_is(&id, &ring->id))
		return true;
	return id.regular && (ring->requested || is_left(dir, ring->name, &id)) &&
	       !unlinkat(dir, ring->name, 0);
}

static void remove_left(int dir, pid_t pid,
			void (*left)(void *ctx, pid_t pid, int fd, const char *name), void *ctx)
{
	/* A runtime that names its ring by the pid alone has the first name; the ring of
	 * libebtrace-probes in the same process then has the second. */
	static const char *const copies[] = {"", "-2"};
	for (size_t i = 0; i < sizeof(copies) / sizeof(*copies); i++) {
		char name[32];
		struct ring_id id;
		snprintf(name, sizeof(name), "%d%s.events", pid, copies[i]);
		bool found = ring_id_read(dir, name, &id) && id.regular;
		int fd = found ? open_left(dir, name, &id) : -1;
		if (fd < 0)
			continue;
		left(ctx, pid, fd, name);
		unlinkat(dir, name, 0);
	}
}

void ring_dirs_remove_left(const struct ring_dirs *r, pid_t pid,
			   void (*left)(void *ctx, pid_t pid, int fd, const char *name), void *ctx)
{
	size_t at = 0;
	for (struct ring_dir *dir; (dir = ptrmap_next(&r->by_file, &at));)
		remove_left(dir->fd, pid, left, ctx);
	for (unsigned i = 0; i < RING_DIRS_DEFAULT; i++) {
		char path[PATH_MAX];
		int fd = ring_dirs_default(i, path)
				 ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
				 : -1;
		if (fd < 0)
			continue;
		remove_left(fd, pid, left, ctx);
		close(fd);
	}
}

void ring_dirs_done(struct ring_dirs *r)
{
	size_t at = 0;
	for (struct ring_dir *dir; (dir = ptrmap_next(&r->by_file, &at));)
		close(dir->fd);
	ptrmap_free(&r->by_file);
}
