/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/follow.h"

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
#include "cmd/inbox.h"
#include "cmd/knownrings.h"
#include "cmd/open.h"
#include "cmd/ringdirs.h"
#include "proc/process.h"
#include "proc/ringfile.h"
#include "runtime/inspect.h"

#define MAX_PROCESSES 4096

#define STUCK_NS 1000000000ull /* a ring that cannot be opened holds up the end for so long */

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
	struct inspect *inspect;
	int epoll_fd;
	struct inbox inbox;
	unsigned ended;	   /* processes, ever */
	uint64_t stuck_ns; /* since when nothing could be opened */
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
	       struct inspect *inspect, int epoll_fd, struct follow **ret)
{
	struct follow *f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->session = session;
	f->usage_step_ns = ACCOUNT_MIN_NS;
	f->rings = rings;
	f->opts = o;
	f->inspect = inspect;
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
	inbox_done(&f->inbox);
	free(f);
}

/* With this pid, living or, where it is asked for, ended; NULL: none. */
static struct followed *find(const struct follow *f, pid_t pid, bool ended_too)
{
	for (unsigned i = 0; i < f->count; i++)
		if (f->processes[i].pid == pid && (ended_too || !f->processes[i].ended))
			return &f->processes[i];
	return NULL;
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

void follow_usage(struct follow *f, bool begin)
{
	for (unsigned i = 0; i < f->count; i++)
		if (begin)
			account_restart(&f->processes[i].account, f->session);
		else if (!f->processes[i].ended)
			account_note(&f->processes[i].account, f->session);
	f->usage_ns = now_ns() + f->usage_step_ns + f->running * (uint64_t)ACCOUNT_EACH_NS;
	f->usage_step_ns *= f->usage_step_ns < ACCOUNT_MAX_NS ? 2 : 1;
}

static void add_user(struct follow *f, pid_t pid)
{
	char path[32];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (!stat(path, &st))
		inbox_add_user(&f->inbox, st.st_uid);
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
	f->running++;
	add_user(f, pid);
	return account_begin(&place->account, f->session, pid);
}

static void detect_release(struct follow *f, struct followed *p)
{
	if (p->release != EBT_RELEASE_AUTO)
		return;
	p->release = inspect_release(f->inspect, p->pid);
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
	struct followed *p = find(f, pid, false);
	if (p)
		detect_release(f, p);
}

void follow_renamed(struct follow *f, pid_t pid)
{
	struct followed *p = find(f, pid, false);
	if (p)
		account_name(&p->account);
}

void follow_dir(struct follow *f, const char *dir, bool own)
{
	inbox_open(&f->inbox, dir, own);
}

/* Opens a ring file for reading as a source; takes the descriptor. */
static int open_ring(struct follow *f, int fd, const char *name, struct followed *p, pid_t pid)
{
	struct ebt_cursor *c;
	uint32_t process = p ? p->account.process : PROCESS_UNKNOWN;
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
		known_rings_disown(&f->known);
		log_at(LOG_NORMAL, "%s", f->reason);
		f->error = err;
		return err == -ENOMEM ? err : 0;
	}
	log_at(LOG_VERBOSE, "reading the ring '%s' of process %d", name, pid);
	open_tell_assumed(c, name);
	f->opened++;
	f->usage_ns = 0;
	f->usage_step_ns = ACCOUNT_MIN_NS;
	if (!p && processes_of(&f->session->processes, (uint32_t)pid, &process)) {
		ebt_cursor_close(c);
		return -ENOMEM;
	}
	err = ring_source_add(f->rings, c, name, process, live);
	/* It may have ended since it was looked at, which tells its name. */
	for (unsigned i = 0; !err && i < f->count; i++)
		if (f->processes[i].account.process == process)
			account_note(&f->processes[i].account, f->session);
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
		if (err || known_rings_has(&f->known, found[i].fd)) {
			close(found[i].fd);
			continue;
		}
		struct known_ring k = {
			.pid = p->pid,
			.named = slash ? ringfile_name_pid(slash + 1) : 0,
			.asked = *f->inbox.path &&
				 ring_dirs_asked(p->pid, found[i].path, f->inbox.path),
		};
		if (!known_rings_take(&f->known, found[i].fd, &k)) {
			close(found[i].fd);
			continue;
		}
		ring_dirs_take(&f->dirs, p->pid, &found[i]);
		detect_release(f, p);
		add_user(f, p->pid);
		p->has_ring = true;
		err = open_ring(f, found[i].fd, found[i].path, p, p->pid);
	}
	return err;
}

static int take_child(pid_t child, void *ctx)
{
	struct follow *f = ctx;
	int err = find(f, child, false) ? 0 : add_process(f, child, false);
	/* One child too many does not end the trace of the others. */
	return err == -ESRCH || err == -E2BIG || err == -EMFILE || err == -ENFILE ? 0 : err;
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
				err = process_children(f->processes[i].pid, take_child, f);
			continue;
		}
		struct followed *p = &f->processes[i];
		account_end(&p->account, f->session);
		p->ended = true;
		f->running--;
		f->ended++;
		close(p->pidfd);
		p->pidfd = -1;
		ring_source_finish(f->rings, p->account.process);
	}
	return err;
}

/* 0: it is followed from now on, or gone; 1: it is not of our run; -errno. */
static int add_writer(struct follow *f, int fd, pid_t pid, const struct stat *st)
{
	int is = ringfile_is_of(pid, st);
	int ours = is > 0 ? inbox_is_ours(&f->inbox, pid) : is;
	if (ours)
		return ours < 0 ? ours : add_process(f, pid, false);
	if (is)
		inbox_refuse(&f->inbox, fd);
	return is;
}

/*
 * Of a new file that no process had mapped when we looked at them: 1 if there is one by now, born
 * since, or nobody's child any more, or if it is not of our run; 0 if whoever wrote it is gone;
 * -errno.
 */
static int find_writer(struct follow *f, int fd, pid_t pid, const struct stat *st)
{
	uint64_t version;
	/* Written when the file has been mapped: look again later. */
	if (pread(fd, &version, sizeof(version), 0) != sizeof(version) || !version)
		return 1;
	int err = find(f, pid, true) ? 0 : add_writer(f, fd, pid, st);
	if (!err || err == -ESRCH)
		err = scan_processes(f);
	return err ? err : known_rings_has(&f->known, fd);
}

/* A live process is found by its mapping, which is certain. */
static bool is_wanted(pid_t pid, const struct ring_id *id, void *ctx)
{
	struct follow *f = ctx;
	return (find(f, pid, true) ? !find(f, pid, false) : f->opts->follow) &&
	       !known_rings_find(&f->known, id);
}

static int take_file(int fd, const char *name, pid_t pid, const struct stat *st, void *ctx)
{
	struct follow *f = ctx;
	struct known_ring k = {.pid = pid, .named = pid, .asked = true};
	int err = find(f, pid, true) ? 0 : find_writer(f, fd, pid, st);
	if (!err && known_rings_take(&f->known, fd, &k))
		return open_ring(f, fd, name, NULL, pid);
	close(fd);
	f->inbox.starved |= err == -EMFILE || err == -ENFILE;
	return err < 0 && err != -EMFILE && err != -ENFILE ? err : 0;
}

/*
 * Files in the directory of a program that we started: they are kept until they are read, so that
 * a process which came and went between two scans is not missed. Whoever is found to have ended
 * meanwhile may have left some that this look had passed already.
 */
static int scan_inbox(struct follow *f)
{
	unsigned ended, opened = f->opened;
	int err;
	do {
		ended = f->ended;
		err = f->opts->mode == MODE_PROBES ? 0
						   : inbox_look(&f->inbox, is_wanted, take_file, f);
	} while (!err && f->ended != ended);
	if (!f->inbox.starved || f->opened != opened)
		f->stuck_ns = 0;
	else if (!f->stuck_ns)
		f->stuck_ns = now_ns();
	return err;
}

/* A ring that is there and has not been read. */
static int tell_missed(int fd, const char *name, pid_t pid, const struct stat *st, void *ctx)
{
	struct follow *f = ctx;
	uint64_t now = now_ns(), wall = clock_ns(CLOCK_REALTIME);
	uint64_t made = (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
	uint64_t age = wall > made ? wall - made : 0;
	struct known_ring k = {.pid = pid, .named = pid, .asked = true};
	uint64_t version = 0;
	uint32_t process;
	if (pread(fd, &version, sizeof(version), 0) == sizeof(version) && version &&
	    ringfile_is_of(pid, st) <= 0 && known_rings_take(&f->known, fd, &k) &&
	    !processes_of(&f->session->processes, (uint32_t)pid, &process)) {
		ring_source_missed(f->rings, process, age < now ? now - age : 0, now);
		log_at(LOG_NORMAL, "the ring '%s' has not been read", name);
	}
	close(fd);
	return 0;
}

int follow_end(struct follow *f)
{
	int err = follow_scan(f);
	if (!err && f->opts->mode != MODE_PROBES)
		err = inbox_look(&f->inbox, is_wanted, tell_missed, f);
	if (!err && f->inbox.starved) {
		log_at(LOG_NORMAL, "there may be rings that have not been read: %s",
		       strerror(EMFILE));
		ring_source_missed(f->rings, PROCESS_UNKNOWN, 0, now_ns());
	}
	return err;
}

/* True for a ring that was read, of a process that has ended, if we asked for it: by the environment,
 * or, as its process says, by a probe. */
static bool is_left_over(const struct ring_id *id, pid_t named, bool left, void *ctx)
{
	struct follow *f = ctx;
	const struct known_ring *k = known_rings_find(&f->known, id);
	const struct followed *p = k ? find(f, k->pid, false) : NULL;
	return k && (k->asked || left) && k->named == named && (!p || has_ended(p->pidfd));
}

void follow_remove_files(struct follow *f)
{
	ring_dirs_remove(&f->dirs, f->inbox.path, is_left_over, f);
}

int follow_scan(struct follow *f)
{
	int err = scan_processes(f);
	if (now_ns() >= f->usage_ns)
		follow_usage(f, false);
	return err ? err : scan_inbox(f);
}

unsigned follow_running(const struct follow *f)
{
	/* What could not be opened can be as soon as other files have been read to their end. */
	bool may_open = f->inbox.starved && (!f->stuck_ns || now_ns() - f->stuck_ns < STUCK_NS);
	return f->running + may_open;
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
