/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/ring_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ebtrace/ring.h>

#include "base/clock.h"
#include "base/file.h"
#include "codec/ring_ids.h"
#include "engine/faults.h"
#include "engine/inbox.h"
#include "engine/known_rings.h"
#include "engine/ring_dirs.h"
#include "proc/ringfile.h"
#include "runtime/inspect.h"

/* For so long without progress a ring that cannot be opened holds up the end of a run. */
#define STUCK_NS 1000000000ull
/* A header that is older is not written any more. */
#define HEADER_NS 1000000000

/* A process that has ended while its ring could not be opened. */
struct unread {
	uint32_t process; /* its index in the registry */
	pid_t pid;
	uint64_t since_ns, until_ns;
};

struct ring_files {
	const struct engine *engine;
	struct follow *follow;
	struct ring_source *rings;
	struct inspect *inspect;
	struct inbox inbox;
	struct known_rings known;
	struct ring_dirs dirs;
	struct unread *unread;
	unsigned unread_count;
	unsigned opened;
	uint64_t stuck_ns;	  /* since when nothing could be opened */
	enum ebt_release release; /* of the last process that told it */
	char reason[EBT_REASON_BYTES];
	int error; /* what `reason` is about */
};

int ring_files_new(const struct engine *e, struct follow *f, struct ring_source *rings,
		   struct inspect *inspect, struct ring_files **ret)
{
	struct ring_files *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->engine = e;
	r->follow = f;
	r->rings = rings;
	r->inspect = inspect;
	r->release = e->options->release;
	*ret = r;
	return 0;
}

void ring_files_free(struct ring_files *r)
{
	if (!r)
		return;
	ring_dirs_done(&r->dirs);
	known_rings_done(&r->known);
	inbox_done(&r->inbox);
	free(r->unread);
	free(r);
}

static bool reads_rings(const struct ring_files *r)
{
	return r->engine->options->mode != MODE_PROBES;
}

void ring_files_process_added(struct ring_files *r, pid_t pid)
{
	char path[32];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (!stat(path, &st))
		inbox_add_user(&r->inbox, st.st_uid);
}

static bool is_our_limit(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM;
}

void ring_files_process_ended(struct ring_files *r, const struct followed *p)
{
	struct unread u = {p->usage.process, p->pid, p->unread_ns, now_ns()};
	struct unread *more =
		u.since_ns ? realloc(r->unread, (r->unread_count + 1) * sizeof(u)) : NULL;
	if (more) {
		r->unread = more;
		more[r->unread_count++] = u;
		processes_ref(&r->engine->session->processes, u.process);
	} else if (u.since_ns) {
		ring_source_missed(r->rings, u.process, u.since_ns, u.until_ns);
	}
}

/* The file that a process left has been opened. */
static void forget_unread(struct ring_files *r, pid_t pid)
{
	for (unsigned i = r->unread_count; i-- > 0;)
		if (r->unread[i].pid == pid) {
			processes_unref(&r->engine->session->processes, r->unread[i].process);
			r->unread[i] = r->unread[--r->unread_count];
		}
}

/* Nothing else was left by those that have ended. */
static void report_unread(struct ring_files *r)
{
	for (unsigned i = 0; i < r->unread_count; i++) {
		const struct unread *u = &r->unread[i];
		ring_source_missed(r->rings, u->process, u->since_ns, u->until_ns);
		report_at(&r->engine->report, LOG_NORMAL,
			  "process %d: its ring has not been read: %s", u->pid, strerror(EMFILE));
		processes_unref(&r->engine->session->processes, u->process);
	}
	r->unread_count = 0;
}

static void set_release(struct ring_files *r, struct followed *p, enum ebt_release release)
{
	p->release = release;
	if (p->release == EBT_RELEASE_AUTO)
		return;
	r->release = p->release;
	report_at(&r->engine->report, LOG_VERBOSE, "process %d is %s", p->pid,
		  ring_release_name(p->release));
}

static void detect_release(struct ring_files *r, struct followed *p)
{
	if (p->release == EBT_RELEASE_AUTO)
		set_release(r, p, inspect_release(r->inspect, p->pid));
}

void ring_files_program_runs(struct ring_files *r, pid_t pid, const char *name)
{
	struct followed *p = follow_find(r->follow, pid);
	if (p)
		detect_release(r, p);
	/* Of one that has ended nothing is mapped any more. */
	if (p && p->release == EBT_RELEASE_AUTO)
		set_release(r, p, inspect_program(r->inspect, name));
}

void ring_files_directory(struct ring_files *r, const char *dir, bool own)
{
	inbox_open(&r->inbox, dir, own);
}

/*
 * OCaml names and maps its file first, then writes the header, field by field: a field that is still
 * 0 would be taken for damage. After a second it is damage.
 */
static bool is_being_written(int fd, enum ebt_release release)
{
	struct ebt_ring_file h;
	struct stat st;
	if (file_read_at(fd, &h, sizeof(h), 0) != sizeof(h) || fstat(fd, &st))
		return false;
	bool whole = h.version && h.max_domains && h.ring_header_size && h.ring_size_bytes &&
		     h.ring_size_elements && h.headers_offset && h.data_offset &&
		     (h.custom_events_offset || release == EBT_RELEASE_OCAML_5_0);
	int64_t age_ns = (int64_t)clock_ns(CLOCK_REALTIME) -
			 ((int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
	return !whole && age_ns < HEADER_NS;
}

/* Opens a ring file for reading as a source; takes the descriptor. p: whose it is, if it runs. */
static int open_ring(struct ring_files *r, int fd, const char *name, const struct followed *p,
		     pid_t pid)
{
	struct ebt_cursor *c;
	uint32_t process = p ? p->usage.process : PROCESS_UNKNOWN;
	/* One that came and went between two scans is most likely of the family's release. */
	enum ebt_release release = p ? p->release : r->release;
	int err = -EAGAIN;
	if (p && is_being_written(fd, release)) {
		snprintf(r->reason, sizeof(r->reason), "%s: its header is being written", name);
		close(fd);
	} else {
		err = ebt_cursor_open_fd(fd, name, release, &c, r->reason);
	}
	if (err == -EAGAIN) {
		/* Look again later. */
		known_rings_undo(&r->known);
		r->error = err;
		return 0;
	}
	if (err) {
		known_rings_disown(&r->known);
		report_at(&r->engine->report, LOG_NORMAL, "%s", r->reason);
		r->error = err;
		return err == -ENOMEM ? err : 0;
	}
	report_at(&r->engine->report, LOG_VERBOSE, "reading the ring '%s' of process %d", name,
		  pid);
	faults_report_assumed(&r->engine->report, c, name);
	r->opened++;
	follow_usage_soon(r->follow);
	if (!p && processes_of_ended(&r->engine->session->processes, (uint32_t)pid, &process)) {
		ebt_cursor_close(c);
		return -ENOMEM;
	}
	err = ring_source_add(r->rings, c, name, process, p != NULL);
	/* It may have ended since it was looked at, which tells its name. */
	const struct followed *owner = follow_last(r->follow, pid);
	if (!err && owner && owner->usage.process == process)
		followed_usage_note(&owner->usage, r->engine->session);
	return err == -ENOSPC ? 0 : err; /* no memory for it: told as a loss */
}

/* Files of OCaml are named by the pid alone: each runtime of a process opens, and clears, the same. */
static void report_mixed(const struct ring_files *r, struct followed *p,
			 const struct ringfile *found, int n)
{
	for (int i = 0; i < n && !p->told_mixed; i++)
		for (int j = i + 1; j < n && !p->told_mixed; j++) {
			struct stat a, b;
			p->told_mixed = !fstat(found[i].fd, &a) && !fstat(found[j].fd, &b) &&
					a.st_dev == b.st_dev && a.st_ino == b.st_ino;
			if (p->told_mixed)
				report_at(&r->engine->report, LOG_NORMAL,
					  "process %d: several runtimes in it write to one "
					  "ring file, '%s': each that starts clears it, and their "
					  "events are mixed up",
					  p->pid, found[i].path);
		}
}

/* At its end a process removes the ring that we read. */
static void note_unreadable(struct ring_files *r, struct followed *p, int err, const char *reason)
{
	if (is_our_limit(err) && !p->unread_ns)
		p->unread_ns = now_ns() - RING_SLACK_NS;
	if (p->told_error != err && !p->has_ring) {
		p->told_error = err;
		snprintf(r->reason, sizeof(r->reason), "%s", reason);
		report_at(&r->engine->report, LOG_NORMAL, "%s", reason);
	}
	r->error = err;
}

/* One of the files that a process has mapped; takes its descriptor. */
static int take_mapped(struct ring_files *r, struct followed *p, const struct ringfile *found)
{
	const char *slash = strrchr(found->path, '/');
	if (known_rings_has(&r->known, found->fd)) {
		close(found->fd);
		return 0;
	}
	struct known_ring k = {
		.pid = p->pid,
		.named = slash ? ringfile_name_pid(slash + 1) : 0,
		.asked = *r->inbox.path && ring_dirs_asked(p->pid, found->path, r->inbox.path),
	};
	if (!known_rings_take(&r->known, found->fd, &k)) {
		close(found->fd);
		return 0;
	}
	ring_dirs_take(&r->dirs, p->pid, found);
	detect_release(r, p);
	ring_files_process_added(r, p->pid); /* as whoever it runs by now */
	p->has_ring = true;
	return open_ring(r, found->fd, found->path, p, p->pid);
}

static int visit(struct followed *p, void *ctx)
{
	struct ring_files *r = ctx;
	if (!reads_rings(r))
		return 0;
	struct ringfile found[RINGFILE_MAX];
	char reason[EBT_REASON_BYTES] = "";
	int n = ringfile_find(p->pid, r->engine->options->ring_dir, found, RINGFILE_MAX, reason);
	if (n == -ESRCH)
		return 0;
	if (n >= 0 || n == -ENOENT)
		p->unread_ns = 0;
	if (n == -ENOENT)
		return 0;
	if (n < 0) {
		note_unreadable(r, p, n, reason);
		return 0;
	}
	report_mixed(r, p, found, n);
	int err = 0;
	for (int i = 0; i < n; i++) {
		if (err)
			close(found[i].fd);
		else
			err = take_mapped(r, p, &found[i]);
	}
	return err;
}

/* 0: it is followed from now on, or gone; 1: it is not of our run; -errno. */
static int add_writer(struct ring_files *r, int fd, pid_t pid, const struct stat *st)
{
	int is = ringfile_is_of(pid, st);
	int ours = is > 0 ? inbox_is_ours(&r->inbox, pid) : is;
	if (ours)
		return ours < 0 ? ours : follow_add_found(r->follow, pid);
	if (is)
		inbox_refuse(&r->inbox, fd);
	return is;
}

/*
 * Of a new file that no process had mapped when we looked at them: 1 if there is one by now, born
 * since, or nobody's child any more, also if its mapping could not be opened this time, or if it is
 * not of our run; 0 if whoever wrote it is gone; -errno.
 */
static int find_writer(struct ring_files *r, int fd, pid_t pid, const struct stat *st)
{
	uint64_t version;
	/* Written when the file has been mapped: look again later. */
	if (pread(fd, &version, sizeof(version), 0) != sizeof(version) || !version)
		return 1;
	int err = follow_last(r->follow, pid) ? 0 : add_writer(r, fd, pid, st);
	if (!err || err == -ESRCH)
		err = follow_scan(r->follow, visit, r);
	if (err)
		return err;
	return known_rings_has(&r->known, fd) || follow_find(r->follow, pid);
}

/* A live process is found by its mapping, which is certain. */
static bool is_wanted(pid_t pid, const struct ring_id *id, void *ctx)
{
	struct ring_files *r = ctx;
	const struct followed *p = follow_last(r->follow, pid);
	return (p ? p->ended : r->engine->options->follow) && !known_rings_find(&r->known, id);
}

static int take_file(int fd, const char *name, pid_t pid, const struct stat *st, void *ctx)
{
	struct ring_files *r = ctx;
	struct known_ring k = {.pid = pid, .named = pid, .asked = true};
	int err = follow_last(r->follow, pid) ? 0 : find_writer(r, fd, pid, st);
	if (!err && known_rings_take(&r->known, fd, &k)) {
		forget_unread(r, pid);
		return open_ring(r, fd, name, NULL, pid);
	}
	close(fd);
	r->inbox.starved |= err == -EMFILE || err == -ENFILE;
	return err < 0 && err != -EMFILE && err != -ENFILE ? err : 0;
}

/*
 * Files in the directory of a program that we started: they are kept until they are read, so that
 * a process which came and went between two scans is not missed. Whoever is found to have ended
 * meanwhile may have left some that this look had passed already.
 */
static int scan_inbox(struct ring_files *r)
{
	unsigned ended, opened = r->opened;
	int err;
	do {
		ended = follow_ended(r->follow);
		err = reads_rings(r) ? inbox_look(&r->inbox, is_wanted, take_file, r) : 0;
	} while (!err && follow_ended(r->follow) != ended);
	if (!err && !r->inbox.starved)
		report_unread(r);
	if (!r->inbox.starved || r->opened != opened)
		r->stuck_ns = 0;
	else if (!r->stuck_ns)
		r->stuck_ns = now_ns();
	return err;
}

int ring_files_scan(struct ring_files *r)
{
	uint64_t begin = now_ns();
	int err = follow_scan(r->follow, visit, r);
	if (!err)
		err = scan_inbox(r);
	if (!err && reads_rings(r))
		ring_source_scanned(r->rings, begin);
	return err;
}

/* A ring that is there and has not been read. */
static int report_missed(int fd, const char *name, pid_t pid, const struct stat *st, void *ctx)
{
	struct ring_files *r = ctx;
	uint64_t now = now_ns(), wall = clock_ns(CLOCK_REALTIME);
	uint64_t made = (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
	uint64_t age = wall > made ? wall - made : 0;
	struct known_ring k = {.pid = pid, .named = pid, .asked = true};
	uint64_t version = 0;
	uint32_t process;
	if (pread(fd, &version, sizeof(version), 0) == sizeof(version) && version &&
	    ringfile_is_of(pid, st) <= 0 && known_rings_take(&r->known, fd, &k) &&
	    !processes_of(&r->engine->session->processes, (uint32_t)pid, &process)) {
		ring_source_missed(r->rings, process, age < now ? now - age : 0, now);
		report_at(&r->engine->report, LOG_NORMAL, "the ring '%s' has not been read", name);
	}
	close(fd);
	return 0;
}

/* One that runs on: what is in its ring is lost to us. */
static void report_running(const struct followed *p, void *ctx)
{
	struct ring_files *r = ctx;
	if (p->unread_ns)
		ring_source_missed(r->rings, p->usage.process, p->unread_ns, now_ns());
}

int ring_files_end(struct ring_files *r)
{
	int err = ring_files_scan(r);
	if (!err && reads_rings(r))
		err = inbox_look(&r->inbox, is_wanted, report_missed, r);
	if (err)
		return err;
	report_unread(r);
	follow_each(r->follow, report_running, r);
	bool starved = *r->inbox.path ? r->inbox.starved : follow_is_starved(r->follow);
	if (starved && reads_rings(r)) {
		report_at(&r->engine->report, LOG_NORMAL,
			  "there may be rings that have not been read: %s", strerror(EMFILE));
		ring_source_missed(r->rings, PROCESS_UNKNOWN, 0, now_ns());
	}
	return err;
}

bool ring_files_pending(const struct ring_files *r)
{
	return r->inbox.starved && (!r->stuck_ns || now_ns() - r->stuck_ns < STUCK_NS);
}

unsigned ring_files_opened(const struct ring_files *r)
{
	return r->opened;
}

int ring_files_error(const struct ring_files *r, const char **ret_reason)
{
	*ret_reason = r->reason;
	return r->error;
}

/* True for a ring that was read, of a process that has ended, if we asked for it: by the environment,
 * or, as its process says, by a probe. */
static bool is_left_over(const struct ring_id *id, pid_t named, bool left, void *ctx)
{
	struct ring_files *r = ctx;
	const struct known_ring *k = known_rings_find(&r->known, id);
	const struct followed *p = k ? follow_find(r->follow, k->pid) : NULL;
	return k && (k->asked || left) && k->named == named && (!p || !follow_runs(p));
}

void ring_files_remove(struct ring_files *r)
{
	ring_dirs_remove(&r->dirs, r->inbox.path, is_left_over, r);
}
