// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "proc/memory_reader.h"
#include "source/bpf/plan.h"

/* A shared link that was in place is checked again after this, not for each of its processes. */
#define HELD_NS 200000ull

/*
 * One attacher's probes in one file of one process, attached and detached as the attacher decides,
 * by a link of its own or by one shared by all processes that run the file.
 */

/* True for a temporary error of ours; after any other there is no second attempt. */
static bool attachment_may_retry(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -EBUSY;
}

static bool is_given_up(const struct attachment *a)
{
	return a->err && !attachment_may_retry(a->err);
}

/* Leaves a->shared NULL where the file cannot be probed in all processes at once. One that is
 * probed so has no link of its own, whatever it is: its events would be there twice. */
static void share(struct bpf_links *l, struct attach_env *env, struct attachment *a, int file)
{
	struct stat st;
	if (!env->share || !a->by->is_shareable || fstat(file, &st))
		return;
	if (bpf_links_knows(l, a->by, st.st_dev, st.st_ino) || a->by->is_shareable(a->state))
		a->shared = bpf_links_share(l, env, a->by, st.st_dev, st.st_ino);
	a->cuts = a->shared ? a->shared->cuts : 0;
	a->heir = bpf_links_heir(l, a->by, st.st_dev, st.st_ino);
}

/* True if the probes of the attachment are gone: the caller must end it and begin another. */
static bool attachment_is_cut(struct bpf_links *l, struct attach_env *env, struct attachment *a)
{
	bool has_own = !a->shared || a->link.fd >= 0;
	if (!a->by || has_own)
		return a->by && !bpf_links_check(l, env, &a->link);
	uint64_t now = now_ns();
	bool known = now - a->shared->held_ns < HELD_NS;
	if (!known && bpf_links_check(l, env, &a->shared->link))
		a->shared->held_ns = now;
	else if (!known)
		a->shared->cuts++;
	return a->watched && a->cuts != a->shared->cuts;
}

/* Begins probing a file that `by` matches. 0; -errno: *ret is no attachment. */
static int attachment_begin(struct bpf_links *l, struct attach_env *env, const struct attacher *by,
			    const struct attach_process *process, const struct attach_file *file,
			    struct attachment *ret)
{
	struct attachment a = {.by = by, .pid = process->pid, .link.fd = -1};
	struct attach_file own = *file;
	own.fd = a.file = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	if (a.file < 0)
		return -errno;
	int err = by->begin(env, process, &own, &a.state);
	if (err) {
		close(a.file);
		return err;
	}
	share(l, env, &a, a.file);
	*ret = a;
	return 0;
}

/* Makes the shared link for the first process that needs it; the others use it. Sites, or
 * -errno. */
static int update_shared(struct bpf_links *l, struct attach_env *env, struct attachment *a,
			 enum attach_when when, uint64_t now_ns)
{
	struct bpf_shared *sh = a->shared;
	if (when == ATTACH_NOT) {
		/* It would pay for each event: probes and ring. */
		bpf_links_unshare(l, env, sh, sh->users - 1, now_ns);
		return 0;
	}
	if (a->watched || is_given_up(a) || when == ATTACH_LATER)
		return 0;
	if (!bpf_links_check(l, env, &sh->link))
		a->cuts = ++sh->cuts;
	if (sh->link.fd < 0) {
		const struct link_of of = {.file = a->file};
		int n = bpf_links_open(l, env, a->by, a->state, &of, &sh->link);
		a->err = n < 0 ? n : 0;
		if (n <= 0)
			return n;
		sh->since_ns = clock_ns(CLOCK_MONOTONIC);
	}
	a->watched = true;
	return (int)sh->link.sites;
}

static void leave_shared(struct bpf_links *l, struct attach_env *env, struct attachment *a)
{
	bool has_heir = a->link.fd >= 0;
	uint64_t until_ns = a->shared->until_ns ? a->shared->until_ns : a->shared->gone_ns;
	a->unshared_ns = a->watched && !has_heir ? until_ns : 0;
	bpf_links_leave(l, env, a->shared);
	a->shared = NULL;
}

static void close_file(struct attachment *a)
{
	if (a->file >= 0)
		close(a->file);
	a->file = -1;
}

/* True if a link of its own must be made. */
static bool is_due(const struct attachment *a, enum attach_when when)
{
	return when == ATTACH_NOW && a->link.fd < 0 && !is_given_up(a) && a->file >= 0;
}

/* Plans ahead the link of its own that the next update will make: the number of its sites, 0: none.
 * An error is left to the update. */
static uint32_t attachment_plan(struct attach_env *env, struct attachment *a, uint64_t now_ns)
{
	if (a->shared || !is_due(a, ATTACH_NOW))
		return 0;
	if (!a->plan.site && is_due(a, a->by->update(a->state, now_ns)))
		bpf_links_plan(env, a->by, a->state,
			       &(struct link_of){.pid = a->pid, .heir = a->heir}, &a->plan);
	return a->plan.sites;
}

static int open_own(struct bpf_links *l, struct attach_env *env, struct attachment *a, int beside)
{
	const struct link_of of = {
		.file = a->file, .pid = a->pid, .beside = beside, .heir = a->heir};
	if (!a->plan.site)
		return bpf_links_open(l, env, a->by, a->state, &of, &a->link);
	return bpf_links_attach(l, env, a->by, &a->plan, &of, &a->link);
}

/* A link of its own beside the shared one, which goes. As attachment_update(); sites that it probed
 * until now are not new. */
static int open_heir(struct bpf_links *l, struct attach_env *env, struct attachment *a,
		     enum attach_when when, uint64_t now_ns)
{
	uint64_t until_ns = a->shared->until_ns;
	bool is_late = until_ns && until_ns < now_ns, is_new = !a->watched || is_late;
	if (!is_due(a, when))
		return 0;
	a->heir = a->shared->link.key;
	int n = open_own(l, env, a, 0);
	a->err = n < 0 ? n : 0;
	a->watched |= n > 0;
	a->unshared_ns = n > 0 && is_late ? until_ns : 0;
	return n > 0 && !is_new ? 0 : n;
}

/* Makes a link of its own anew, lean or whole: the old one goes when the new one is there, so that
 * nothing is missed. No event is in both, as one of them is lean. */
static void relink(struct bpf_links *l, struct attach_env *env, struct attachment *a, bool lean)
{
	struct bpf_link link = {.fd = -1};
	const struct link_of of = {.file = a->file, .pid = a->pid, .heir = a->heir};
	a->by->set_lean(a->state, lean);
	int n = bpf_links_open(l, env, a->by, a->state, &of, &link);
	if (n <= 0) {
		a->by->set_lean(a->state, a->lean);
		return;
	}
	bpf_links_close(l, env, &a->link);
	a->link = link;
	a->lean = lean;
}

/* True for a link that goes only with its attachment: a budget replaces those that may be lean. */
static bool stays(const struct attach_env *env, const struct attachment *a)
{
	return !a->by->changes && !(a->by->set_lean && env->plan->budgeted);
}

/* How an attachment is updated. */
struct how {
	bool lean;  /* a ring of the process has its events, and they are to come from there */
	int beside; /* as of struct link_spec, for a link of its own */
};

/* Attaches or detaches. The number of sites attached by this call, or -errno. */
static int attachment_update(struct bpf_links *l, struct attach_env *env, struct attachment *a,
			     struct how how, uint64_t now_ns)
{
	enum attach_when when = a->by->update(a->state, now_ns);
	a->left_alone = when == ATTACH_NOT;
	if (a->shared && a->shared->goes && !a->shared->gone_ns)
		return open_heir(l, env, a, when, now_ns);
	if (a->shared && !a->shared->gone_ns)
		return update_shared(l, env, a, when, now_ns);
	if (a->shared)
		leave_shared(l, env, a);
	if (when == ATTACH_NOT && a->link.fd >= 0) {
		messages_at(env->messages, LOG_VERBOSE,
			    "process %d records events itself now: no probes any more", a->pid);
		bpf_links_close(l, env, &a->link);
	}
	bool leans = a->by->set_lean && a->file >= 0 && !a->err;
	if (leans && a->link.fd >= 0 && how.lean != a->lean)
		relink(l, env, a, how.lean);
	bool tries = is_due(a, when);
	int n = tries ? open_own(l, env, a, how.beside) : 0;
	if (tries)
		a->err = n < 0 ? n : 0;
	if ((tries || a->link.fd >= 0) && stays(env, a) && !attachment_may_retry(n))
		close_file(a);
	return n;
}

/* Since when the process has been watched by a link that was there before; 0: by its own. */
static uint64_t shared_from(const struct attach_env *env, const struct attachment *a,
			    const struct bpf_scan *scan)
{
	if (!a->shared)
		return 0;
	bool is_known = a->by->adopts && env->plan->everyone;
	return is_known || a->shared->since_ns > scan->found_ns ? a->shared->since_ns
								: scan->found_ns;
}

/* The begin of the time in which probes were missing, if the process was not scanned since
 * unwatched_ns; 0: they were not. */
static uint64_t attachment_missed(const struct attach_env *env, const struct attachment *a,
				  const struct bpf_scan *scan, uint64_t unwatched_ns)
{
	if (a->unshared_ns)
		return a->unshared_ns;
	return a->shared && shared_from(env, a, scan) <= unwatched_ns ? 0 : unwatched_ns;
}

/* Detaches; a zeroed attachment is allowed. */
static void attachment_end(struct bpf_links *l, struct attach_env *env, struct attachment *a)
{
	if (!a->by)
		return;
	bpf_links_close(l, env, &a->link);
	bpf_links_drop(env, a->by, &a->plan);
	if (a->shared)
		bpf_links_leave(l, env, a->shared);
	close_file(a);
	a->by->end(a->state);
	*a = (struct attachment){0};
}

/* Files of one process that are remembered: the only limit for a process that maps and unmaps ever
 * new files. Files beyond it are not inspected, which is reported. */
#define MAX_FILES INSPECT_MAPPINGS

struct bpf_file {
	uint64_t dev, inode;
	struct attachment at[ATTACHERS];
	bool moved;	       /* the attachers must be asked again */
	bool cut;	       /* because its probes were gone */
	bool starved;	       /* because it could not be opened yet */
	bool failed;	       /* it was not inspected */
	uint64_t unwatched_ns; /* it has not been watched since then; 0: it is */
};

struct walk {
	struct bpf_scanner *by;
	struct bpf_files *files;
	struct bpf_scan *scan;
	uint32_t mappings; /* so far */
	int err;
};

void bpf_files_init(struct bpf_files *f)
{
	*f = (struct bpf_files){0};
	inspect_budget_init(&f->budget);
}

static void report_incomplete(const struct messages *messages, struct bpf_files *f, pid_t pid)
{
	if (!f->reported)
		messages_at(
			messages, LOG_NORMAL,
			"process %d maps more than is looked into: markers and runtimes beyond the "
			"first %u files are not seen",
			pid, f->files);
	f->reported = true;
}

static void report_leased(const struct messages *messages, struct bpf_files *f, pid_t pid,
			  const char *path)
{
	if (!f->reported_lease)
		messages_at(messages, LOG_NORMAL,
			    "process %d: '%s' is not probed before its lease ends, which another "
			    "program holds",
			    pid, path);
	f->reported_lease = true;
}

/* NULL: it was not seen before. */
static struct bpf_file *find_file(const struct bpf_files *f, uint64_t dev, uint64_t inode)
{
	const uint64_t *at = map_get(&f->index, hash_file(dev, inode));
	struct bpf_file *file = at ? &f->file[*at] : NULL;
	return file && file->inode == inode && file->dev == dev ? file : NULL;
}

static struct bpf_file *add_file(struct bpf_files *f, uint64_t dev, uint64_t inode)
{
	if (!array_reserve(f->file, f->room, f->files))
		return NULL;
	uint64_t *at = map_put(&f->index, hash_file(dev, inode));
	if (!at)
		return NULL;
	*at = f->files;
	f->file[f->files] = (struct bpf_file){.dev = dev, .inode = inode};
	return &f->file[f->files++];
}

/* True if the parent of a process that has not called exec has the file mapped, too, and there was
 * nothing to probe in it. */
static bool is_known_plain(const struct bpf_files *parent, const struct bpf_file *file)
{
	const struct bpf_file *its = parent ? find_file(parent, file->dev, file->inode) : NULL;
	for (unsigned i = 0; its && i < ATTACHERS; i++)
		if (its->at[i].by)
			return false;
	return its && !its->moved && !its->failed;
}

/* True if the process runs the file. Which others have a library mapped no list says. */
static bool is_program(pid_t pid, int fd)
{
	char path[32];
	struct stat file, program;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return !fstat(fd, &file) && !stat(path, &program) && file.st_dev == program.st_dev &&
	       file.st_ino == program.st_ino;
}

/* A descriptor of the parent for the same file, which is probed in both by one link; < 0: none. */
static int open_inherited(const struct bpf_files *parent, const struct bpf_file *file)
{
	const struct bpf_file *its = parent ? find_file(parent, file->dev, file->inode) : NULL;
	for (unsigned i = 0; its && i < ATTACHERS; i++)
		if (its->at[i].shared && its->at[i].file >= 0)
			return fcntl(its->at[i].file, F_DUPFD_CLOEXEC, 0);
	return -1;
}

static int begin_attachments(struct walk *w, const struct maps_entry *e, struct bpf_file *file)
{
	struct runtime_file in;
	if (!file->moved && is_known_plain(w->scan->inherited, file))
		return 0;
	int fd = file->moved ? -1 : open_inherited(w->scan->inherited, file);
	if (fd < 0)
		fd = inspect_open(w->by->inspect, w->scan->pid, e);
	if (fd < 0)
		return fd;
	struct attach_file of = {.fd = fd, .map = e, .what = &in};
	int err = inspect_file(w->by->inspect, fd, &w->files->budget, &in);
	for (unsigned i = 0; i < ATTACHERS && !err; i++) {
		struct attach_process process = {
			.slot = w->scan->slot,
			.pid = w->scan->pid,
			.since_ns = w->scan->since_ns,
			.before = w->files->attached[i],
			.again = w->files->ever[i],
			.begins = w->scan->held_ns && !w->scan->inherited,
		};
		if (file->at[i].by || !attachers[i]->match(&in))
			continue;
		unsigned absent = w->by->env.absent & 1u << attachers[i]->program;
		w->by->env.missed |= absent;
		if (absent)
			continue;
		of.is_program = of.is_program || is_program(process.pid, fd);
		err = attachment_begin(&w->by->links, &w->by->env, attachers[i], &process, &of,
				       &file->at[i]);
		file->at[i].read_ns = w->scan->read_ns;
		w->files->attached[i] += !err;
		w->files->ever[i] |= !err;
	}
	close(fd);
	return err;
}

static bool is_ring(const struct maps_entry *e)
{
	static const char suffix[] = ".events";
	size_t n = strlen(e->path), tail = sizeof(suffix) - 1;
	return e->shared && e->write && n > tail && !strcmp(e->path + n - tail, suffix);
}

static bool has_code(const struct maps_entry *e)
{
	return e->exec && e->inode;
}

static int walk_entry(struct walk *w, const struct maps_entry *e)
{
	struct bpf_files *f = w->files;
	pid_t pid = w->scan->pid;
	bool over = ++w->mappings > INSPECT_MAPPINGS || f->files == MAX_FILES;
	if (over)
		report_incomplete(w->by->env.messages, f, pid);
	f->has_ring |= is_ring(e);
	if (over || !has_code(e))
		return over;
	uint64_t dev = makedev(e->dev_major, e->dev_minor);
	struct bpf_file *file = find_file(f, dev, e->inode);
	if (file && !file->moved)
		return 0;
	if (!file)
		file = add_file(f, dev, e->inode);
	if (!file)
		return -ENOMEM;
	bool was_starved = file->starved;
	if (!was_starved)
		file->unwatched_ns = file->cut ? w->scan->begun_ns : w->scan->unwatched_ns;
	file->cut = false;
	/* Also if it fails the file is remembered: it would fail again at every scan. */
	int err = begin_attachments(w, e, file);
	file->moved = file->starved = attachment_may_retry(err);
	file->failed = err != 0;
	if (f->budget.spent)
		report_incomplete(w->by->env.messages, f, pid);
	if (err == -EBUSY)
		report_leased(w->by->env.messages, f, pid, e->path);
	else if (err && !was_starved)
		messages_at(w->by->env.messages, LOG_VERBOSE, "pid %d: cannot attach to %s: %s",
			    pid, e->path, strerror(-err));
	w->err = err ? err : w->err;
	return err == -ESRCH ? err : 0;
}

static void note_missed(struct bpf_scan *scan, uint64_t since_ns, uint64_t until_ns)
{
	if (!since_ns)
		return;
	uint64_t until = until_ns ? until_ns : now_ns();
	if (!scan->missed_ns || since_ns < scan->missed_ns)
		scan->missed_ns = since_ns;
	if (until > scan->missed_until_ns)
		scan->missed_until_ns = until;
}

/* True if the events that the attachment misses are in the process's ring, which is read. */
static bool is_in_ring(const struct bpf_scanner *by, const struct bpf_files *f,
		       const struct attachment *a)
{
	return a->by->in_rings && f->has_ring && !by->env.plan->no_ring;
}

/* True if it has been stopped since before its mappings were read. */
static bool is_held(const struct bpf_scan *scan)
{
	return scan->held_ns && scan->held_ns < scan->read_ns;
}

static int find_ring(const struct maps_entry *e, void *ctx)
{
	return ((struct bpf_files *)ctx)->has_ring |= is_ring(e);
}

/* The links of one file that are closed together have one holder. */
static bool is_held_together(const struct attach_env *env, const struct attachment *a)
{
	return a->by && !a->shared && stays(env, a);
}

/* A link whose holder holds that of the attachment, too; 0: none. */
static int holder_of(const struct attach_env *env, const struct bpf_file *file,
		     const struct attachment *a)
{
	for (unsigned i = 0; i < ATTACHERS && is_held_together(env, a); i++)
		if (is_held_together(env, &file->at[i]) && file->at[i].link.fd > 0)
			return file->at[i].link.fd;
	return 0;
}

static void update(struct walk *w, struct bpf_file *file)
{
	const struct attach_env *env = &w->by->env;
	bool seen = false;
	for (unsigned i = 0; i < ATTACHERS; i++) {
		struct attachment *a = &file->at[i];
		int before = a->err;
		struct how how = {
			.lean = a->by && w->by->env.lean && is_in_ring(w->by, w->files, a),
			/* Perf-event links are removed one by one, site by site. */
			.beside = w->by->links.announce ? 0 : holder_of(&w->by->env, file, a),
		};
		int n = a->by ? attachment_update(&w->by->links, &w->by->env, a, how, now_ns()) : 0;
		if (n < 0)
			w->err = n;
		if (n < 0 && n != before)
			messages_at(w->by->env.messages, LOG_VERBOSE,
				    "pid %d: cannot attach to its %s: %s", w->scan->pid,
				    a->by->name, strerror(-n));
		if (n > 0)
			w->scan->sites += n;
		uint64_t missed =
			n > 0 ? attachment_missed(env, a, w->scan, file->unwatched_ns) : 0;
		/* It may have mapped one while it was attached to. */
		if ((n < 0 || missed) && a->by->in_rings && !w->files->has_ring &&
		    !is_held(w->scan))
			memory_reader_maps(w->by->env.plan->memory, w->scan->pid, MAPS_TRACED,
					   find_ring, w->files);
		bool in_ring = a->by && (a->left_alone || (n && is_in_ring(w->by, w->files, a)));
		w->scan->in_ring |= in_ring && file->unwatched_ns;
		if (n > 0 && !a->by->samples && !is_in_ring(w->by, w->files, a))
			note_missed(w->scan, missed, shared_from(env, a, w->scan));
		seen |= n > 0 || (a->by && a->left_alone);
	}
	if (seen)
		file->unwatched_ns = 0;
}

/* Of links that are removed one by one the user reads the sum before the first is made. */
static void announce(struct bpf_scanner *by, struct bpf_files *f)
{
	uint32_t sites = 0;
	for (uint32_t i = 0; by->links.announce && i < f->files; i++)
		for (unsigned k = 0; k < ATTACHERS; k++)
			if (f->file[i].at[k].by)
				sites += attachment_plan(&by->env, &f->file[i].at[k], now_ns());
	if (sites)
		by->links.announce(by->links.ctx, sites);
}

bool bpf_files_check(struct bpf_scanner *by, struct bpf_files *f)
{
	bool loses = false;
	for (uint32_t i = 0; i < f->files; i++)
		for (unsigned k = 0; k < ATTACHERS; k++) {
			struct attachment *a = &f->file[i].at[k];
			if (!attachment_is_cut(&by->links, &by->env, a))
				continue;
			loses |= !is_in_ring(by, f, a);
			attachment_end(&by->links, &by->env, a);
			f->attached[k]--;
			f->file[i].moved = f->file[i].cut = true;
		}
	return loses;
}

static void begin_scan(struct bpf_scan *scan)
{
	scan->sites = 0;
	scan->missed_ns = scan->missed_until_ns = 0;
	scan->in_ring = false;
}

static void update_all(struct walk *w)
{
	announce(w->by, w->files);
	for (uint32_t i = 0; i < w->files->files; i++)
		update(w, &w->files->file[i]);
	if (!w->scan->sites)
		w->scan->sites = w->err;
}

/* The lowest code is the program's own; libraries come and go above it. */
static void note_program(struct bpf_files *f, const struct maps_list *maps)
{
	for (uint32_t i = 0; i < maps->count; i++)
		if (has_code(&maps->entry[i])) {
			f->program = maps->entry[i];
			f->program.path = NULL;
			return;
		}
}

bool bpf_files_replaced(const struct bpf_files *f, const struct maps_list *maps)
{
	const struct maps_entry *program = &f->program;
	bool is_new = false;
	for (uint32_t i = 0; program->inode && i < maps->count; i++) {
		const struct maps_entry *e = &maps->entry[i];
		if (!has_code(e))
			continue;
		uint64_t dev = makedev(e->dev_major, e->dev_minor);
		if (e->start == program->start && e->inode == program->inode &&
		    dev == makedev(program->dev_major, program->dev_minor))
			return false;
		is_new |= !find_file(f, dev, e->inode);
	}
	return is_new;
}

void bpf_files_scan(struct bpf_scanner *by, struct bpf_files *f, const struct maps_list *maps,
		    struct bpf_scan *scan)
{
	struct walk w = {.by = by, .files = f, .scan = scan};
	begin_scan(scan);
	note_program(f, maps);
	f->has_ring = false;
	for (uint32_t i = 0; i < maps->count && !walk_entry(&w, &maps->entry[i]); i++)
		;
	update_all(&w);
}

void bpf_files_update(struct bpf_scanner *by, struct bpf_files *f, struct bpf_scan *scan)
{
	begin_scan(scan);
	update_all(&(struct walk){.by = by, .files = f, .scan = scan});
}

bool bpf_files_want_scan(const struct bpf_files *f)
{
	bool want = false;
	for (uint32_t i = 0; i < f->files; i++)
		want |= f->file[i].moved;
	return want;
}

/* True for what describes the new program already: it was found before the exec was reported, and
 * samples would miss it. */
static bool is_newer(const struct attachment *a, uint64_t exec_ns)
{
	return a->by->samples && a->read_ns > exec_ns;
}

/* Those that do not survive an exec, a bit each; those with one holder end together. */
static unsigned ended_by_exec(const struct attach_env *env, const struct bpf_file *file,
			      uint64_t ts)
{
	unsigned ended = 0, together = 0;
	for (unsigned i = 0; i < ATTACHERS; i++) {
		const struct attachment *a = &file->at[i];
		together |= (unsigned)is_held_together(env, a) << i;
		bool survives =
			!a->by || (!a->err && (is_newer(a, ts) || a->by->survives_exec(a->state)));
		ended |= (unsigned)!survives << i;
	}
	return ended & together ? ended | together : ended;
}

void bpf_files_exec(struct bpf_scanner *by, struct bpf_files *f, uint64_t ts)
{
	for (uint32_t i = 0; i < f->files; i++) {
		unsigned ended = ended_by_exec(&by->env, &f->file[i], ts);
		f->file[i].moved |= ended != 0;
		for (unsigned k = 0; k < ATTACHERS; k++) {
			if (!(ended >> k & 1))
				continue;
			attachment_end(&by->links, &by->env, &f->file[i].at[k]);
			f->attached[k]--;
		}
	}
}

bool bpf_files_probed(const struct bpf_scanner *by, const struct bpf_files *f, uint64_t born_ns)
{
	for (uint32_t i = 0; i < f->files; i++)
		for (unsigned k = 0; k < ATTACHERS; k++) {
			const struct bpf_file *file = &f->file[i];
			const struct attachment *a = &file->at[k];
			bool has = a->by && (a->link.fd >= 0 || a->shared || a->by->changes);
			if (has &&
			    !bpf_links_cover(&by->links, a->by, file->dev, file->inode, born_ns))
				return true;
		}
	return false;
}

int bpf_scanner_would_probe(const struct bpf_scanner *by, uint64_t dev, uint64_t inode,
			    uint64_t born_ns)
{
	int has = inspect_has_probes(by->inspect, dev, inode, by->env.plan->allocs);
	return has > 0 ? !bpf_links_cover(&by->links, NULL, dev, inode, born_ns) : has;
}

/* Whether a file has something to be probed, or may have, that is not. */
static bool has_failed(const struct bpf_scanner *by, const struct bpf_files *f,
		       const struct bpf_file *file)
{
	bool failed = file->starved &&
		      inspect_has_probes(by->inspect, file->dev, file->inode, by->env.plan->allocs);
	for (unsigned i = 0; i < ATTACHERS; i++) {
		const struct attachment *a = &file->at[i];
		failed |= a->by && a->err && !a->left_alone && !is_in_ring(by, f, a);
	}
	return failed;
}

uint64_t bpf_files_failed(const struct bpf_scanner *by, const struct bpf_files *f,
			  uint64_t since_ns)
{
	uint64_t failed = 0;
	for (uint32_t i = 0; i < f->files; i++) {
		const struct bpf_file *file = &f->file[i];
		uint64_t since = file->unwatched_ns ? file->unwatched_ns : since_ns;
		if (has_failed(by, f, file) && (!failed || since < failed))
			failed = since;
	}
	return failed;
}

void bpf_files_end(struct bpf_scanner *by, struct bpf_files *f)
{
	for (uint32_t i = 0; i < f->files; i++)
		for (unsigned k = 0; k < ATTACHERS; k++)
			attachment_end(&by->links, &by->env, &f->file[i].at[k]);
	free(f->file);
	map_done(&f->index);
	f->file = NULL;
	f->files = f->room = 0;
	memset(f->attached, 0, sizeof(f->attached));
}
