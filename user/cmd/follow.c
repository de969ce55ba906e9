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
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "proc/process.h"
#include "proc/ringfile.h"
#include "proc/runtime.h"
#include "proc/usage.h"

#define MAX_PROCESSES 4096

/* How often usage is looked at: often at first, a program may end soon; and for each process. */
#define USAGE_MIN_NS  4000000u
#define USAGE_MAX_NS  100000000u
#define USAGE_EACH_NS 1000000u

struct followed {
	pid_t pid;
	uint64_t user_ns, system_ns; /* that it had used before the run */
	int pidfd;
	bool ended;
	bool told;	/* follow_children() has reported it */
	int told_error; /* of its ring, that has been said */
	enum ebt_release release;
};

struct known_file {
	dev_t dev;
	ino_t ino;
};

struct follow {
	struct session *session;
	uint64_t usage_ns; /* when to look at it again, and how long after that */
	uint64_t usage_step_ns;
	struct ring_source *rings;
	const struct opts *opts;
	int epoll_fd;
	char dir[128];
	bool own_dir; /* nobody else's files are in it */
	struct followed *processes;
	unsigned count, cap, running;
	struct known_file *files;
	unsigned file_count, file_cap, opened;
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
	free(f->processes);
	free(f->files);
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

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What it used before the run is not the run's. */
static void begin_usage(const struct follow *f, struct followed *p)
{
	struct usage u;
	if (usage_read(p->pid, &u) || u.start_boot_ns > f->session->clock_at.boottime_ns)
		return;
	p->user_ns = u.user_ns;
	p->system_ns = u.system_ns;
}

static void note_usage(struct follow *f, const struct followed *p)
{
	struct session_process *sp = session_known_process(f->session, (uint32_t)p->pid);
	struct usage u;
	if (!sp || usage_read(p->pid, &u))
		return;
	sp->usage.known = true;
	/* How they divide is a guess that changes. */
	sp->usage.user_ns = u.user_ns > p->user_ns ? u.user_ns - p->user_ns : 0;
	sp->usage.system_ns = u.system_ns > p->system_ns ? u.system_ns - p->system_ns : 0;
	if (u.peak_rss_bytes)
		sp->usage.peak_rss_bytes = u.peak_rss_bytes;
}

void follow_usage(struct follow *f)
{
	for (unsigned i = 0; i < f->count; i++)
		if (!f->processes[i].ended)
			note_usage(f, &f->processes[i]);
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
	begin_usage(f, place);
	f->running++;
	return 0;
}

int follow_add(struct follow *f, pid_t pid)
{
	return add_process(f, pid, true);
}

void follow_dir(struct follow *f, const char *dir, bool own)
{
	snprintf(f->dir, sizeof(f->dir), "%s", dir);
	f->own_dir = own;
}

/* True if the file is new; then it is known from here on. */
static bool take_identity(struct follow *f, int fd)
{
	struct stat st;
	if (fstat(fd, &st))
		return false;
	for (unsigned i = 0; i < f->file_count; i++)
		if (f->files[i].dev == st.st_dev && f->files[i].ino == st.st_ino)
			return false;
	if (f->file_count == f->file_cap) {
		unsigned cap = f->file_cap ? 2 * f->file_cap : 8;
		struct known_file *k = realloc(f->files, cap * sizeof(*k));
		if (!k)
			return false;
		f->files = k;
		f->file_cap = cap;
	}
	f->files[f->file_count++] = (struct known_file){st.st_dev, st.st_ino};
	return true;
}

/* Opens a ring file for reading as a source; takes the descriptor. */
static int open_ring(struct follow *f, int fd, const char *name, struct followed *p, pid_t pid)
{
	struct ebt_cursor *c;
	bool live = p && !p->ended;
	enum ebt_release release = p ? p->release : f->opts->release;
	int err = ebt_cursor_open_fd(fd, name, release, &c, f->reason);
	if (err == -EAGAIN) {
		/* OCaml names its file before it has written the header: look again later. */
		f->file_count--;
		f->error = err;
		return 0;
	}
	if (err) {
		log_at(LOG_NORMAL, "%s", f->reason);
		f->error = err;
		return err == -ENOMEM ? err : 0;
	}
	log_at(LOG_VERBOSE, "reading the ring '%s' of process %d", name, pid);
	f->opened++;
	f->usage_ns = 0;
	f->usage_step_ns = USAGE_MIN_NS;
	return ring_source_add(f->rings, c, name, (uint32_t)pid, live);
}

static void detect_release(struct followed *p)
{
	if (p->release != EBT_RELEASE_AUTO)
		return;
	p->release = runtime_process_release(p->pid);
	if (p->release != EBT_RELEASE_AUTO)
		log_at(LOG_VERBOSE, "process %d is %s", p->pid, ring_release_name(p->release));
}

static int scan_maps(struct follow *f, struct followed *p)
{
	struct ringfile found[RINGFILE_MAX];
	char reason[EBT_REASON_BYTES] = "";
	int n = ringfile_find(p->pid, f->opts->ring_dir, found, RINGFILE_MAX, reason);
	if (n == -ENOENT || n == -ESRCH)
		return 0;
	if (n < 0) {
		if (p->told_error != n) {
			p->told_error = n;
			memcpy(f->reason, reason, sizeof(reason));
			log_at(LOG_NORMAL, "%s", reason);
		}
		f->error = n;
		return 0;
	}
	int err = 0;
	for (int i = 0; i < n; i++) {
		if (err || !take_identity(f, found[i].fd)) {
			close(found[i].fd);
			continue;
		}
		detect_release(p);
		err = open_ring(f, found[i].fd, found[i].path, p, p->pid);
	}
	return err;
}

/*
 * Files in the directory of a program that we started: they are kept until they are read, so that
 * a process which came and went between two scans is not missed.
 */
static int scan_dir(struct follow *f)
{
	DIR *d = *f->dir ? opendir(f->dir) : NULL;
	if (!d)
		return 0;
	int err = 0;
	struct dirent *e;
	while (!err && (e = readdir(d))) {
		char *end;
		long pid = strtol(e->d_name, &end, 10);
		if (!isdigit((unsigned char)*e->d_name) || pid <= 0 || !strstr(end, ".events"))
			continue;
		/* A live process is found by its mapping, which is certain. */
		bool followed = was_followed(f, (pid_t)pid);
		if (find(f, (pid_t)pid) || !(followed || (f->own_dir && f->opts->follow)))
			continue;
		/* Nobody's child any more, or a child just born: it is live all the same. */
		if (!followed && !add_process(f, (pid_t)pid, false)) {
			err = scan_maps(f, find(f, (pid_t)pid));
			continue;
		}
		int fd =
			openat(dirfd(d), e->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		struct stat st;
		if (fd < 0)
			continue;
		if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !take_identity(f, fd)) {
			close(fd);
			continue;
		}
		err = open_ring(f, fd, e->d_name, NULL, (pid_t)pid);
	}
	closedir(d);
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

void follow_remove_files(struct follow *f)
{
	DIR *d = *f->dir ? opendir(f->dir) : NULL;
	struct dirent *e;
	struct stat st;
	while (d && (e = readdir(d))) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
		const struct followed *p = find(f, pid);
		if (!strstr(e->d_name, ".events") || !was_followed(f, pid) ||
		    (p && !has_ended(p->pidfd)) ||
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		for (unsigned i = 0; i < f->file_count; i++)
			if (f->files[i].dev == st.st_dev && f->files[i].ino == st.st_ino)
				unlinkat(dirfd(d), e->d_name, 0);
	}
	if (d)
		closedir(d);
}

static void note_end(struct follow *f, const struct followed *p)
{
	struct session_process *sp = session_known_process(f->session, (uint32_t)p->pid);
	note_usage(f, p); /* of a zombie the memory is gone, the CPU time is not */
	if (sp)
		sp->end_ns = now_ns();
}

int follow_scan(struct follow *f)
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
		note_end(f, p);
		p->ended = true;
		f->running--;
		close(p->pidfd);
		p->pidfd = -1;
		ring_source_finish(f->rings, (uint32_t)p->pid);
	}
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
