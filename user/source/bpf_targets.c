// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf_targets.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "bpf/abi.h"
#include "proc/hold.h"
#include "proc/inspect.h"
#include "proc/maps.h"
#include "proc/process.h"
#include "source/bpf_markers.h"
#include "source/bpf_ocaml.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A process is looked at so often in its first 32 ms, at doubling distances. */
#define YOUNG_LOOKS 6
#define NO_PARENT   UINT32_MAX
/* To look into a file that is larger takes too long to be held. */
#define MAX_HELD_BYTES (64 << 20)
#define MAX_HELD_NS    50000000ull
/* Files of one process that are remembered; what a program maps beyond is not looked at. */
#define MAX_FILES 8192

struct target_file {
	uint64_t dev, inode;
	uint32_t sites;
	int link; /* < 0: a file without markers, or one that cannot be attached to */
	struct bpf_ocaml *ocaml; /* NULL: no OCaml runtime */
	bool moved;		 /* it may be mapped at other addresses now */
	uint64_t unwatched_ns;	 /* its runtime has not been watched since then; 0: it is */
};

struct bpf_target {
	pid_t pid;
	bool ended;
	bool named;    /* the session knows which runtime it has */
	bool filtered; /* by seccomp, when its markers were attached */
	uint64_t since_ns;
	uint64_t born_ns;   /* its last fork or exec; 0: it ran when it was attached to */
	uint64_t looked_ns; /* when its mappings were read last; 0: never since then */
	uint64_t exe_dev, exe_inode;
	uint32_t parent;  /* its slot, of a process that has not called exec */
	bool pending;	  /* to be looked at as soon as possible */
	bool held;	  /* by hold_begin() */
	uint64_t held_ns; /* since then; 0: it runs */
	uint8_t looks;	  /* since then; see young_ns() */
	struct target_file *file;
	uint32_t files;
	struct map index; /* of the files, by device and inode */
	struct inspect_budget budget;
	bool told; /* that not everything is looked at */
};

struct scan {
	struct bpf_targets *t;
	uint32_t slot;
	int sites;
	int err; /* why the last file that failed did */
	uint32_t mappings;
	uint64_t unwatched_ns; /* what is found now was not watched since then; 0: no matter */
	int marker_sites;
	bool ring; /* the process has a ring file mapped */
};

int bpf_targets_add(struct bpf_targets *t, pid_t pid)
{
	struct bpf_target *p = realloc(t->target, (t->targets + 1ull) * sizeof(*p));
	if (!p)
		return -ENOMEM;
	t->target = p;
	p[t->targets] = (struct bpf_target){.pid = pid, .since_ns = now_ns(), .parent = NO_PARENT};
	inspect_budget_init(&p[t->targets].budget);
	uint64_t *at = map_put(&t->by_pid, (uint64_t)pid);
	if (!at)
		return -ENOMEM;
	*at = t->targets;
	return (int)t->targets++;
}

int bpf_targets_find(const struct bpf_targets *t, pid_t pid)
{
	const uint64_t *at = map_get(&t->by_pid, (uint64_t)pid);
	return at ? (int)*at : -ESRCH;
}

bool bpf_targets_name(struct bpf_targets *t, uint32_t slot)
{
	bool first = slot < t->targets && !t->target[slot].named;
	if (first)
		t->target[slot].named = true;
	return first;
}

uint64_t bpf_targets_since(const struct bpf_targets *t, uint32_t slot)
{
	return t->target[slot].since_ns;
}

pid_t bpf_targets_pid(const struct bpf_targets *t, uint32_t slot)
{
	return slot < t->targets ? t->target[slot].pid : 0;
}

static int attach_markers(struct scan *s, int fd, struct target_file *ret)
{
	struct bpf_target *target = &s->t->target[s->slot];
	pid_t pid = target->pid;
	struct uprobe_site *site = NULL;
	target->filtered = process_is_filtered(pid);
	if (target->filtered && !s->t->no_ring_request && !s->t->ring_request_always)
		log_at(LOG_VERBOSE,
		       "process %d runs under a seccomp filter: it is not asked for a ring, which "
		       "it might be killed for; its events come through probes (--ring-request "
		       "always asks all the same)",
		       pid);
	int n = bpf_markers_read(s->t, s->slot, target->filtered, fd, &site);
	int err = n < 0 ? n : 0;
	if (n > 0) {
		ret->link = s->t->attach(s->t->ctx, BPF_PROBE_MARKER, fd, pid, site, (uint32_t)n);
		err = ret->link < 0 ? ret->link : 0;
		if (!err)
			ret->sites = (uint32_t)n;
	}
	free(site);
	return err == -ENOEXEC || err == -EBADMSG ? 0 : err;
}

static int attach_file(struct scan *s, const struct maps_entry *e, struct target_file *ret)
{
	struct bpf_target *target = &s->t->target[s->slot];
	struct inspect_file in;
	int fd = maps_open(target->pid, e);
	if (fd < 0)
		return fd;
	int err = inspect_file(s->t->inspect, fd, &target->budget, &in);
	if (!err && in.markers && ret->link < 0)
		err = attach_markers(s, fd, ret);
	if (!err && !in.ocaml_error)
		return bpf_ocaml_new(s->t, s->slot, e, fd, &in.ocaml, &ret->ocaml);
	close(fd);
	return err || !in.release ? err : in.ocaml_error;
}

static void tell_incomplete(struct bpf_target *target)
{
	if (!target->told)
		log_at(LOG_NORMAL,
		       "process %d maps more than is looked into: markers and runtimes beyond the "
		       "first %u files are not seen",
		       target->pid, target->files);
	target->told = true;
}

/* The file of a mapping; NULL: it was not seen before. */
static struct target_file *find_file(struct bpf_target *target, uint64_t dev, uint64_t inode)
{
	const uint64_t *at = map_get(&target->index, inode + (dev << 40 | dev >> 24));
	struct target_file *f = at ? &target->file[*at] : NULL;
	return f && f->inode == inode && f->dev == dev ? f : NULL;
}

static struct target_file *add_file(struct bpf_target *target, uint64_t dev, uint64_t inode)
{
	struct target_file *p = realloc(target->file, (target->files + 1ull) * sizeof(*p));
	if (!p)
		return NULL;
	target->file = p;
	uint64_t *at = map_put(&target->index, inode + (dev << 40 | dev >> 24));
	if (!at)
		return NULL;
	*at = target->files;
	p[target->files] = (struct target_file){.dev = dev, .inode = inode, .link = -1};
	return &p[target->files++];
}

static bool is_ring(const struct maps_entry *e)
{
	static const char suffix[] = ".events";
	size_t n = strlen(e->path), tail = sizeof(suffix) - 1;
	return e->shared && e->write && n > tail && !strcmp(e->path + n - tail, suffix);
}

static int scan_entry(const struct maps_entry *e, void *ctx)
{
	struct scan *s = ctx;
	struct bpf_target *target = &s->t->target[s->slot];
	bool over = ++s->mappings > INSPECT_MAPPINGS || target->files == MAX_FILES;
	if (over)
		tell_incomplete(target);
	s->ring |= is_ring(e);
	if (over || !e->exec || !e->inode)
		return over;
	uint64_t dev = makedev(e->dev_major, e->dev_minor);
	struct target_file *f = find_file(target, dev, e->inode);
	if (f && !f->moved)
		return 0;
	if (!f)
		f = add_file(target, dev, e->inode);
	if (!f)
		return -ENOMEM;
	f->moved = false;
	uint32_t before = f->sites;
	/* Also if it fails the file is remembered: it would fail again at every look. */
	int err = attach_file(s, e, f);
	if (target->budget.spent)
		tell_incomplete(target);
	if (err) {
		log_at(LOG_VERBOSE, "pid %d: cannot attach to %s: %s", target->pid, e->path,
		       strerror(-err));
		s->err = err;
		if (err == -ESRCH)
			return err;
	}
	f->unwatched_ns = s->unwatched_ns;
	s->marker_sites += (int)(f->sites - before);
	s->t->sites += f->sites - before;
	return 0;
}

/* Returns since when a runtime that is probed from now on was not; 0: none was left alone. */
static uint64_t update_ocaml(struct scan *s)
{
	struct bpf_target *target = &s->t->target[s->slot];
	uint64_t since = 0;
	for (uint32_t i = 0; i < target->files; i++) {
		struct target_file *f = &target->file[i];
		int n = f->ocaml ? bpf_ocaml_update(s->t, f->ocaml, now_ns()) : 0;
		s->sites += n > 0 ? n : 0;
		s->err = n < 0 ? n : s->err;
		uint64_t missed = n > 0 ? bpf_ocaml_missed(s->t, f->ocaml, f->unwatched_ns) : 0;
		if (missed && (!since || missed < since))
			since = missed;
		/* What happened before its ring was read is in the ring. */
		if (n > 0 || (f->ocaml && bpf_ocaml_ring_is_on(f->ocaml)))
			f->unwatched_ns = 0;
	}
	return since;
}

int bpf_targets_scan(struct bpf_targets *t, uint32_t slot)
{
	struct bpf_target *target = &t->target[slot];
	struct scan s = {.t = t,
			 .slot = slot,
			 .unwatched_ns = target->looked_ns ? target->looked_ns : target->born_ns};
	uint64_t begin = now_ns();
	if (target->ended)
		return 0;
	target->pending = false;
	if (target->looks < YOUNG_LOOKS)
		target->looks++;
	int err = maps_each(target->pid, scan_entry, &s);
	if (err < 0)
		return err;
	s.sites = s.marker_sites;
	uint64_t since = update_ocaml(&s);
	/* The events of markers that were missed are in the ring, if there is one. */
	if (s.marker_sites && (t->no_ring || !s.ring))
		since = s.unwatched_ns;
	if (since && t->unwatched)
		t->unwatched(t->ctx, slot, since, target->held_ns ? target->held_ns : now_ns());
	/* Of one that has just ended nothing is mapped. */
	target->looked_ns = s.mappings ? begin : target->looked_ns;
	return s.sites ? s.sites : s.err;
}

void bpf_targets_fork(struct bpf_targets *t, uint32_t slot, uint32_t parent, uint64_t ts)
{
	struct bpf_target *target = &t->target[slot];
	target->born_ns = ts;
	target->parent = parent;
	target->pending = true;
	if (slot < t->first_new)
		t->first_new = slot;
}

/* A new program maps its libraries in its first milliseconds. */
static uint64_t young_ns(const struct bpf_target *target)
{
	return target->since_ns + (500000ull << target->looks);
}

/* Whether there was something to watch in a process, as far as can be told without looking at it: 1
 * or 0, or -ENOENT if its file was not looked into. */
static int had_probes(const struct bpf_targets *t, const struct bpf_target *target)
{
	if (target->parent >= t->targets) {
		uint64_t dev = target->exe_dev, inode = target->exe_inode;
		int has = inspect_has_probes(t->inspect, dev, inode);
		return has > 0 ? !bpf_ocaml_covers(t, dev, inode, target->born_ns) : has;
	}
	const struct bpf_target *parent = &t->target[target->parent];
	for (uint32_t i = 0; i < parent->files; i++) {
		const struct target_file *f = &parent->file[i];
		if (f->link >= 0 ||
		    (f->ocaml && !bpf_ocaml_covers(t, f->dev, f->inode, target->born_ns)))
			return 1;
	}
	return 0;
}

/* A program is held if it has something to be probed, or may have, and looking at it is quick. What
 * its libraries hold is not mapped yet. */
static bool is_worth_holding(const struct bpf_targets *t, const struct bpf_target *target)
{
	if (target->parent < t->targets)
		return had_probes(t, target) > 0;
	char path[32];
	struct inspect_file in;
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d/exe", target->pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool known = !inspect_peek(t->inspect, fd, &in);
	bool covered = bpf_ocaml_covers(t, target->exe_dev, target->exe_inode, UINT64_MAX);
	bool worth = known ? in.markers || (in.release && !covered)
			   : !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= MAX_HELD_BYTES;
	close(fd);
	return worth;
}

static void let_go(struct bpf_target *target)
{
	target->held = hold_end(target->pid) == -EAGAIN;
	target->held_ns = 0;
}

/* All that are new are held before the first is looked at, which may take its time. */
static void hold_new(struct bpf_targets *t)
{
	for (uint32_t i = t->first_new; i < t->targets; i++) {
		struct bpf_target *target = &t->target[i];
		if (target->ended || !target->pending || target->held ||
		    !is_worth_holding(t, target) || hold_begin(target->pid))
			continue;
		target->held = true;
		target->held_ns = now_ns();
	}
}

/* Of processes that shared their program, the last ones to end may be the first to be looked at. */
static void tell_unseen(struct bpf_targets *t)
{
	uint32_t left = 0;
	if (t->known_files == inspect_files(t->inspect))
		return;
	t->known_files = inspect_files(t->inspect);
	for (uint32_t i = 0; i < t->unseens; i++) {
		struct bpf_unseen u = t->unseen[i];
		const struct bpf_target *target = &t->target[u.slot];
		int had = had_probes(t, target);
		if (had > 0)
			t->unwatched(t->ctx, u.slot, target->born_ns, u.end_ns);
		else if (had == -ENOENT)
			t->unseen[left++] = u;
	}
	t->unseens = left;
}

/* Called once of each that ended. */
static void tell_unwatched_life(struct bpf_targets *t, uint32_t slot)
{
	const struct bpf_target *target = &t->target[slot];
	if (!target->born_ns || target->looked_ns || !t->unwatched)
		return;
	int had = had_probes(t, target);
	if (had > 0)
		t->unwatched(t->ctx, slot, target->born_ns, now_ns());
	if (had != -ENOENT)
		return;
	if (t->unseens == BPF_UNSEEN)
		memmove(t->unseen, t->unseen + 1, --t->unseens * sizeof(*t->unseen));
	t->unseen[t->unseens++] = (struct bpf_unseen){slot, now_ns()};
}

void bpf_targets_scan_pending(struct bpf_targets *t)
{
	uint64_t now = now_ns();
	if (t->hold)
		hold_new(t);
	uint32_t first = t->targets;
	for (uint32_t i = t->first_new; i < t->targets; i++) {
		struct bpf_target *target = &t->target[i];
		bool young =
			target->born_ns && target->looks < YOUNG_LOOKS && now >= young_ns(target);
		if (target->held && now_ns() > target->held_ns + MAX_HELD_NS)
			let_go(target);
		if (!target->ended && (target->pending || young))
			bpf_targets_scan(t, i);
		if (target->held)
			let_go(target);
		bool done = target->ended || !target->born_ns || target->looks == YOUNG_LOOKS;
		if (i < first && (!done || target->held))
			first = i;
	}
	t->first_new = first;
	tell_unseen(t);
}

static void forget_markers(struct bpf_targets *t, struct target_file *f)
{
	close(f->link);
	t->sites -= f->sites;
	f->link = -1;
	f->sites = 0;
	f->moved = true;
}

void bpf_targets_exec(struct bpf_targets *t, uint32_t slot, uint64_t ts, uint64_t dev,
		      uint64_t inode)
{
	struct bpf_target *target = &t->target[slot];
	target->since_ns = now_ns();
	target->born_ns = ts;
	target->looked_ns = 0;
	target->named = false;
	target->exe_dev = dev;
	target->exe_inode = inode;
	target->parent = NO_PARENT;
	target->pending = true;
	if (slot < t->first_new)
		t->first_new = slot;
	target->looks = 0;
	/* A filter that was installed since the markers were attached. */
	bool attach_again = !target->filtered && process_is_filtered(target->pid);
	for (uint32_t i = 0; i < target->files; i++) {
		struct target_file *f = &target->file[i];
		if (attach_again && f->link >= 0)
			forget_markers(t, f);
		f->moved |= f->ocaml != NULL;
		bpf_ocaml_free(t, f->ocaml);
		f->ocaml = NULL;
	}
}

void bpf_targets_scan_all(struct bpf_targets *t)
{
	bpf_ocaml_check_foreign(t, now_ns());
	for (uint32_t i = 0; i < t->targets; i++)
		bpf_targets_scan(t, i);
}

void bpf_targets_end(struct bpf_targets *t, uint32_t slot)
{
	struct bpf_target *target = &t->target[slot];
	if (!target->ended)
		tell_unwatched_life(t, slot);
	for (uint32_t i = 0; i < target->files; i++) {
		if (target->file[i].link >= 0)
			close(target->file[i].link);
		bpf_ocaml_free(t, target->file[i].ocaml);
		t->sites -= target->file[i].sites;
	}
	free(target->file);
	target->file = NULL;
	target->files = 0;
	map_done(&target->index);
	if (!target->ended)
		map_delete(&t->by_pid, (uint64_t)target->pid);
	target->ended = true;
}

void bpf_targets_detach(struct bpf_targets *t)
{
	for (uint32_t i = 0; i < t->targets; i++) {
		for (int tries = 0; t->target[i].held && tries < 50; tries++) {
			t->target[i].held = hold_end(t->target[i].pid) == -EAGAIN;
			if (t->target[i].held)
				usleep(1000);
		}
		bpf_targets_end(t, i);
	}
	tell_unseen(t);
	bpf_ocaml_unshare_all(t);
}

void bpf_targets_done(struct bpf_targets *t)
{
	bpf_targets_detach(t);
	free(t->target);
	t->target = NULL;
	t->targets = 0;
	free(t->runtime);
	t->runtime = NULL;
	t->runtimes = 0;
	map_done(&t->by_pid);
}
