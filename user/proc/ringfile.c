/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc/ringfile.h"
#include "proc/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* O_NONBLOCK: the open of a FIFO must not wait. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

struct search {
	pid_t pid;
	uid_t owner;
	struct ringfile *found;
	int n, cap;
	int err; /* why the last ring that was mapped could not be opened */
	char *reason;
};

static int say(struct search *s, int err, const char *path, const char *what)
{
	snprintf(s->reason, RINGFILE_REASON_BYTES, "process %d: ring '%.160s': %s", (int)s->pid,
		 path, what);
	return err;
}

/* 0 if the open file may be read as a ring of the process. */
static int check_file(struct search *s, int fd, const char *path, const struct maps_entry *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return say(s, -errno, path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return say(s, -EINVAL, path, "not a regular file");
	if (st.st_uid != s->owner)
		return say(s, -EOWNERDEAD, path, "does not belong to the owner of the process");
	if (e && (st.st_ino != e->inode || major(st.st_dev) != e->dev_major ||
		  minor(st.st_dev) != e->dev_minor))
		return say(s, -ESTALE, path, "is not the file that the process has mapped");
	return 0;
}

static int take(struct search *s, int fd, const char *path, const struct maps_entry *e)
{
	int err = check_file(s, fd, path, e);
	if (err) {
		close(fd);
		return err;
	}
	s->found[s->n].fd = fd;
	snprintf(s->found[s->n].path, sizeof(s->found->path), "%.*s",
		 (int)sizeof(s->found->path) - 1, path);
	s->n++;
	return 0;
}

static int take_mapping(const struct maps_entry *e, void *ctx)
{
	struct search *s = ctx;
	static const char suffix[] = ".events";
	size_t n = strlen(e->path), tail = sizeof(suffix) - 1;
	char path[PATH_MAX + 64];

	if (!e->shared || e->offset || n < tail || strcmp(e->path + n - tail, suffix))
		return 0;
	/* By the mapping itself: right even if the file was removed or its name re-used. */
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)s->pid,
		 (unsigned long long)e->start, (unsigned long long)e->end);
	int fd = open(path, OPEN_FLAGS);
	if (fd < 0 && !e->deleted) {
		/* map_files wants CAP_CHECKPOINT_RESTORE; the path as the process sees it does not */
		snprintf(path, sizeof(path), "/proc/%d/root%.*s", (int)s->pid, PATH_MAX, e->path);
		fd = open(path, OPEN_FLAGS | O_NOFOLLOW);
	}
	if (fd < 0)
		s->err = say(s, -errno, e->path, strerror(errno));
	else {
		int err = take(s, fd, e->path, e);
		s->err = err ? err : s->err;
	}
	return s->n == s->cap;
}

static int take_from_dir(struct search *s, const char *dir)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%d.events", dir, (int)s->pid) >= (int)sizeof(path))
		return say(s, -ENAMETOOLONG, dir, strerror(ENAMETOOLONG));
	int fd = open(path, OPEN_FLAGS | O_NOFOLLOW);
	if (fd < 0)
		return say(s, -errno, path,
			   errno == ELOOP ? "is a symbolic link" : strerror(errno));
	return take(s, fd, path, NULL);
}

int ringfile_find(pid_t pid, const char *dir, struct ringfile *ret, int cap, char *reason)
{
	struct search s = {.pid = pid, .found = ret, .cap = cap, .reason = reason};
	struct stat st;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &st) < 0) {
		snprintf(reason, RINGFILE_REASON_BYTES, "no process %d", (int)pid);
		return errno == ENOENT ? -ESRCH : -errno;
	}
	s.owner = st.st_uid;
	int err = maps_each(pid, take_mapping, &s);
	if (s.n)
		return s.n;
	if (s.err)
		return s.err;
	if (dir) {
		int dir_err = take_from_dir(&s, dir);
		if (!dir_err)
			return s.n;
		if (dir_err != -ENOENT)
			return dir_err;
	}
	if (err < 0) {
		snprintf(reason, RINGFILE_REASON_BYTES, "process %d: its mappings: %s", (int)pid,
			 strerror(-err));
		return err;
	}
	snprintf(reason, RINGFILE_REASON_BYTES, "process %d has no ring", (int)pid);
	return -ENOENT;
}

void ringfile_close(struct ringfile *r)
{
	close(r->fd);
	r->fd = -1;
}
