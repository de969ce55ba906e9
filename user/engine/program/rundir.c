/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/program/rundir.h"

#include <dirent.h>
#include <ebtrace/recorder.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define NAME_TRIES 100

/* The owner of '/' can do as root does; in a user namespace root is known only by that. */
static bool is_trusted(uid_t uid)
{
	struct stat root;
	return uid == 0 || uid == geteuid() || (!stat("/", &root) && uid == root.st_uid);
}

static bool is_safe(const struct stat *st)
{
	bool others_write = st->st_mode & (S_IWGRP | S_IWOTH);
	return is_trusted(st->st_uid) && (!others_write || st->st_mode & S_ISVTX);
}

/* The directory and its parents: the owner of each could replace the one below. */
static int check_to_root(int dir)
{
	struct stat root, st;
	int fd = dir, err = stat("/", &root) || fstat(dir, &st) ? -errno : 0;
	for (int depth = 0; !err; depth++) {
		if (!is_safe(&st) || depth > PATH_MAX / 2) {
			err = -EPERM;
			break;
		}
		if (st.st_dev == root.st_dev && st.st_ino == root.st_ino)
			break;
		int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		err = up < 0 || fstat(up, &st) ? -errno : 0;
		if (fd != dir)
			close(fd);
		fd = up;
	}
	if (fd != dir && fd >= 0)
		close(fd);
	return err;
}

int rundir_open_base(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int err = check_to_root(fd);
	if (!err)
		return fd;
	close(fd);
	return err;
}

void rundir_bases(const char *ret[RUNDIR_BASES])
{
	const char *user = getenv("XDG_RUNTIME_DIR");
	ret[0] = user && *user == '/' ? user : NULL;
	ret[1] = "/dev/shm"; /* a write into a mapping of a disk file can stall the program */
	ret[2] = "/tmp";
}

uint64_t rundir_room(int fd)
{
	struct statvfs v;
	return fstatvfs(fd, &v) ? 0 : (uint64_t)v.f_bavail * v.f_frsize;
}

/* True if `name` in `base` is the open directory. */
static bool is_named(int base, const char *name, const struct rundir *r)
{
	struct stat st;
	return !fstatat(base, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode) &&
	       st.st_dev == r->dev && st.st_ino == r->ino;
}

/* Tries one name. -EEXIST: try another. */
static int make_named(struct rundir *r, int base, const char *name)
{
	struct stat st;
	if (mkdirat(base, name, 0700))
		return -errno;
	r->fd = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r->fd < 0)
		return -errno;
	int err = fstat(r->fd, &st) ? -errno : 0;
	if (!err && (st.st_uid != geteuid() || (st.st_mode & 0777) != 0700))
		err = -EPERM;
	r->dev = st.st_dev;
	r->ino = st.st_ino;
	/* Until it is locked, `list --prune` considers it left behind. */
	if (!err && (flock(r->fd, LOCK_SH) || !is_named(base, name, r)))
		err = -EEXIST;
	if (err)
		close(r->fd);
	return err;
}

/* The path of an open directory, without symbolic links. */
static int path_of(int fd, char *path, size_t cap)
{
	char self[32];
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(self, path, cap);
	if (n < 0)
		return -errno;
	if ((size_t)n >= cap)
		return -ENAMETOOLONG;
	path[n] = 0;
	return *path == '/' ? 0 : -ENOENT;
}

static int make_in(struct rundir *r, int base)
{
	int err = -EEXIST;
	for (int i = 0; err == -EEXIST && i < NAME_TRIES; i++) {
		uint64_t random;
		char name[sizeof(RUNDIR_PREFIX) + 16];
		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return -EIO;
		snprintf(name, sizeof(name), RUNDIR_PREFIX "%012llx",
			 (unsigned long long)(random >> 16));
		err = make_named(r, base, name);
	}
	if (err)
		return err;
	r->base_fd = base;
	err = path_of(r->fd, r->path, sizeof(r->path));
	if (err)
		close(r->fd); /* empty, and unlocked: left to `list --prune` */
	return err;
}

int rundir_make(struct rundir *ret, uint64_t want_bytes, uint64_t least_bytes)
{
	const char *bases[RUNDIR_BASES];
	int err = -ENOENT;
	rundir_bases(bases);
	*ret = (struct rundir){.fd = -1, .base_fd = -1};
	for (unsigned i = 0; i < 2 * RUNDIR_BASES; i++) {
		const char *path = bases[i % RUNDIR_BASES];
		int base = path ? rundir_open_base(path) : -ENOENT;
		if (base < 0)
			continue;
		struct rundir r = {.fd = -1, .base_fd = -1};
		bool has_room = rundir_room(base) >= (i < RUNDIR_BASES ? want_bytes : least_bytes);
		int base_err = has_room ? make_in(&r, base) : -ENOSPC;
		if (!base_err) {
			*ret = r;
			return 0;
		}
		close(base);
		err = base_err;
	}
	return err;
}

void rundir_remove_traces(int fd)
{
	static const char *const suffixes[] = {"ctf", "state"};
	char name[32];
	struct stat st;
	for (unsigned n = 0; n < EBT_RECORDER_PROGRAMS; n++)
		for (unsigned i = 0; i < 2; i++) {
			snprintf(name, sizeof(name), "%u.%s", n, suffixes[i]);
			if (!fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode))
				unlinkat(fd, name, 0);
		}
}

int rundir_remove(struct rundir *r)
{
	if (r->fd < 0)
		return 0;
	int fd = dup(r->fd);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			unlinkat(r->fd, e->d_name, 0);
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	const char *slash = strrchr(r->path, '/');
	/* In a safe base only we can remove or rename the directory; if the name is another file's
	 * nevertheless, nothing is removed. */
	if (!slash || !is_named(r->base_fd, slash + 1, r))
		return -ESTALE;
	return unlinkat(r->base_fd, slash + 1, AT_REMOVEDIR) ? -errno : 0;
}

void rundir_close(struct rundir *r)
{
	if (r->fd >= 0)
		close(r->fd);
	if (r->base_fd >= 0)
		close(r->base_fd);
	r->fd = r->base_fd = -1;
}
