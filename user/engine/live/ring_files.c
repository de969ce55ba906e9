/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/live/ring_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "codec/ring/ids.h"
#include "engine/damage.h"
#include "engine/live/inbox.h"
#include "engine/live/known_rings.h"
#include "engine/live/ring_births.h"
#include "engine/live/ring_dirs.h"
#include "engine/live/ring_notes.h"
#include "engine/live/traced.h"
#include "engine/live/unread_rings.h"
#include "proc/process.h"
#include "proc/ringfile.h"
#include "proc/timens.h"
#include "runtime/inspect.h"
#include "session/versions.h"

/* Reports what keeps the rings of a process from being read as they were written, once for each
 * process, and changes nothing. */

/* The n rings, RINGFILE_MAX at most, were found open in the process. */
static void ring_warnings_report(const struct messages *r, struct traced_process *p,
				 const struct ringfile *found, int n)
{
	/* Where runtimes name files by the pid alone, each of a process opens, and clears, one. */
	int same = p->told_mixed ? n : ringfile_find_same(found, n);
	if (same < n)
		messages_at(r, LOG_NORMAL,
			    "process %d: several runtimes in it write to one ring file, '%s': each "
			    "that starts clears it, and their events are mixed up",
			    p->pid, found[same].path);
	p->told_mixed |= same < n;
	if (n == RINGFILE_MAX && !p->told_many)
		messages_at(r, LOG_NORMAL,
			    "process %d has %d rings: others that it may have are not read", p->pid,
			    n);
	p->told_many |= n == RINGFILE_MAX;
}

/* The ring of a process is read, and has not what --blame or --stack want. */
static void ring_warnings_unexplained(const struct engine *e, struct traced_process *p)
{
	const struct engine_options *o = e->options;
	const struct traits_language *language = p->runtime.language;
	if (p->told_unexplained || !(o->blame || o->stacks) ||
	    !(e->session->origins & ORIGIN_BPF) || !language || language->has_markers)
		return;
	messages_at(
		&e->session->messages, LOG_NORMAL,
		"process %d: its ring is on, and is read: %s%s%s%s; see --mode probes", p->pid,
		o->blame ? "while it has several threads, what its pauses were made of is not known"
			 : "",
		o->faults ? ", page faults are not timed" : "", o->blame && o->stacks ? ", " : "",
		o->stacks ? "its events have no stacks" : "");
	p->told_unexplained = true;
}

/* The time without progress in which a ring that cannot be opened holds up the end of a run. */
#define STUCK_NS    1000000000ull
#define GENERATIONS 16 /* ancestors of a process that are compared with the traced ones */
/* Of births at the end of a run: all that the kernel queues, unless more come without end. */
#define LAST_READS 32

struct ring_files {
	const struct engine *engine;
	struct traced *traced;
	struct ring_source *rings;
	struct inspect *inspect;
	struct inbox inbox;
	struct known_rings known;
	struct ring_dirs dirs;
	struct unread_rings unread;
	struct ring_births births;
	bool keep;
	bool attached; /* what is found from now on was not there when the run began */
	unsigned opened;
	unsigned refused;  /* processes that left notes: they could make none */
	uint64_t begun_ns; /* the last scan: what it deferred has come since the one before */
	uint64_t stuck_ns; /* since when nothing could be opened */
	struct runtime_version runtime; /* of the last process with a known one */
	int64_t clock_ahead_ns;		/* of the last process with a clock, as of struct process */
	char reason[EBT_REASON_BYTES];
	int error; /* what `reason` is about */
};

/* Its process has ended. It stays known as long as its file is there. */
static void let_go(struct ring_files *r, struct known_ring *k)
{
	struct ring_dir *dir = k->dir;
	bool gone = dir && k->name && !r->keep && ring_dirs_remove(k);
	k->dir = NULL;
	k->next = NULL;
	if (gone)
		known_rings_forget(&r->known, k);
	ring_dirs_put(&r->dirs, dir);
}

static void let_all_go(struct ring_files *r, struct traced_process *p)
{
	for (struct known_ring *k = p->rings, *next; k; k = next) {
		next = k->next;
		let_go(r, k);
	}
	p->rings = NULL;
}

/* Its files that are there because of us are removed, whether or not all of them has been read;
 * what was left out of its ring is lost, unless it is found in the directory. */
static void process_ended(struct ring_files *r, struct traced_process *p)
{
	ring_source_finish(r->rings, p->process);
	let_all_go(r, p);
	if (p->unread_ns)
		unread_rings_add(&r->unread, p->process, p->unread_ns);
}

static void let_go_of_ended(struct traced_process *p, void *ctx)
{
	if (!traced_runs(p))
		let_all_go(ctx, p);
}

void ring_files_remove(struct ring_files *r)
{
	traced_each(r->traced, let_go_of_ended, r);
}

static bool reads_rings(const struct ring_files *r)
{
	return !engine_probes_alone(r->engine->options);
}

/* The user that the process runs as by now may own rings of ours. */
static void add_user(struct ring_files *r, pid_t pid)
{
	char path[32];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (!stat(path, &st))
		inbox_add_user(&r->inbox, st.st_uid);
}

void ring_files_attached(struct ring_files *r)
{
	r->attached = true;
}

/* The process has a ring with events since a moment (0: since it was traced) that no other source
 * reports: they are lost if the process ends before the ring is read. */
static void expect(struct ring_files *r, struct traced_process *p, uint64_t since_ns)
{
	if (!p || !reads_rings(r) || p->opened_ns)
		return;
	p->needs_ring = true;
	if (!p->unread_ns)
		p->unread_ns =
			since_ns ? since_ns : traced_usage_began_ns(&p->usage, r->engine->session);
}

static void read_again(struct ring_files *r, pid_t pid)
{
	traced_report(r->traced, &(struct process_event){.kind = PROCESS_MAPPED, .pid = pid});
}

/* That of the program that it runs now may have been found since then. */
static void ring_announced(struct ring_files *r, const struct process_event *change)
{
	struct traced_process *p = change->process;
	bool needed = change->kind == PROCESS_RING_NEEDED;
	bool alone = needed || engine_watermarks(r->engine->options);
	if (alone)
		expect(r, p, needed ? change->ts : 0);
	if (p && (!p->opened_ns || p->opened_ns < change->ts) && (alone || !traced_rests(p)))
		read_again(r, change->pid);
}

static bool is_our_limit(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM;
}

static void set_runtime(struct ring_files *r, struct traced_process *p, struct runtime_version v)
{
	p->runtime = v;
	p->has_none = !v.language;
	if (p->has_none)
		return;
	r->runtime = p->runtime;
	messages_at(&r->engine->session->messages, LOG_VERBOSE, "process %d is %s", p->pid,
		    versions_text(p->runtime).text);
}

static void detect_runtime(struct ring_files *r, struct traced_process *p,
			   const struct maps_list *maps)
{
	if (!p->runtime.language && !p->inherits_none)
		set_runtime(r, p, inspect_runtime(r->inspect, p->pid, maps));
}

void ring_files_program_runs(struct ring_files *r, pid_t pid, const char *name)
{
	struct traced_process *p = traced_find(r->traced, pid);
	if (p)
		detect_runtime(r, p, NULL);
	if (p && !p->runtime.language) /* of one that has ended nothing is mapped any more */
		set_runtime(r, p, inspect_program(r->inspect, name));
}

void ring_files_directory(struct ring_files *r, const char *dir, bool own)
{
	inbox_open(&r->inbox, dir, own);
	if (own)
		ring_dirs_own(&r->dirs, dir);
}

/* One that ended before it was inspected most likely had the clock of the others. */
static void learn_clock(struct ring_files *r, uint32_t process, const struct traced_process *p)
{
	struct process *entry = processes_at(&r->engine->session->processes, process);
	struct timens its;
	if (p && !timens_read(p->pid, &its))
		process_set_clock(entry, its.monotonic_ns - timens_own().monotonic_ns);
	if (entry->clock_known)
		r->clock_ahead_ns = entry->clock_ahead_ns;
	else
		entry->clock_ahead_ns = r->clock_ahead_ns;
}

/* The newest process with this pid; NULL: none is known. */
static const struct process *process_of(const struct ring_files *r, pid_t pid)
{
	const struct processes *ps = &r->engine->session->processes;
	uint32_t index = processes_find(ps, (uint32_t)pid);
	return index ? processes_at(ps, index) : NULL;
}

/* Opens a ring file for reading as a source; takes the descriptor. p: its process, if that runs.
 * -EAGAIN: it is to be opened later. */
static int open_ring(struct ring_files *r, int fd, const char *name, struct traced_process *p,
		     pid_t pid, struct known_ring *k)
{
	struct ebt_cursor *c;
	uint32_t process = p ? p->process : PROCESS_UNKNOWN;
	/* One that ended before it was inspected most likely has the runtime of its relatives. */
	bool inspected = p && (p->runtime.language || process_has_mappings(p->pid));
	const struct process *known = inspected ? NULL : process_of(r, pid);
	struct runtime_version runtime = inspected ? p->runtime : r->runtime;
	runtime = known && known->in_program.language ? known->in_program : runtime;
	if (p && ringfile_is_being_written(fd, versions_traits(runtime).nameless_rings)) {
		snprintf(r->reason, sizeof(r->reason), "%s: its header is being written", name);
		r->error = -EAGAIN;
		close(fd);
		return -EAGAIN;
	}
	int err = ebt_cursor_open_fd(fd, name, versions_release(runtime), &c, r->reason);
	if (err) {
		k->requested = false; /* no ring is there because of us, whatever its name is */
		r->error = err;
		if (err != -EAGAIN)
			messages_at(&r->engine->session->messages, LOG_NORMAL, "%s", r->reason);
		return err == -ENOMEM || err == -EAGAIN ? err : 0;
	}
	messages_at(&r->engine->session->messages, LOG_VERBOSE,
		    "reading the ring '%s' of process %d", name, pid);
	damage_report_assumed(&r->engine->session->messages, c, name);
	r->opened++;
	if (!p && processes_lived(&r->engine->session->processes, (uint32_t)pid,
				  known_ring_lived_ns(k), &process)) {
		ebt_cursor_close(c);
		return -ENOMEM;
	}
	if (!p)
		processes_end_unused(&r->engine->session->processes, process);
	learn_clock(r, process, p);
	r->engine->session->origins |= ORIGIN_RING;
	err = ring_source_add(r->rings, c, name, process,
			      (p ? RING_LIVE : 0) | (r->attached ? RING_IN_RUN : 0));
	if ((!err || err == -ENOSPC) && p)
		traced_read_usage(r->traced, p);
	return err == -ENOSPC ? 0 : err; /* no memory for it: reported as a loss */
}

/* The same of a file that has just become known. */
static int read_ring(struct ring_files *r, int fd, const char *name, struct traced_process *p,
		     pid_t pid, struct known_ring *k)
{
	int err = open_ring(r, fd, name, p, pid, k);
	if (err == -EAGAIN) {
		ring_dirs_put(&r->dirs, k->dir);
		known_rings_forget(&r->known, k);
		if (p)
			traced_read_later(r->traced, p->pid);
		return 0;
	}
	if (!p) {
		let_go(r, k);
		return err;
	}
	k->next = p->rings;
	p->rings = k;
	return err;
}

/* At its end a process removes the ring that we read. */
static void note_unreadable(struct ring_files *r, struct traced_process *p, int err,
			    const char *reason)
{
	if (is_our_limit(err) && !p->unread_ns)
		p->unread_ns = now_ns() - RING_SLACK_NS;
	if (p->reported_error != err && !p->has_ring) {
		p->reported_error = err;
		snprintf(r->reason, sizeof(r->reason), "%s", reason);
		messages_at(&r->engine->session->messages, LOG_NORMAL, "%s", reason);
	}
	r->error = err;
}

/* One of the files that a process had mapped at seen_ns; takes its descriptor. */
static int add_mapped(struct ring_files *r, struct traced_process *p, const struct maps_list *maps,
		      const struct ringfile *found, uint64_t seen_ns)
{
	struct known_ring *k = known_rings_add(&r->known, found->fd);
	if (!k) {
		close(found->fd);
		return 0;
	}
	k->dir = ring_dirs_hold(&r->dirs, p->pid, found);
	k->requested = *r->inbox.path && ring_dirs_requested(&r->dirs, k->dir, r->engine->memory,
							     p->pid, found->path, r->inbox.path);
	ring_births_watch(&r->births, ring_dirs_fd(k->dir));
	const char *slash = strrchr(found->path, '/');
	k->name = strdup(slash ? slash + 1 : found->path); /* without memory it is not removed */
	detect_runtime(r, p, maps);
	add_user(r, p->pid);
	p->has_ring = true;
	p->opened_ns = seen_ns;
	ring_warnings_unexplained(r->engine, p);
	return read_ring(r, found->fd, found->path, p, p->pid, k);
}

/* True if the file's descriptor is a spare one: the file is read after others have been closed. */
static bool must_wait(const struct ring_files *r, int fd)
{
	return ring_source_open_files(r->rings) && file_is_last(fd);
}

/* Closes the rings that were found if one of them must wait. Their number, or -EMFILE. */
static int keep_spare(struct ring_files *r, const struct traced_process *p, struct ringfile *found,
		      int n, char *reason)
{
	int waits = 0;
	for (int i = 0; i < n; i++)
		waits += must_wait(r, found[i].fd) && !known_rings_has(&r->known, found[i].fd);
	if (!waits)
		return n;
	for (int i = 0; i < n; i++)
		ringfile_close(&found[i]);
	snprintf(reason, EBT_REASON_BYTES, "process %d: %s", p->pid, strerror(EMFILE));
	return -EMFILE;
}

/* What a traced process had mapped at read_ns: opens its rings that are new. 0 or -errno. */
static int process_mapped(struct ring_files *r, struct traced_process *p,
			  const struct maps_list *maps, uint64_t read_ns)
{
	if (!reads_rings(r))
		return 0;
	struct ringfile found[RINGFILE_MAX];
	char reason[EBT_REASON_BYTES] = "";
	int n = ringfile_open(r->engine->memory, p->pid, maps, r->engine->options->ring_dir, found,
			      RINGFILE_MAX, reason);
	if (n > 0)
		n = keep_spare(r, p, found, n, reason);
	if (n == -ESRCH)
		return 0;
	p->needs_ring &= n < 0;
	if (n >= 0 || (n == -ENOENT && !p->needs_ring))
		p->unread_ns = 0;
	if (n == -ENOENT)
		return 0;
	if (n < 0) {
		p->needs_ring |= is_our_limit(n) && *found->path;
		note_unreadable(r, p, n, reason);
		traced_read_later(r->traced, p->pid);
		return 0;
	}
	ring_warnings_report(&r->engine->session->messages, p, found, n);
	int err = 0;
	for (int i = 0; i < n; i++)
		if (err)
			close(found[i].fd);
		else
			err = add_mapped(r, p, maps, &found[i], read_ns);
	return err;
}

static int process_found(struct ring_files *r, pid_t pid, pid_t parent)
{
	const struct process_event born = {.kind = PROCESS_BORN, .pid = pid, .parent = parent};
	return traced_report(r->traced, &born);
}

/* 0: it is traced from now on, or gone; 1: it is not of our run; -errno. Of one that ends
 * meanwhile, or executes, the environment is empty: so its mapping is read behind that. */
static int add_writer(struct ring_files *r, int fd, pid_t pid, const struct stat *st)
{
	int ours = inbox_is_ours(&r->inbox, r->engine->memory, pid);
	int is = ringfile_is_of(r->engine->memory, pid, st);
	if (is <= 0)
		return is;
	if (ours)
		return ours < 0 ? ours : process_found(r, pid, 0);
	inbox_refuse(&r->inbox, fd);
	return is;
}

/*
 * Of a new file that no process that was read had mapped: 1 if one maps it by now, or its mapping
 * could not be opened this time, or if it is not of our run, or is to be offered again; 0 if its
 * writer has ended; -errno. In a pid namespace of its own the writer has another number than the
 * file.
 */
static int find_writer(struct ring_files *r, int fd, pid_t pid, const struct stat *st)
{
	uint64_t version;
	/* Written when the file has been mapped: it is offered again. */
	if (pread(fd, &version, sizeof(version), 0) != sizeof(version) || !version)
		return 1;
	int err = add_writer(r, fd, pid, st);
	if (err && err != -ESRCH)
		return err;
	struct traced_process *p = traced_find(r->traced, pid);
	err = p ? traced_read(p) : 0;
	return err ? err : p || inbox_defer(&r->inbox, fd) || known_rings_has(&r->known, fd);
}

/* A traced process that runs is found by its mapping, which is certain. */
static bool may_be_new(pid_t pid, void *ctx)
{
	const struct ring_files *r = ctx;
	const struct process *p = process_of(r, pid);
	return p ? !p->traced && (p->ended || r->engine->options->follow)
		 : r->engine->options->follow;
}

static bool is_known(const struct ring_id *id, void *ctx)
{
	return known_rings_find(&((const struct ring_files *)ctx)->known, id);
}

/* Notes a file of the directory. NULL: it is known. */
static struct known_ring *add_left(struct ring_files *r, int fd, const char *name)
{
	struct known_ring *k = known_rings_add(&r->known, fd);
	if (!k)
		return NULL;
	k->requested = true;
	k->dir = ring_dirs_hold_path(&r->dirs, r->inbox.path);
	k->name = strdup(name); /* without memory it is not removed */
	return k;
}

static int add_file(int fd, const char *name, pid_t pid, const struct stat *st, void *ctx)
{
	struct ring_files *r = ctx;
	const struct process *p = process_of(r, pid);
	/* A later process may have its pid. */
	bool is_left = p && p->ended && ringfile_is_of(r->engine->memory, pid, st) <= 0;
	int err = is_left ? 0 : find_writer(r, fd, pid, st);
	if (!err && must_wait(r, fd))
		err = -EMFILE;
	struct known_ring *k = err ? NULL : add_left(r, fd, name);
	if (k) {
		unread_rings_found(&r->unread, pid);
		return read_ring(r, fd, name, NULL, pid, k);
	}
	close(fd);
	r->inbox.starved |= err == -EMFILE || err == -ENFILE;
	return err < 0 && err != -EMFILE && err != -ENFILE ? err : 0;
}

/*
 * Files in the directory of a program that we started: they are kept until they are read, so that a
 * process which came and went between two scans is not missed. A process that is found to have
 * ended meanwhile may have left some that this scan had passed already.
 */
static int scan_inbox(struct ring_files *r)
{
	const struct inbox_reader reader = {may_be_new, is_known, add_file, r};
	unsigned ended, opened = r->opened;
	int err;
	do {
		ended = traced_ended(r->traced);
		err = reads_rings(r) ? inbox_scan(&r->inbox, &reader) : 0;
	} while (!err && traced_ended(r->traced) != ended);
	if (!err && !r->inbox.starved && !r->inbox.deferred)
		unread_rings_report(&r->unread);
	if (!r->inbox.starved || r->opened != opened)
		r->stuck_ns = 0;
	else if (!r->stuck_ns)
		r->stuck_ns = now_ns();
	return err;
}

/* A child may have ended already: its parent, or an older ancestor, is traced. */
static enum ring_parent find_parent(void *ctx, pid_t pid)
{
	struct ring_files *r = ctx;
	const struct traced_process *p = traced_find(r->traced, pid);
	if (p)
		return p->has_ring ? RING_PARENT_READ : RING_PARENT_OURS;
	pid_t parent = process_parent(pid);
	if (!parent)
		return RING_PARENT_GONE;
	pid_t older = parent;
	for (unsigned i = 0; i < GENERATIONS && older > 1; i++) {
		if (traced_find(r->traced, older)) {
			process_found(r, pid, parent);
			return RING_PARENT_OURS;
		}
		older = process_parent(older);
	}
	return RING_PARENT_OTHER;
}

static bool may_own(void *ctx, uid_t uid)
{
	return inbox_is_user(&((const struct ring_files *)ctx)->inbox, uid);
}

/* Unless a scan has found its mapping meanwhile. */
static void miss_birth(void *ctx, pid_t pid)
{
	struct ring_files *r = ctx;
	uint32_t process = PROCESS_UNKNOWN;
	struct traced_process *p = traced_find(r->traced, pid);
	if (p) {
		expect(r, p, r->begun_ns);
		return;
	}
	uint64_t boot_ns = clock_ns(CLOCK_BOOTTIME);
	if (pid &&
	    processes_lived(&r->engine->session->processes, (uint32_t)pid, boot_ns, &process))
		process = PROCESS_UNKNOWN;
	ring_source_missed(r->rings, process, r->begun_ns, now_ns());
	if (process)
		processes_end_unused(&r->engine->session->processes, process);
	r->births.missed += pid != 0;
	r->births.missed_unknown |= !pid;
}

bool ring_files_births(struct ring_files *r)
{
	const struct ring_births_user user = {find_parent, may_own, miss_birth, r};
	return ring_births_read(&r->births, &user);
}

/* A process that ended before a scan: where probes only wake us, its events are nowhere else. */
static void keep_left(void *ctx, pid_t pid, int fd, const char *name)
{
	struct ring_files *r = ctx;
	bool is_news = engine_watermarks(r->engine->options) && !known_rings_has(&r->known, fd);
	if (is_news && !file_is_last(fd) && ring_births_keep(&r->births, fd, pid, name))
		return;
	if (!is_news || file_is_last(fd))
		close(fd);
	if (is_news)
		miss_birth(r, pid);
}

static int on_process(void *ctx, const struct process_event *change)
{
	struct ring_files *r = ctx;
	const struct processes *ps = &r->engine->session->processes;
	struct traced_process *p = change->process;
	switch (change->kind) {
	case PROCESS_BORN:
		if (r->attached || change->is_old)
			processes_at(ps, p->process)->begun_in_run = !change->is_old;
		add_user(r, change->pid);
		break;
	case PROCESS_EXECED:
		/* A scan may find the new program's ring before the record of the exec arrives. */
		if (p && p->opened_ns <= change->ts)
			p->opened_ns = 0;
		r->runtime = change->runtime.language ? change->runtime : r->runtime;
		break;
	case PROCESS_MAPPED:
		return p && change->maps ? process_mapped(r, p, change->maps, change->ts) : 0;
	case PROCESS_RING_STARTED:
	case PROCESS_RING_NEEDED:
		ring_announced(r, change);
		break;
	case PROCESS_EXITED:
		/* Traced, or too short to be: rings that it left to us go. Those in a directory of
		 * ours are read first. */
		if (change->by_bpf && !*r->inbox.path)
			ring_dirs_remove_left(&r->dirs, change->pid, keep_left, r);
		break;
	default:
		process_ended(r, p);
	}
	return 0;
}

int ring_files_new(const struct engine *e, struct traced *traced, struct ring_source *rings,
		   struct inspect *inspect, bool keep, struct ring_files **ret)
{
	struct ring_files *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->engine = e;
	r->traced = traced;
	r->rings = rings;
	r->inspect = inspect;
	unread_rings_init(&r->unread, e, rings);
	r->births.fd = -1;
	r->keep = keep;
	r->attached = e->options->program != NULL;
	r->runtime = e->options->runtime;
	traced_subscribe(traced, on_process, r);
	*ret = r;
	return 0;
}

void ring_files_free(struct ring_files *r)
{
	if (!r)
		return;
	ring_births_done(&r->births);
	ring_dirs_done(&r->dirs);
	known_rings_done(&r->known);
	inbox_done(&r->inbox);
	unread_rings_done(&r->unread);
	free(r);
}

int ring_files_watch_births(struct ring_files *r)
{
	if (r->engine->options->follow && reads_rings(r))
		ring_births_init(&r->births);
	return r->births.fd;
}

/* Of a process that has ended. Its file is not seen again, unless it was left. */
static int read_birth(struct ring_files *r, const struct ring_birth *birth)
{
	struct stat st;
	bool is_known = known_rings_has(&r->known, birth->fd);
	struct known_ring *k =
		is_known || birth->is_second ? NULL : known_rings_add(&r->known, birth->fd);
	if (!k || fstat(birth->fd, &st)) {
		close(birth->fd);
		/* Of another program that the process ran, or put there by another one. */
		if (birth->is_second && !is_known)
			miss_birth(r, birth->pid);
		return 0;
	}
	unread_rings_found(&r->unread, birth->pid);
	int err = open_ring(r, birth->fd, birth->name, NULL, birth->pid, k);
	if (!st.st_nlink)
		known_rings_forget(&r->known, k);
	if (err == -EAGAIN)
		miss_birth(r, birth->pid);
	return err == -EAGAIN ? 0 : err;
}

/* What was created since the last scan: the ring of a process that runs is found by its mapping. */
static int take_births(struct ring_files *r)
{
	int err = 0;
	ring_files_births(r);
	for (struct ring_birth **at = &r->births.first; *at && !err;) {
		struct ring_birth *birth = *at;
		const struct traced_process *p = traced_find(r->traced, birth->pid);
		if (p && traced_runs(p) && !known_rings_has(&r->known, birth->fd)) {
			read_again(r, birth->pid);
			at = &birth->next;
			continue;
		}
		err = read_birth(r, birth);
		ring_births_remove(&r->births, at);
	}
	return err;
}

int ring_files_scan(struct ring_files *r, uint64_t known_ns)
{
	uint64_t before = r->begun_ns;
	r->begun_ns = now_ns();
	inbox_begin_round(&r->inbox);
	int err = traced_scan(r->traced);
	if (!err)
		err = take_births(r);
	if (!err)
		err = scan_inbox(r);
	uint64_t begin = r->inbox.deferred ? before : r->begun_ns;
	if (!err && reads_rings(r) && begin)
		ring_source_scanned(r->rings, begin < known_ns ? begin : known_ns);
	processes_hold(&r->engine->session->processes, r->inbox.starved);
	return err;
}

/* A ring that is there and has not been read. */
static int report_missed(int fd, const char *name, pid_t pid, const struct stat *st, void *ctx)
{
	struct ring_files *r = ctx;
	uint64_t now = now_ns(), wall = clock_ns(CLOCK_REALTIME);
	uint64_t made = (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
	uint64_t age = wall > made ? wall - made : 0;
	uint64_t version = 0;
	uint32_t process;
	struct known_ring *k = pread(fd, &version, sizeof(version), 0) == sizeof(version) &&
					       version &&
					       ringfile_is_of(r->engine->memory, pid, st) <= 0
				       ? add_left(r, fd, name)
				       : NULL;
	if (k)
		let_go(r, k);
	if (k && !processes_of(&r->engine->session->processes, (uint32_t)pid, &process)) {
		ring_source_missed(r->rings, process, age < now ? now - age : 0, now);
		messages_at(&r->engine->session->messages, LOG_NORMAL,
			    "the ring '%s' has not been read", name);
	}
	close(fd);
	return 0;
}

/* One that runs on: what is in its ring is lost to us. */
static void report_running(struct traced_process *p, void *ctx)
{
	struct ring_files *r = ctx;
	if (p->unread_ns)
		ring_source_missed(r->rings, p->process, p->unread_ns, now_ns());
}

static void read_running(struct traced_process *p, void *ctx)
{
	read_again(ctx, p->pid);
}

int ring_files_end(struct ring_files *r)
{
	const struct inbox_reader reader = {may_be_new, is_known, report_missed, r};
	for (unsigned i = 0; i < LAST_READS && (!i || r->births.more); i++)
		ring_files_births(r);
	traced_each(r->traced, read_running, r);
	int err = ring_files_scan(r, UINT64_MAX);
	if (!err && r->inbox.deferred)
		err = ring_files_scan(r, UINT64_MAX);
	if (!err && reads_rings(r))
		err = inbox_scan(&r->inbox, &reader);
	if (err)
		return err;
	r->refused = ring_notes_report(&r->inbox, &r->engine->session->messages);
	unread_rings_report(&r->unread);
	ring_births_report(&r->births, &r->engine->session->messages);
	traced_each(r->traced, report_running, r);
	bool starved = *r->inbox.path ? r->inbox.starved : traced_is_starved(r->traced);
	if (starved && reads_rings(r)) {
		messages_at(&r->engine->session->messages, LOG_NORMAL,
			    "there may be rings that have not been read: %s", strerror(EMFILE));
		ring_source_missed(r->rings, PROCESS_UNKNOWN, 0, now_ns());
	}
	return err;
}

bool ring_files_pending(const struct ring_files *r)
{
	return r->inbox.deferred ||
	       (r->inbox.starved && (!r->stuck_ns || now_ns() - r->stuck_ns < STUCK_NS));
}

unsigned ring_files_opened(const struct ring_files *r)
{
	return r->opened;
}

unsigned ring_files_refused(const struct ring_files *r)
{
	return r->refused;
}

int ring_files_error(const struct ring_files *r, const char **ret_reason)
{
	*ret_reason = r->reason;
	return r->error;
}
