/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/live/ring_births.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/plural.h"
#include "proc/ringfile.h"

/* Reads of the queue per call: a process that makes files without end must not block the run. */
#define READS 64
/* Births that wait for a scan; each has a descriptor. */
#define WAITING 1024

struct ring_births_dir {
	int wd, fd;
	struct ring_births_dir *next;
};

void ring_births_init(struct ring_births *b)
{
	*b = (struct ring_births){.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
}

void ring_births_remove(struct ring_births *b, struct ring_birth **at)
{
	struct ring_birth *birth = *at;
	*at = birth->next;
	b->waiting--;
	free(birth);
}

void ring_births_done(struct ring_births *b)
{
	for (struct ring_births_dir *d; (d = b->dirs);) {
		b->dirs = d->next;
		close(d->fd);
		free(d);
	}
	for (struct ring_birth *birth; (birth = b->first);) {
		close(birth->fd);
		ring_births_remove(b, &b->first);
	}
	if (b->fd >= 0)
		close(b->fd);
	b->fd = -1;
}

static const struct ring_births_dir *find_dir(const struct ring_births *b, int wd)
{
	const struct ring_births_dir *d = b->dirs;
	while (d && d->wd != wd)
		d = d->next;
	return d;
}

void ring_births_watch(struct ring_births *b, int dir)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
	int wd = b->fd < 0 || dir < 0
			 ? -1
			 : inotify_add_watch(b->fd, path, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
	if (wd < 0 || find_dir(b, wd))
		return;
	struct ring_births_dir *d = malloc(sizeof(*d));
	int fd = d ? fcntl(dir, F_DUPFD_CLOEXEC, 0) : -1;
	if (fd < 0) {
		inotify_rm_watch(b->fd, wd);
		free(d);
		return;
	}
	*d = (struct ring_births_dir){wd, fd, b->dirs};
	b->dirs = d;
}

/* The file, which is a regular one of a user of ours; -1: it is not; -2: it cannot be opened. */
static int open_file(const struct ring_births_dir *dir, const char *name,
		     const struct ring_births_user *user)
{
	struct stat st;
	int fd = file_open(dir->fd, name, O_NOFOLLOW);
	if (fd < 0)
		return fd == -ELOOP ? -1 : -2;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && user->may_own(user->ctx, st.st_uid))
		return fd;
	close(fd);
	return -1;
}

bool ring_births_keep(struct ring_births *b, int fd, pid_t pid, const char *name)
{
	struct ring_birth *birth = b->waiting < WAITING ? malloc(sizeof(*birth)) : NULL;
	if (!birth) {
		close(fd);
		return false;
	}
	*birth = (struct ring_birth){.fd = fd, .pid = pid, .next = b->first};
	snprintf(birth->name, sizeof(birth->name), "%s", name);
	b->first = birth;
	b->waiting++;
	return true;
}

/* True if the file is ours. The file first: its process may be about to remove it. */
static bool add(struct ring_births *b, const struct ring_births_dir *dir, const char *name,
		const struct ring_births_user *user)
{
	pid_t pid = ringfile_name_pid(name);
	int fd = pid ? open_file(dir, name, user) : -1;
	if (fd == -1)
		return false;
	enum ring_parent parent = user->parent(user->ctx, pid);
	bool is_ours = parent == RING_PARENT_OURS || parent == RING_PARENT_READ;
	bool kept = fd >= 0 && is_ours && ring_births_keep(b, fd, pid, name);
	if (kept)
		b->first->is_second = parent == RING_PARENT_READ;
	else if (fd >= 0 && !is_ours)
		close(fd);
	if (!kept && parent != RING_PARENT_OTHER)
		user->missed(user->ctx, pid);
	return kept;
}

bool ring_births_read(struct ring_births *b, const struct ring_births_user *user)
{
	_Alignas(struct inotify_event) char buf[4096];
	bool any = false;
	b->more = false;
	for (int i = 0; i < READS && b->fd >= 0; i++) {
		b->more = i + 1 == READS;
		ssize_t n = read(b->fd, buf, sizeof(buf));
		if (n <= 0) {
			b->more = false;
			break;
		}
		for (const char *p = buf; p < buf + n;) {
			const struct inotify_event *ev = (const void *)p;
			const struct ring_births_dir *dir = find_dir(b, ev->wd);
			if (ev->mask & IN_Q_OVERFLOW)
				user->missed(user->ctx, 0);
			else if (dir && ev->len)
				any |= add(b, dir, ev->name, user);
			p += sizeof(*ev) + ev->len;
		}
	}
	return any;
}

void ring_births_report(const struct ring_births *b, const struct messages *r)
{
	if (b->missed)
		messages_at(
			r, LOG_NORMAL,
			"%s%u process%s ended before %s rings could be opened: %s not watched; of "
			"processes without a ring it is not known how many there were",
			b->missed_unknown ? "at least " : "", b->missed,
			plural_of(b->missed, "", "es"), plural_of(b->missed, "its", "their"),
			plural_of(b->missed, "it was", "they were"));
	else if (b->missed_unknown)
		messages_at(r, LOG_NORMAL,
			    "more rings came at once than the kernel reports: not known how many "
			    "processes were not watched");
}
