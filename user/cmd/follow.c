/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/follow.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cmd/account.h"
#include "cmd/knownrings.h"
#include "cmd/open.h"
#include "cmd/ringdirs.h"
#include "proc/inspect.h"
#include "proc/process.h"
#include "proc/ringfile.h"

#define MAX_PROCESSES 4096

/* How often usage is looked at: often at first, a program may end soon; and for each process. */
#define USAGE_MIN_NS  4000000u
#define USAGE_MAX_NS  100000000u
#define USAGE_EACH_NS 1000000u

struct followed {
	pid_t pid;
	struct account account;
	int pidfd;
	bool ended;
	bool told; /* follow_children() has reported it */
	bool has_ring, told_mixed;
	int told_error; /* of its ring, that has been said */
	enum ebt_release release;
};

struct follow {
	struct session *session;
	uint64_t usage_ns; /* when to look at it again, and how long after that */
	uint64_t usage_step_ns;
	struct ring_source *rings;
	const struct opts *opts;
	int epoll_fd;
	char dir[PATH_MAX];
	bool own_dir; /* nobody else's files are in it */
	struct followed *processes;
	unsigned count, cap, running;
	struct known_rings known;
	unsigned opened;
	struct ring_dirs dirs;
	enum ebt_release release; /* of the last process that told it */
	char reason[EBT_REASON_BYTES];
	int error; /* what `reason` is about */
};

int follow_new(struct session *session, struct ring_source *rings, const struct opts *o,
	       int epoll_fd, struct follow **ret)
{
	struct follow *f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->session = session;
	f->usage_step_ns = USAGE_MIN_NS;
	f->rings = rings;
	f->opts = o;
	f->epoll_fd = epoll_fd;
	f->release = o->release;
	*ret = f;
	return 0;
}

void follow_free(struct follow *f)
{
	if (!f)
		return;
	for (unsigned i = 0; i < f->count; i++)
		if (f->processes[i].pidfd >= 0)
			close(f->processes[i].pidfd);
	ring_dirs_done(&f->dirs);
	free(f->processes);
	known_rings_done(&f->known);
	free(f);
}

static struct followed *find(struct follow *f, pid_t pid)
{
	for (unsigned i = 0; i < f->count; i++)
		if (f->processes[i].pid == pid && !f->processes[i].ended)
			return &f->processes[i];
	return NULL;
}

static bool was_followed(const struct follow *f, pid_t pid)
{
	for (unsigned i = 0; i < f->count; i++)
		if (f->processes[i].pid == pid)
			return true;
	return false;
}

/* The place of a process that has ended and is of no use any more; NULL: all are needed. */
static struct followed *used_place(struct follow *f)
{
	for (unsigned i = 0; i < f->count; i++)
		if (f->processes[i].ended && f->processes[i].told)
			return &f->processes[i];
	return NULL;
}

static bool has_ended(int pidfd)
{
	struct pollfd fd = {.fd = pidfd, .events = POLLIN};
	return poll(&fd, 1, 0) > 0;
}

void follow_usage(struct follow *f)
{
	for (unsigned i = 0; i < f->count; i++)
		if (!f->processes[i].ended)
			account_note(&f->processes[i].account, f->session);
	f->usage_ns = now_ns() + f->usage_step_ns + f->running * (uint64_t)USAGE_EACH_NS;
	f->usage_step_ns *= f->usage_step_ns < USAGE_MAX_NS ? 2 : 1;
}

static int add_process(struct follow *f, pid_t pid, bool told)
{
	struct followed *place = f->count == MAX_PROCESSES ? used_place(f) : NULL;
	if (f->count == MAX_PROCESSES && !place)
		return -E2BIG;
	if (f->count == f->cap && !place) {
		unsigned cap = f->cap ? 2 * f->cap : 8;
		struct followed *p = realloc(f->processes, cap * sizeof(*p));
		if (!p)
			return -ENOMEM;
		f->processes = p;
		f->cap = cap;
	}
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return -errno;
	/* A zombie is listed among the children, at each scan anew. */
	if (!told && has_ended(pidfd)) {
		close(pidfd);
		return -ESRCH;
	}
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = f};
	if (epoll_ctl(f->epoll_fd, EPOLL_CTL_ADD, pidfd, &e)) {
		int err = -errno;
		close(pidfd);
		return err;
	}
	if (!place)
		place = &f->processes[f->count++];
	*place = (struct followed){
		.pid = pid, .pidfd = pidfd, .told = told, .release = f->opts->release};
	account_begin(&place->account, f->session, pid);
	f->running++;
	return 0;
}

static void detect_release(struct follow *f, struct followed *p)
{
	if (p->release != EBT_RELEASE_AUTO)
		return;
	p->release = inspect_release(p->pid);
	if (p->release == EBT_RELEASE_AUTO)
		return;
	f->release = p->release;
	log_at(LOG_VERBOSE, "process %d is %s", p->pid, ring_release_name(p->release));
}

int follow_add(struct follow *f, pid_t pid)
{
	return add_process(f, pid, true);
}

void follow_begun(struct follow *f, pid_t pid)
{
	struct followed *p = find(f, pid);
	if (p)
		detect_release(f, p);
}

void follow_renamed(struct follow *f, pid_t pid)
{
	struct followed *p = find(f, pid);
	if (p)
		account_name(&p->account);
}

void follow_dir(struct follow *f, const char *dir, bool own)
{
	snprintf(f->dir, sizeof(f->dir), "%s", dir);
	f->own_dir = own;
}

/* Opens a ring file for reading as a source; takes the descriptor. */
static int open_ring(struct follow *f, int fd, const char *name, struct followed *p, pid_t pid)
{
	struct ebt_cursor *c;
	bool live = p && !p->ended;
	/* One that came and went between two scans is most likely of the family's release. */
	enum ebt_release release = p ? p->release : f->release;
	int err = ebt_cursor_open_fd(fd, name, release, &c, f->reason);
	if (err == -EAGAIN) {
		/* OCaml names its file before it has written the header: look again later. */
		known_rings_undo(&f->known);
		f->error = err;
		return 0;
	}
	if (err) {
		log_at(LOG_NORMAL, "%s", f->reason);
		f->error = err;
		return err == -ENOMEM ? err : 0;
	}
	log_at(LOG_VERBOSE, "reading the ring '%s' of process %d", name, pid);
	open_tell_assumed(c, name);
	f->opened++;
	f->usage_ns = 0;
	f->usage_step_ns = USAGE_MIN_NS;
	err = ring_source_add(f->rings, c, name, (uint32_t)pid, live);
	return err == -ENOSPC ? 0 : err; /* no memory for it: told as a loss */
}

/* OCaml names its file by the pid alone: each runtime of a process opens, and clears, the same. */
static void tell_mixed(struct followed *p, const struct ringfile *found, int n)
{
	for (int i = 0; i < n && !p->told_mixed; i++)
		for (int j = i + 1; j < n && !p->told_mixed; j++) {
			struct stat a, b;
			p->told_mixed = !fstat(found[i].fd, &a) && !fstat(found[j].fd, &b) &&
					a.st_dev == b.st_dev && a.st_ino == b.st_ino;
			if (p->told_mixed)
				log_at(LOG_NORMAL,
				       "process %d: several OCaml runtimes in it write to one ring "
				       "file, '%s': each that starts clears it, and their events "
				       "are mixed up",
				       p->pid, found[i].path);
		}
}

static int scan_maps(struct follow *f, struct followed *p)
{
	if (f->opts->mode == MODE_PROBES)
		return 0;
	struct ringfile found[RINGFILE_MAX];
	char reason[EBT_REASON_BYTES] = "";
	int n = ringfile_find(p->pid, f->opts->ring_dir, found, RINGFILE_MAX, reason);
	if (n == -ENOENT || n == -ESRCH)
		return 0;
	if (n < 0) {
		/* At its end a process removes the ring that we read. */
		if (p->told_error != n && !p->has_ring) {
			p->told_error = n;
			memcpy(f->reason, reason, sizeof(reason));
			log_at(LOG_NORMAL, "%s", reason);
		}
		f->error = n;
		return 0;
	}
	tell_mixed(p, found, n);
	int err = 0;
	for (int i = 0; i < n; i++) {
		const char *slash = strrchr(found[i].path, '/');
		struct stat st;
		if (err || fstat(found[i].fd, &st) || known_rings_find(&f->known, &st)) {
			close(found[i].fd);
			continue;
		}
		struct known_ring k = {
			.pid = p->pid,
			.named = slash ? ringfile_name_pid(slash + 1) : 0,
			.asked = *f->dir && ring_dirs_asked(p->pid, found[i].path, f->dir),
		};
		if (!known_rings_take(&f->known, found[i].fd, &k)) {
			close(found[i].fd);
			continue;
		}
		if (k.asked)
			ring_dirs_take(&f->dirs, p->pid, &found[i]);
		detect_release(f, p);
		p->has_ring = true;
		err = open_ring(f, found[i].fd, found[i].path, p, p->pid);
	}
	return err;
}

static int scan_children(struct follow *f, pid_t pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *d = opendir(path);
	if (!d)
		return 0;
	int err = 0;
	struct dirent *e;
	while (!err && (e = readdir(d))) {
		if (!isdigit((unsigned char)*e->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.16s/children", pid, e->d_name);
		FILE *in = fopen(path, "re");
		int child;
		while (in && !err && fscanf(in, "%d", &child) == 1)
			if (!find(f, child)) {
				err = add_process(f, child, false);
				/* One child too many does not end the trace of the others. */
				if (err == -ESRCH || err == -E2BIG || err == -EMFILE)
					err = 0;
			}
		if (in)
			fclose(in);
	}
	closedir(d);
	return err;
}

static int scan_processes(struct follow *f)
{
	int err = 0;
	/* Processes added on the way are looked at in the same scan. */
	for (unsigned i = 0; !err && i < f->count; i++) {
		if (f->processes[i].ended)
			continue;
		bool ended = has_ended(f->processes[i].pidfd);
		if (!ended) {
			err = scan_maps(f, &f->processes[i]);
			if (!err && f->opts->follow)
				err = scan_children(f, f->processes[i].pid);
			continue;
		}
		struct followed *p = &f->processes[i];
		account_end(&p->account, f->session);
		p->ended = true;
		f->running--;
		close(p->pidfd);
		p->pidfd = -1;
		ring_source_finish(f->rings, (uint32_t)p->pid);
	}
	return err;
}

/*
 * True if the file has the pid's name and is mapped by it. The name alone says little: in a pid
 * namespace of its own the program has another number, which is somebody else's here.
 */
static bool has_mapped(pid_t pid, const struct stat *file)
{
	struct ringfile found[RINGFILE_MAX];
	char reason[EBT_REASON_BYTES];
	int n = ringfile_find(pid, NULL, found, RINGFILE_MAX, reason);
	bool has = false;
	for (int i = 0; i < n; i++) {
		struct stat st;
		has |= !fstat(found[i].fd, &st) && st.st_dev == file->st_dev &&
		       st.st_ino == file->st_ino;
		ringfile_close(&found[i]);
	}
	return has;
}

/*
 * Of a new file that no process had mapped when we looked at them: 1 if there is one by now, born
 * since, or nobody's child any more; 0 if whoever wrote it is gone; -errno.
 */
static int find_writer(struct follow *f, int fd, pid_t pid, const struct stat *st)
{
	uint64_t version;
	/* Written when the file has been mapped: look again later. */
	if (pread(fd, &version, sizeof(version), 0) != sizeof(version) || !version)
		return 1;
	int err = !was_followed(f, pid) && has_mapped(pid, st) ? add_process(f, pid, false) : 0;
	if (!err || err == -ESRCH)
		err = scan_processes(f);
	return err ? err : known_rings_find(&f->known, st) != NULL;
}

/*
 * Files in the directory of a program that we started: they are kept until they are read, so that
 * a process which came and went between two scans is not missed.
 */
static int scan_dir(struct follow *f)
{
	DIR *d = *f->dir && f->opts->mode != MODE_PROBES ? opendir(f->dir) : NULL;
	if (!d)
		return 0;
	int err = 0;
	struct dirent *e;
	while (!err && (e = readdir(d))) {
		pid_t pid = ringfile_name_pid(e->d_name);
		if (!pid)
			continue;
		/* A live process is found by its mapping, which is certain. */
		bool followed = was_followed(f, pid);
		if (find(f, pid) || !(followed || (f->own_dir && f->opts->follow)))
			continue;
		int fd =
			openat(dirfd(d), e->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		struct stat st;
		if (fd < 0)
			continue;
		bool skip =
			fstat(fd, &st) || !S_ISREG(st.st_mode) || known_rings_find(&f->known, &st);
		if (!skip && !followed) {
			err = find_writer(f, fd, pid, &st);
			skip = err != 0;
			err = err < 0 ? err : 0;
		}
		struct known_ring k = {.pid = pid, .named = pid, .asked = true};
		if (skip || !known_rings_take(&f->known, fd, &k))
			close(fd);
		else
			err = open_ring(f, fd, e->d_name, NULL, pid);
	}
	closedir(d);
	return err;
}

/* True for a ring that was read and that we asked for, of a process that has ended. */
static bool is_left_over(const struct stat *st, pid_t named, void *ctx)
{
	struct follow *f = ctx;
	const struct known_ring *k = known_rings_find(&f->known, st);
	const struct followed *p = k ? find(f, k->pid) : NULL;
	return k && k->asked && k->named == named && (!p || has_ended(p->pidfd));
}

void follow_remove_files(struct follow *f)
{
	if (*f->dir)
		ring_dirs_remove(&f->dirs, f->dir, is_left_over, f);
}

int follow_scan(struct follow *f)
{
	int err = scan_processes(f);
	if (now_ns() >= f->usage_ns)
		follow_usage(f);
	return err ? err : scan_dir(f);
}

unsigned follow_running(const struct follow *f)
{
	return f->running;
}

unsigned follow_rings(const struct follow *f)
{
	return f->opened;
}

int follow_error(const struct follow *f)
{
	return f->error;
}

const char *follow_reason(const struct follow *f)
{
	return f->reason;
}

void follow_children(struct follow *f, void (*fn)(pid_t pid, void *ctx), void *ctx)
{
	for (unsigned i = 0; i < f->count; i++) {
		if (f->processes[i].told)
			continue;
		f->processes[i].told = true;
		fn(f->processes[i].pid, ctx);
	}
}
