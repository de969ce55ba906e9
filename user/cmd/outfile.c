/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/commands.h"
#include "cmd/message.h"

#define PARTS_MAX 1000 /* in a shared directory others may have used up the names */

int outfile_cannot_write(const char *path, int err)
{
	complain("cannot write '%s': %s", path ? path : "standard output", file_strerror(-err));
	return EXIT_ERROR;
}

char *outfile_marked(const char *path, const char *mark)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	const char *dot = strrchr(base, '.');
	const char *suffix = dot && dot != base ? dot : base + strlen(base);
	char *s;
	return asprintf(&s, "%.*s.%s%s", (int)(suffix - path), path, mark, suffix) < 0 ? NULL : s;
}

static int open_dir(const char *path, const char *base)
{
	char *dir = base == path ? strdup(".") : strndup(path, (size_t)(base - path));
	if (!dir)
		return -ENOMEM;
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int err = fd < 0 ? -errno : 0;
	free(dir);
	return err ? err : fd;
}

static const char *part_base(const struct outfile *f)
{
	return f->part + (f->base - f->path);
}

static int close_fd(struct outfile *f)
{
	int err = f->fd >= 0 && close(f->fd) ? -errno : 0;
	f->fd = -1;
	return err;
}

static int create_part(struct outfile *f, mode_t mode, unsigned n)
{
	int len = n ? asprintf(&f->part, "%s.part.%u", f->path, n)
		    : asprintf(&f->part, "%s.part", f->path);
	if (len < 0) {
		f->part = NULL;
		return -ENOMEM;
	}
	f->fd = openat(f->dir_fd, part_base(f),
		       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (f->fd >= 0)
		return 0;
	int err = -errno;
	free(f->part);
	f->part = NULL;
	return err;
}

static bool parse_id(const char *name, id_t *ret)
{
	const char *text = getenv(name);
	char *end;
	if (!text || *text < '0' || *text > '9')
		return false;
	unsigned long n = strtoul(text, &end, 10);
	*ret = (id_t)n;
	return !*end && n < UINT32_MAX;
}

uid_t outfile_owner(gid_t *ret_group)
{
	id_t user, group;
	bool by_sudo = !geteuid() && parse_id("SUDO_UID", &user) && parse_id("SUDO_GID", &group);
	*ret_group = by_sudo ? group : getegid();
	return by_sudo ? user : geteuid();
}

static bool is_ours(const struct stat *st)
{
	gid_t group;
	return st->st_uid == geteuid() || st->st_uid == outfile_owner(&group);
}

/* To the user of sudo. Where the file system has no owners it stays ours. */
static int give_away(const struct outfile *f)
{
	gid_t group;
	uid_t user = outfile_owner(&group);
	if (user == geteuid() || !fchown(f->fd, user, group))
		return 0;
	return errno == EPERM || errno == EINVAL || errno == EOPNOTSUPP ? 0 : -errno;
}

/* Sets group and mode of the file that the part replaces. If the group cannot be set, neither is
 * the mode: it would open the part to our own group. */
static int copy_access(const struct outfile *f, const struct stat *old)
{
	struct stat st;
	if (fstat(f->fd, &st))
		return -errno;
	if (st.st_gid != old->st_gid && fchown(f->fd, (uid_t)-1, old->st_gid))
		return -errno;
	return fchmod(f->fd, old->st_mode & 0777) ? -errno : 0;
}

static void remove_part(struct outfile *f)
{
	struct stat st;
	if (!fstatat(f->dir_fd, part_base(f), &st, AT_SYMLINK_NOFOLLOW) && file_id_is(&f->id, &st))
		unlinkat(f->dir_fd, part_base(f), 0);
	close_fd(f);
	free(f->part);
	f->part = NULL;
}

/* old: its mode and group are copied; NULL: those of a new file. */
static int open_part(struct outfile *f, const struct stat *old)
{
	struct stat st;
	int err = -EEXIST;
	for (unsigned n = 0; err == -EEXIST && n < PARTS_MAX; n++)
		err = create_part(f, old || f->is_private ? 0600 : 0666, n);
	if (err)
		return err;
	/* The lock marks the part of an active run; on a file system without locks other runs
	 * report it as a leftover. */
	flock(f->fd, LOCK_EX | LOCK_NB);
	err = fstat(f->fd, &st) ? -errno : 0;
	if (err) {
		close_fd(f);
		return err;
	}
	f->id = file_id_of(&st);
	f->regular = true;
	err = give_away(f);
	if (!err && old && !f->is_private)
		err = copy_access(f, old);
	if (!err && fstat(f->fd, &f->made))
		err = -errno;
	if (err)
		remove_part(f);
	return err;
}

/* named: the directory entry itself, perhaps a link; st: the file that was opened. */
static bool is_to_be_replaced(const struct stat *named, const struct stat *st)
{
	struct file_id id = file_id_of(named);
	return file_id_is(&id, st) && st->st_nlink == 1 && is_ours(st);
}

static int write_in_place(struct outfile *f, int fd, const struct stat *st)
{
	/* Two runs would overwrite each other. */
	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
		close(fd);
		complain("cannot write '%s': another run is writing it", f->path);
		return EXIT_ERROR;
	}
	f->fd = fd;
	f->id = file_id_of(st);
	f->in_place = f->regular = true;
	return 0;
}

/* No part can be created beside the file, for another reason than a full disk: the directory is not
 * writable, the group cannot be set, the name has the maximum length. */
static bool needs_in_place(int err)
{
	return err == -EACCES || err == -EPERM || err == -EROFS || err == -ENAMETOOLONG;
}

/*
 * Waits for the reader of a FIFO, but not for a lease: its holder may be any user. The descriptor
 * blocks. -EBUSY: leased.
 */
static int open_to_write(const struct outfile *f)
{
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY;
	int fd = openat(f->dir_fd, f->base, flags | O_NONBLOCK, 0666);
	if (fd < 0 && errno == ENXIO)
		fd = openat(f->dir_fd, f->base, flags, 0666);
	else if (fd >= 0 && fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK)) {
		close(fd);
		return -EIO;
	}
	if (fd >= 0)
		return fd;
	return errno == EWOULDBLOCK ? -EBUSY : -errno;
}

/* Opens an existing file, or a dangling link. */
static int open_existing(struct outfile *f, const struct stat *named)
{
	struct stat st;
	f->created = fstatat(f->dir_fd, f->base, &st, 0) && errno == ENOENT;
	int fd = open_to_write(f);
	if (fd < 0 || fstat(fd, &st)) {
		int err = fd < 0 ? -fd : errno;
		if (fd >= 0)
			close(fd);
		return outfile_cannot_write(f->path, err);
	}
	if (!S_ISREG(st.st_mode)) {
		f->fd = fd;
		f->id = file_id_of(&st);
		return 0;
	}
	int err = is_to_be_replaced(named, &st) ? open_part(f, &st) : -EPERM;
	if (needs_in_place(err))
		return write_in_place(f, fd, &st);
	/* Kept open, so that its inode number is not used again while we run. */
	f->old_fd = fd;
	if (err)
		return outfile_cannot_write(f->path, -err);
	f->existed = true;
	f->old = file_id_of(&st);
	return 0;
}

void outfile_close(struct outfile *f)
{
	close_fd(f);
	if (f->dir_fd >= 0)
		close(f->dir_fd);
	if (f->old_fd >= 0)
		close(f->old_fd);
	f->dir_fd = f->old_fd = -1;
	free(f->part);
	f->part = NULL;
}

static int open_named(struct outfile *f)
{
	struct stat named = {0};
	if (!*f->base)
		return outfile_cannot_write(f->path, EISDIR);
	if (!fstatat(f->dir_fd, f->base, &named, AT_SYMLINK_NOFOLLOW))
		return open_existing(f, &named);
	int err = errno == ENOENT ? open_part(f, NULL) : -errno;
	/* Perhaps only the name of the part is too long. */
	if (err == -ENAMETOOLONG)
		return open_existing(f, &named);
	return err ? outfile_cannot_write(f->path, -err) : 0;
}

/* 0, or an exit status after a line on stderr. */
static int open_directory(struct outfile *f, const char *path, bool is_private)
{
	const char *slash = strrchr(path, '/');
	*f = (struct outfile){.path = path,
			      .base = slash ? slash + 1 : path,
			      .fd = -1,
			      .old_fd = -1,
			      .is_private = is_private};
	f->dir_fd = *path ? open_dir(path, f->base) : -ENOENT;
	return f->dir_fd < 0 ? outfile_cannot_write(path, -f->dir_fd) : 0;
}

int outfile_open_new(struct outfile *f, const char *path, bool is_private)
{
	struct stat st;
	if (open_directory(f, path, is_private))
		return -EIO;
	int err = fstatat(f->dir_fd, f->base, &st, AT_SYMLINK_NOFOLLOW) ? -errno : -EEXIST;
	if (err == -ENOENT)
		err = open_part(f, NULL);
	if (err && err != -EEXIST)
		outfile_cannot_write(path, -err);
	if (err)
		outfile_close(f);
	return err;
}

int outfile_open(struct outfile *f, const char *path, bool is_private)
{
	int status = open_directory(f, path, is_private);
	if (status)
		return status;
	status = open_named(f);
	if (status)
		outfile_close(f);
	return status;
}

int outfile_open_stdout(struct outfile *f)
{
	*f = (struct outfile){.path = "standard output", .base = "", .dir_fd = -1, .old_fd = -1};
	f->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	return f->fd < 0 ? outfile_cannot_write(f->path, errno) : 0;
}

int outfile_begin(struct outfile *f)
{
	struct stat st;
	if (!f->in_place)
		return 0;
	if (ftruncate(f->fd, 0))
		return -errno;
	/* The file is empty now: the mode of its old contents must not apply to the new ones. */
	if (!f->is_private)
		return 0;
	if (fstat(f->fd, &st) || (is_ours(&st) && fchmod(f->fd, 0600)))
		return -errno;
	return 0;
}

/* 1: the name has the same file as at the start; 0: none; -EEXIST: another one. */
static int check_name(const struct outfile *f, const char *base)
{
	struct stat st;
	if (fstatat(f->dir_fd, base, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	return f->existed && file_id_is(&f->old, &st) ? 1 : -EEXIST;
}

static int rename_part(struct outfile *f, unsigned flags)
{
	const char *part = part_base(f);
	if (!renameat2(f->dir_fd, part, f->dir_fd, f->base, flags))
		return 0;
	/* Not every file system knows the flags. */
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	return renameat(f->dir_fd, part, f->dir_fd, f->base) ? -errno : 0;
}

/* Swaps the old file with the part and checks it before it is removed: a file that another run has
 * put there at this very moment is swapped back. */
static int swap_part(struct outfile *f)
{
	const char *part = part_base(f);
	if (renameat2(f->dir_fd, part, f->dir_fd, f->base, RENAME_EXCHANGE))
		return rename_part(f, 0);
	if (check_name(f, part) == 1)
		return unlinkat(f->dir_fd, part, 0) ? -errno : 0;
	renameat2(f->dir_fd, part, f->dir_fd, f->base, RENAME_EXCHANGE);
	return -EEXIST;
}

static int name_part(struct outfile *f)
{
	struct stat st;
	if (fstatat(f->dir_fd, part_base(f), &st, AT_SYMLINK_NOFOLLOW) ||
	    !file_id_is(&f->id, &st)) {
		complain("'%s' is lost: another process removed or replaced '%s'", f->path,
			 f->part);
		return -ESTALE;
	}
	int now = check_name(f, f->base);
	int err = now > 0 ? swap_part(f) : now ? now : rename_part(f, RENAME_NOREPLACE);
	if (err == -EEXIST)
		complain("'%s' was written by another process meanwhile and is kept; this run "
			 "is complete in '%s'",
			 f->path, f->part);
	else if (err) {
		outfile_cannot_write(f->path, -err);
		complain("the output so far is in '%s'", f->part);
	}
	return err;
}

int outfile_name(struct outfile *f, int err)
{
	/* Closing a copy reports errors, and keeps the lock until the part is renamed. */
	int copy = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
	int closed = copy < 0 ? -errno : close(copy) ? -errno : 0;
	err = err ? err : closed;
	if (err)
		outfile_cannot_write(f->path, -err);
	if (f->part && err)
		complain("the output so far is in '%s'", f->part);
	else if (f->part)
		err = name_part(f);
	close_fd(f);
	free(f->part);
	f->part = NULL;
	return err;
}

int outfile_next(struct outfile *f)
{
	f->existed = false;
	return open_part(f, &f->made);
}

/* Opening a dangling link created the file: only the kernel knows its path. */
static void remove_created(struct outfile *f)
{
	char at[64], path[4096];
	struct stat st;
	snprintf(at, sizeof(at), "/proc/self/fd/%d", f->fd);
	ssize_t n = readlink(at, path, sizeof(path) - 1);
	if (n <= 0 || fstat(f->fd, &st) || st.st_size)
		return;
	path[n] = '\0';
	char *base = strrchr(path, '/');
	int dir = base ? open_dir(path, base + 1) : -1;
	if (dir < 0)
		return;
	if (!fstatat(dir, base + 1, &st, AT_SYMLINK_NOFOLLOW) && file_id_is(&f->id, &st))
		unlinkat(dir, base + 1, 0);
	close(dir);
}

void outfile_drop(struct outfile *f)
{
	if (f->part)
		remove_part(f);
	else if (f->in_place && f->created)
		remove_created(f);
	outfile_close(f);
}
