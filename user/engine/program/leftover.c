/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/program/leftover.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "proc/maps.h"
#include "proc/memory_reader.h"
#include "proc/process.h"
#include "proc/ringfile.h"
#include "source/ring/header.h"

static void add_file(struct leftover *l, unsigned dir, const char *name, pid_t pid)
{
	struct stat st;
	if (l->file_count == LEFTOVER_FILES_MAX) {
		l->cut = true;
		return;
	}
	if (fstatat(l->dirs[dir].fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return;
	if (!array_more(l->files, l->file_count)) {
		l->cut = true;
		return;
	}
	struct leftover_file *f = &l->files[l->file_count++];
	*f = (struct leftover_file){.dir = dir,
				    .pid = pid,
				    .dev = st.st_dev,
				    .ino = st.st_ino,
				    .bytes = (uint64_t)st.st_blocks * 512};
	snprintf(f->name, sizeof(f->name), "%.39s", name);
}

int leftover_add(struct leftover *l, int fd, const char *path)
{
	struct stat st;
	int err = fstat(fd, &st) ? -errno : 0;
	for (unsigned i = 0; !err && i < l->dir_count; i++)
		if (l->dirs[i].dev == st.st_dev && l->dirs[i].ino == st.st_ino)
			err = -EEXIST;
	if (!err && l->dir_count == LEFTOVER_DIRS_MAX) {
		err = -E2BIG;
		l->cut = true;
	}
	char *copy = !err && array_more(l->dirs, l->dir_count) ? strdup(path) : NULL;
	if (!copy) {
		close(fd);
		return err ? err : -ENOMEM;
	}
	unsigned index = l->dir_count++;
	l->dirs[index] = (struct leftover_dir){
		.fd = fd,
		.dev = st.st_dev,
		.ino = st.st_ino,
		.path = copy,
		.private = st.st_uid == geteuid() && !(st.st_mode & 077),
	};
	int list = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = list < 0 ? NULL : fdopendir(list);
	struct dirent *e;
	while (d && (e = readdir(d))) {
		pid_t pid = ringfile_name_pid(e->d_name);
		if (pid)
			add_file(l, index, e->d_name, pid);
	}
	if (d)
		closedir(d);
	else if (list >= 0)
		close(list);
	return (int)index;
}

struct mapped_search {
	struct leftover *l;
	pid_t pid;
};

static int by_inode(const void *a, const void *b)
{
	ino_t x = ((const struct leftover_file *)a)->ino,
	      y = ((const struct leftover_file *)b)->ino;
	return x < y ? -1 : x > y;
}

/* The first file of an inode in the sorted array. */
static struct leftover_file *first_of_inode(struct leftover *l, ino_t ino)
{
	unsigned low = 0, high = l->file_count;
	while (low < high) {
		unsigned middle = low + (high - low) / 2;
		if (l->files[middle].ino < ino)
			low = middle + 1;
		else
			high = middle;
	}
	return &l->files[low];
}

/*
 * The device of a mapping may differ from stat()'s (btrfs): then the name is compared. Files with
 * the same inode and name on other devices are then kept without need, which is harmless.
 */
static int mark_mapped(const struct maps_entry *e, void *ctx)
{
	struct mapped_search *search = ctx;
	const char *slash = strrchr(e->path, '/');
	if (!e->shared || !e->inode || !slash)
		return 0;
	struct leftover_file *end = search->l->files + search->l->file_count;
	for (struct leftover_file *f = first_of_inode(search->l, e->inode);
	     f < end && f->ino == e->inode; f++)
		if (f->dev == makedev(e->dev_major, e->dev_minor) || !strcmp(slash + 1, f->name))
			f->mapped_by = search->pid;
	return 0;
}

static void note_unread(struct leftover *l, pid_t pid, int err)
{
	if (err == -ETIMEDOUT && !l->unread)
		l->unread = pid;
}

static int find_mapped_by(pid_t pid, void *ctx)
{
	struct leftover *l = ctx;
	struct mapped_search search = {l, pid};
	note_unread(l, pid, memory_reader_maps(l->memory, pid, MAPS_ALL, mark_mapped, &search));
	return 0;
}

static void find_mapped(struct leftover *l)
{
	if (!l->file_count)
		return;
	qsort(l->files, l->file_count, sizeof(*l->files), by_inode);
	process_each(find_mapped_by, l);
}

/* NULL if the open file is a ring that may have been left by process `pid`. */
static const char *not_a_ring(int fd, const struct leftover_file *f)
{
	struct ring_header h;
	struct ring_fault fault;
	int err = ring_header_read(fd, &h, &fault);
	if (err == -EAGAIN)
		return "its header is empty";
	if (err || h.layout.repairs)
		return "not a ring file";
	bool other = h.has_ext ? h.ext.pid != (uint64_t)f->pid : strchr(f->name, '-') != NULL;
	return other ? "written by another process than its name says" : NULL;
}

static enum leftover_verdict doubt(struct leftover_file *f, const char *reason)
{
	f->reason = reason;
	return LEFTOVER_DOUBT;
}

/* Acquires the lock that a writer may hold, until `fd` is closed. */
static enum leftover_verdict judge_open(const struct leftover *l, struct leftover_file *f, int fd)
{
	struct stat st;
	const struct leftover_dir *dir = &l->dirs[f->dir];
	if (fstat(fd, &st) || st.st_dev != f->dev || st.st_ino != f->ino)
		return doubt(f, "another file by now");
	if (flock(fd, LOCK_EX | LOCK_NB))
		return LEFTOVER_USED;
	const char *reason = not_a_ring(fd, f);
	if (reason)
		return doubt(f, reason);
	if (!kill(f->pid, 0) || errno != ESRCH)
		return doubt(f, "a process of that number lives");
	if (!dir->private && process_own_pidns() != PROCESS_INITIAL_PIDNS)
		return doubt(f, "its process may live in another pid namespace");
	return LEFTOVER_STALE;
}

/* Opens a file that can be judged; else -1, with the verdict set. */
static int open_file(const struct leftover *l, struct leftover_file *f)
{
	struct stat st;
	int dir = l->dirs[f->dir].fd;
	if (fstatat(dir, f->name, &st, AT_SYMLINK_NOFOLLOW) || st.st_dev != f->dev ||
	    st.st_ino != f->ino)
		f->verdict = doubt(f, "another file by now");
	else if (!S_ISREG(st.st_mode))
		f->verdict = doubt(f, "not a regular file");
	else if (f->mapped_by)
		f->verdict = LEFTOVER_USED;
	else if (l->unread)
		f->verdict = doubt(f, "the kernel did not tell in time what a process has mapped");
	else if (st.st_uid != geteuid())
		f->verdict = doubt(f, "belongs to another user");
	else {
		int fd = file_open(dir, f->name, O_NOFOLLOW);
		if (fd < 0)
			f->verdict = doubt(f, "cannot be opened");
		return fd;
	}
	return -1;
}

void leftover_judge(struct leftover *l)
{
	find_mapped(l);
	for (unsigned i = 0; i < l->file_count; i++) {
		int fd = open_file(l, &l->files[i]);
		if (fd < 0)
			continue;
		l->files[i].verdict = judge_open(l, &l->files[i], fd);
		close(fd);
	}
}

bool leftover_remove(struct leftover *l, struct leftover_file *f)
{
	int fd = f->verdict == LEFTOVER_STALE ? open_file(l, f) : -1;
	if (fd < 0)
		return false;
	struct stat st;
	int dir = l->dirs[f->dir].fd;
	f->verdict = judge_open(l, f, fd);
	/* The lock keeps our library from reusing the file between this check and the unlink. */
	bool removed = f->verdict == LEFTOVER_STALE &&
		       !fstatat(dir, f->name, &st, AT_SYMLINK_NOFOLLOW) && st.st_dev == f->dev &&
		       st.st_ino == f->ino && !unlinkat(dir, f->name, 0);
	if (!removed && f->verdict == LEFTOVER_STALE)
		f->verdict = doubt(f, "cannot be removed");
	close(fd);
	return removed;
}

void leftover_done(struct leftover *l)
{
	for (unsigned i = 0; i < l->dir_count; i++) {
		close(l->dirs[i].fd);
		free(l->dirs[i].path);
	}
	free(l->dirs);
	free(l->files);
}
