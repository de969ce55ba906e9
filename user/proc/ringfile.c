/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc/ringfile.h"
#include "base/clock.h"
#include "base/file.h"
#include "proc/maps.h"
#include "proc/memory_reader.h"
#include "proc/process.h"

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

/* A header that is older is not written any more. */
#define HEADER_NS 1000000000

struct search {
	struct memory_reader *memory;
	pid_t pid;
	pid_t inner; /* in its own pid namespace; 0: not read yet */
	uid_t owner;
	bool has_owner; /* it has been read */
	struct ringfile *found;
	const struct stat *wanted; /* the one file that is searched for; else NULL */
	int n, cap;
	/* anything: an ending process has given its memory back before it is a zombie */
	bool mapped;
	int err; /* why the last mapped ring could not be opened */
	char *reason;
};

static int refuse(struct search *s, int err, const char *path, const char *what)
{
	snprintf(s->reason, RINGFILE_REASON_BYTES, "process %d: ring '%.160s': %s", (int)s->pid,
		 path, what);
	return err;
}

/* False: the process is gone. */
static bool read_owner(struct search *s)
{
	char dir[32];
	struct stat st;
	snprintf(dir, sizeof(dir), "/proc/%d", (int)s->pid);
	if (!s->has_owner && stat(dir, &st))
		return false;
	s->owner = s->has_owner ? s->owner : st.st_uid;
	s->has_owner = true;
	return true;
}

/* 0 if the open file may be read as a ring of the process. */
static int check_file(struct search *s, int fd, const char *path)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return refuse(s, -errno, path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return refuse(s, -EINVAL, path, "not a regular file");
	/* A daemon that has dropped its privileges keeps the ring that it made before. */
	if (st.st_uid != geteuid() && (!read_owner(s) || st.st_uid != s->owner))
		return refuse(s, -EOWNERDEAD, path,
			      "belongs neither to the owner of the process nor to us");
	return 0;
}

static void set_path(struct ringfile *found, const char *path)
{
	snprintf(found->path, sizeof(found->path), "%.*s", (int)sizeof(found->path) - 1, path);
}

static int add_found(struct search *s, int fd, const char *path)
{
	int err = check_file(s, fd, path);
	if (err) {
		close(fd);
		return err;
	}
	s->found[s->n].fd = fd;
	set_path(&s->found[s->n], path);
	s->n++;
	return 0;
}

static const char *why_not(int err)
{
	switch (err) {
	case -ESTALE:
		return "is not the file that the process has mapped";
	case -EINVAL:
		return "not a regular file";
	case -ELOOP:
		return "is a symbolic link";
	case -EACCES:
	case -EPERM:
		return geteuid() ? "Permission denied; root can read it"
				 : "Permission denied to root; 'ebtrace info --kernel' shows what "
				   "it lacks";
	case -ETIMEDOUT:
		return "the kernel gave no answer: its file system, or who holds the lock of the "
		       "process's memory, is waited for";
	default:
		return file_strerror(err);
	}
}

/* A decimal number without sign or leading zeros, 1 to INT32_MAX; 0: none. */
static long number_at(const char *s, char **end)
{
	if (*s < '1' || *s > '9')
		return 0;
	long n = strtol(s, end, 10);
	return n <= INT32_MAX ? n : 0;
}

pid_t ringfile_name_pid(const char *name)
{
	char *end;
	long pid = number_at(name, &end);
	if (pid && *end == '-' && number_at(end + 1, &end) < 2)
		return 0;
	return pid && !strcmp(end, ".events") ? (pid_t)pid : 0;
}

pid_t ringfile_mapped_pid(const struct maps_entry *e)
{
	const char *slash = strrchr(e->path, '/');
	return e->shared && e->write && slash ? ringfile_name_pid(slash + 1) : 0;
}

/* After a fork a child briefly has its parent's ring mapped; a reader has rings of others
 * mapped. */
static bool is_own(struct search *s, const struct maps_entry *e)
{
	pid_t named = e->offset ? 0 : ringfile_mapped_pid(e);
	if (named && !s->inner)
		s->inner = process_inner_pid(s->pid);
	return named && named == s->inner;
}

static bool add_mapping(const struct maps_entry *e, struct search *s)
{
	s->mapped = true;
	if (!is_own(s, e))
		return 0;
	int fd = memory_reader_open(s->memory, s->pid, e);
	if (fd < 0 && fd != -EINVAL && e->deleted) {
		s->err = refuse(s, -EACCES, e->path,
				geteuid() ? "has been deleted; root can read it still"
					  : "has been deleted; 'ebtrace info --kernel' shows what "
					    "root lacks");
	} else if (fd < 0) {
		s->err = refuse(s, fd, e->path, why_not(fd));
		if (!s->n)
			set_path(s->found, e->path);
	} else {
		int err = add_found(s, fd, e->path);
		s->err = err ? err : s->err;
	}
	return s->n == s->cap;
}

static int add_from_dir(struct search *s, const char *dir)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%d.events", dir, (int)s->pid) >= (int)sizeof(path))
		return refuse(s, -ENAMETOOLONG, dir, strerror(ENAMETOOLONG));
	int fd = file_open(AT_FDCWD, path, O_NOFOLLOW);
	if (fd < 0)
		return refuse(s, fd, path, why_not(fd));
	return add_found(s, fd, path);
}

/* Of a process without a mapping. 0: it is none of these. */
static int why_unmapped(pid_t pid, char *reason)
{
	struct process_status p;
	process_read_status(pid, &p);
	if (p.state == PROCESS_UNREAD) {
		snprintf(reason, RINGFILE_REASON_BYTES, "process %d: %s", (int)pid,
			 strerror(-p.error));
		return p.error;
	}
	if (p.state != PROCESS_GONE && p.state != PROCESS_ZOMBIE && p.state != PROCESS_KERNEL)
		return 0;
	const char *what = p.state == PROCESS_ZOMBIE   ? " any more: it is a zombie"
			   : p.state == PROCESS_KERNEL ? " but a kernel thread"
						       : "";
	snprintf(reason, RINGFILE_REASON_BYTES, "no process %d%s", (int)pid, what);
	return -ESRCH;
}

int ringfile_open(struct memory_reader *memory, pid_t pid, const struct maps_list *maps,
		  const char *dir, struct ringfile *ret, int cap, char *reason)
{
	struct search s = {
		.memory = memory, .pid = pid, .found = ret, .cap = cap, .reason = reason};

	*ret->path = 0;
	int err = maps->err;
	for (uint32_t i = 0; i < maps->count && !add_mapping(&maps->entry[i], &s); i++)
		;
	if (s.n)
		return s.n;
	if (s.err)
		return s.err;
	int why = s.mapped ? 0 : why_unmapped(pid, reason);
	if (why)
		return why;
	if (dir) {
		int dir_err = add_from_dir(&s, dir);
		if (!dir_err)
			return s.n;
		if (dir_err != -ENOENT)
			return dir_err;
	}
	if (err == -ESRCH || (!err && !s.mapped)) {
		snprintf(reason, RINGFILE_REASON_BYTES, "no process %d any more: it is ending",
			 (int)pid);
		return -ESRCH;
	}
	if (err < 0) {
		snprintf(reason, RINGFILE_REASON_BYTES, "process %d: its mappings: %s", (int)pid,
			 why_not(err));
		return err;
	}
	snprintf(reason, RINGFILE_REASON_BYTES, "process %d has no ring", (int)pid);
	return -ENOENT;
}

int ringfile_find(struct memory_reader *memory, pid_t pid, const char *dir, struct ringfile *ret,
		  int cap, char *reason)
{
	struct maps_list maps;
	memory_reader_list(memory, pid, MAPS_TRACED, &maps);
	int n = ringfile_open(memory, pid, &maps, dir, ret, cap, reason);
	maps_list_done(&maps);
	return n;
}

/* Ends the search at the file that is wanted. */
static int compare_mapping(const struct maps_entry *e, void *ctx)
{
	struct search *s = ctx;
	struct stat st;
	if (!is_own(s, e))
		return 0;
	int fd = memory_reader_open(s->memory, s->pid, e);
	if (fd < 0) {
		s->err = fd;
		return 0;
	}
	if (!check_file(s, fd, e->path) && !fstat(fd, &st))
		s->n += st.st_dev == s->wanted->st_dev && st.st_ino == s->wanted->st_ino;
	close(fd);
	return s->n;
}

int ringfile_is_of(struct memory_reader *memory, pid_t pid, const struct stat *file)
{
	char reason[RINGFILE_REASON_BYTES];
	struct search s = {.memory = memory,
			   .pid = pid,
			   .wanted = file,
			   .reason = reason,
			   .owner = file->st_uid,
			   .has_owner = true};
	int err = process_has_ended(pid)
			  ? 0
			  : memory_reader_maps(memory, pid, MAPS_TRACED, compare_mapping, &s);
	err = err < 0 ? err : s.err;
	bool unread = err == -EMFILE || err == -ENFILE || err == -ENOMEM;
	return s.n ? 1 : unread ? err : 0;
}

bool ringfile_is_being_written(int fd, bool nameless)
{
	struct ebt_ring_file h;
	struct stat st;
	if (file_read_at(fd, &h, sizeof(h), 0) != sizeof(h) || fstat(fd, &st))
		return false;
	bool whole = h.version && h.max_domains && h.ring_header_size && h.ring_size_bytes &&
		     h.ring_size_elements && h.headers_offset && h.data_offset &&
		     (h.custom_events_offset || nameless);
	int64_t age_ns = (int64_t)clock_ns(CLOCK_REALTIME) -
			 ((int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
	return !whole && age_ns > -HEADER_NS && age_ns < HEADER_NS;
}

void ringfile_close(struct ringfile *r)
{
	close(r->fd);
	r->fd = -1;
}

int ringfile_find_same(const struct ringfile *r, int n)
{
	struct stat st[RINGFILE_MAX];
	for (int i = 0; i < n; i++) {
		if (fstat(r[i].fd, &st[i]))
			st[i] = (struct stat){0};
		for (int j = 0; j < i; j++)
			if (st[i].st_ino && st[i].st_ino == st[j].st_ino &&
			    st[i].st_dev == st[j].st_dev)
				return i;
	}
	return n;
}
