// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/targets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/plural.h"
#include "bpf/abi.h"
#include "proc/hold.h"

/*
 * Processes that ended before they were scanned, and before anybody had looked into their programs:
 * of those that shared one, the last to end may be the first to be scanned. They are reported as
 * unwatched when that has been done and there was something to watch.
 */

/* Each keeps its process in the registry. The oldest makes room for the next one: it is counted, and
 * the count is reported at the end. */
#define MAX_LIVES 256

/* All take the registry of the processes, which is referred to for each life that is kept. */
static void bpf_unseen_add(struct bpf_unseen *u, struct processes *ps, const struct bpf_life *life)
{
	if (!u->life)
		u->life = calloc(MAX_LIVES, sizeof(*u->life));
	if (!u->life || u->lives == MAX_LIVES)
		u->left_out++;
	if (!u->life)
		return;
	if (u->lives == MAX_LIVES) {
		processes_unref(ps, u->life[0].process);
		memmove(u->life, u->life + 1, --u->lives * sizeof(*u->life));
	}
	processes_ref(ps, life->process);
	u->life[u->lives++] = *life;
}

/* Calls fn for each of which it has become known since the last call that something was missed. */
static void
bpf_unseen_report(struct bpf_unseen *u, struct processes *ps, const struct bpf_scanner *by,
		  void (*fn)(void *ctx, uint32_t process, uint64_t since_ns, uint64_t until_ns),
		  void *ctx)
{
	uint32_t left = 0;
	if (u->known_files == inspect_files(by->inspect))
		return;
	u->known_files = inspect_files(by->inspect);
	for (uint32_t i = 0; i < u->lives; i++) {
		struct bpf_life life = u->life[i];
		int had = bpf_scanner_would_probe(by, life.dev, life.inode, life.born_ns);
		if (had > 0)
			fn(ctx, life.process, life.born_ns, life.end_ns);
		else if (had == -ENOENT)
			u->life[left++] = life;
		if (had != -ENOENT)
			processes_unref(ps, life.process);
	}
	u->lives = left;
}

static void bpf_unseen_done(struct bpf_unseen *u, struct processes *ps)
{
	for (uint32_t i = 0; i < u->lives; i++)
		processes_unref(ps, u->life[i].process);
	free(u->life);
	*u = (struct bpf_unseen){0};
}

/* A process is scanned so often in its first 32 ms, at doubling distances. */
#define YOUNG_SCANS 6
/* To look into a file that is larger takes too long to be held. */
#define MAX_HELD_BYTES (64 << 20)
#define MAX_HELD_NS    50000000ull

/* ---- slots ---- */

static int more_slots(struct bpf_targets *t)
{
	uint32_t at = t->slots_room, slots = at, young = at, lent = at, free = at;
	if (!array_room(t->slot, slots, at) || !array_room(t->young, young, at) ||
	    !array_room(t->lent, lent, at) || !array_room(t->free, free, at))
		return -ENOMEM;
	t->slots_room = slots;
	return 0;
}

/* Only called while no slot is free, so that the queue needs no moving when it grows. */
static int new_slot(struct bpf_targets *t)
{
	if (t->slots == t->slots_room && more_slots(t))
		return -ENOMEM;
	t->first_free = 0;
	return (int)t->slots++;
}

int bpf_targets_put_aside(struct bpf_targets *t)
{
	if (!t->frees)
		return new_slot(t);
	uint32_t slot = t->free[t->first_free];
	t->first_free = (t->first_free + 1) % t->slots_room;
	t->frees--;
	return (int)slot;
}

void bpf_targets_put_back(struct bpf_targets *t, uint32_t slot)
{
	t->free[(t->first_free + t->frees++) % t->slots_room] = slot;
}

void bpf_targets_lend(struct bpf_targets *t, uint32_t slot)
{
	t->lents++;
	t->lent[slot] = BPF_LENT;
}

bool bpf_targets_claim(struct bpf_targets *t, uint32_t slot)
{
	if (slot >= t->slots || !t->lent[slot])
		return false;
	t->lents--;
	t->lent[slot] = BPF_NOT_LENT;
	return true;
}

bool bpf_targets_reclaim(struct bpf_targets *t, const bool *found)
{
	bool again = false;
	for (uint32_t i = 0; i < t->slots; i++) {
		if (!t->lent[i] || found[i]) {
			t->lent[i] = t->lent[i] ? BPF_LENT : BPF_NOT_LENT;
		} else if (t->lent[i] == BPF_LENT) {
			t->lent[i] = BPF_MISSING;
			again = true;
		} else if (bpf_targets_claim(t, i)) {
			bpf_targets_put_back(t, i);
		}
	}
	return again;
}

struct bpf_target *bpf_targets_add(struct bpf_targets *t, uint32_t slot, pid_t pid,
				   uint32_t process)
{
	struct bpf_target *target = calloc(1, sizeof(*target));
	if (!target)
		return NULL;
	target->slot = slot;
	target->pid = pid;
	target->process = process;
	target->serial = ++t->last_serial;
	if (target->serial == 1)
		t->first_process = process;
	target->since_ns = now_ns();
	target->parent = EBT_NO_SLOT;
	bpf_files_init(&target->files);
	t->slot[slot] = target;
	processes_at(t->processes, process)->target = target;
	processes_ref(t->processes, process);
	return target;
}

struct bpf_target *bpf_targets_find(const struct bpf_targets *t, pid_t pid)
{
	uint32_t process = processes_find(t->processes, (uint32_t)pid);
	const struct process *p = processes_at(t->processes, process);
	/* The end of an older one may not be known to us yet. */
	while (!p->target && p->older)
		p = processes_at(t->processes, p->older);
	return p->target;
}

/* ---- scans ---- */

static void forget_path(struct bpf_target *target)
{
	free(target->exe_path);
	target->exe_path = NULL;
}

/* Since its last scan the probes of a process may have gone. */
static void check_links(struct bpf_targets *t, struct bpf_target *target)
{
	if (bpf_files_check(&t->by, &target->files) && t->cut)
		t->cut(t->ctx, target->process, target->scanned_ns, now_ns());
}

int bpf_targets_scan(struct bpf_targets *t, struct bpf_target *target)
{
	struct bpf_scan scan = {
		.slot = target->slot,
		.pid = target->pid,
		.since_ns = target->since_ns,
		.unwatched_ns = target->scanned_ns ? target->scanned_ns : target->born_ns,
	};
	uint64_t begin = now_ns();
	if (target->ended)
		return 0;
	target->pending = false;
	if (t->no_files) {
		target->scans = YOUNG_SCANS;
		target->unmapped = true; /* not known: look whether it has ended */
		return 0;
	}
	if (target->scans < YOUNG_SCANS)
		target->scans++;
	check_links(t, target);
	scan.begun_ns = now_ns();
	int err = bpf_files_scan(&t->by, &target->files, &scan);
	target->unmapped = !scan.mappings;
	if (err < 0)
		return err;
	if (scan.missed_ns && t->unwatched)
		t->unwatched(t->ctx, target->process, scan.missed_ns,
			     target->held_ns ? target->held_ns : now_ns());
	if (scan.in_ring && t->in_ring)
		t->in_ring(t->ctx, target->pid);
	/* Its files can be read when it has ended, if they were opened before. */
	if (scan.sites > 0 && t->by.env.allocs && t->code)
		code_map_read(t->code, &target->allocs.code, target->pid, false);
	/* Of one that has just ended nothing is mapped. */
	if (scan.mappings) {
		target->scanned_ns = begin;
		forget_path(target);
	}
	return scan.sites;
}

static void make_young(struct bpf_targets *t, struct bpf_target *target)
{
	target->pending = true;
	if (!target->young)
		t->young[t->youngs++] = target->slot;
	target->young = true;
}

void bpf_targets_fork(struct bpf_targets *t, struct bpf_target *target,
		      const struct bpf_target *parent, uint64_t ts)
{
	target->born_ns = ts;
	if (parent) {
		target->parent = parent->slot;
		target->parent_serial = parent->serial;
	}
	make_young(t, target);
}

/* A new program maps its libraries in its first milliseconds. */
static uint64_t young_ns(const struct bpf_target *target)
{
	return target->since_ns + (500000ull << target->scans);
}

/* Whether there is something to probe in a process that has not been scanned: 1 or 0, or -ENOENT if
 * nobody has looked into its program. */
static int had_probes(const struct bpf_targets *t, const struct bpf_target *target)
{
	if (target->parent == EBT_NO_SLOT)
		return bpf_scanner_would_probe(&t->by, target->exe_dev, target->exe_inode,
					       target->born_ns);
	const struct bpf_target *parent = bpf_targets_get(t, target->parent);
	return parent && parent->serial == target->parent_serial &&
	       bpf_files_probed(&t->by, &parent->files, target->born_ns);
}

/* A program is held if it has something to be probed, or may have, and looking at it is quick. What
 * its libraries hold is not mapped yet. */
static bool is_worth_holding(const struct bpf_targets *t, const struct bpf_target *target)
{
	if (target->parent != EBT_NO_SLOT)
		return had_probes(t, target) > 0;
	char path[32];
	struct runtime_file in;
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d/exe", target->pid);
	int fd = file_open(AT_FDCWD, path, 0);
	if (fd < 0)
		return false;
	bool known = !inspect_peek(t->by.inspect, fd, &in);
	bool covered =
		bpf_links_cover(&t->by.links, target->exe_dev, target->exe_inode, UINT64_MAX);
	bool worth = known ? in.markers || (in.alloc_markers && t->by.env.allocs) ||
				     (in.release && !covered)
			   : !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= MAX_HELD_BYTES;
	close(fd);
	return worth;
}

static void let_go(struct bpf_target *target)
{
	target->held = hold_end(target->pid) == -EAGAIN;
	target->held_ns = 0;
}

/* All that are new are held before the first is scanned, which can take milliseconds. */
static void hold_new(struct bpf_targets *t)
{
	for (uint32_t i = 0; i < t->youngs; i++) {
		struct bpf_target *target = t->slot[t->young[i]];
		if (target->ended || !target->pending || target->held ||
		    !is_worth_holding(t, target) || hold_begin(target->pid))
			continue;
		target->held = true;
		target->held_ns = now_ns();
	}
}

void bpf_targets_scan_young(struct bpf_targets *t)
{
	uint64_t now = now_ns();
	if (t->hold)
		hold_new(t);
	uint32_t left = 0;
	for (uint32_t i = 0; i < t->youngs; i++) {
		struct bpf_target *target = t->slot[t->young[i]];
		bool due =
			target->pending || (target->scans < YOUNG_SCANS && now >= young_ns(target));
		if (target->held && now_ns() > target->held_ns + MAX_HELD_NS)
			let_go(target);
		if (!target->ended && due)
			bpf_targets_scan(t, target);
		if (target->held)
			let_go(target);
		target->young = target->held || (!target->ended && target->scans < YOUNG_SCANS);
		if (target->young)
			t->young[left++] = target->slot;
	}
	t->youngs = left;
	if (t->unwatched)
		bpf_unseen_report(&t->unseen, t->processes, &t->by, t->unwatched, t->ctx);
}

/* Its program ended at end_ns: if it was never scanned all of it was missed. */
static void report_unwatched_life(struct bpf_targets *t, const struct bpf_target *target,
				  uint64_t end_ns)
{
	struct bpf_life life = {.process = target->process,
				.dev = target->exe_dev,
				.inode = target->exe_inode,
				.born_ns = target->born_ns,
				.end_ns = end_ns};
	if (!target->born_ns || target->scanned_ns || !t->unwatched)
		return;
	int had = had_probes(t, target);
	if (had == -ENOENT && target->exe_path &&
	    !inspect_path(t->by.inspect, target->exe_path, life.dev, life.inode))
		had = had_probes(t, target);
	if (had > 0)
		t->unwatched(t->ctx, life.process, life.born_ns, life.end_ns);
	else if (had == -ENOENT)
		bpf_unseen_add(&t->unseen, t->processes, &life);
}

/* Its program ended at end_ns: what could not be probed was missed. */
static void report_failed(struct bpf_targets *t, const struct bpf_target *target, uint64_t end_ns)
{
	uint64_t since_ns = bpf_files_failed(&t->by, &target->files, target->since_ns);
	if (since_ns && t->unwatched)
		t->unwatched(t->ctx, target->process, since_ns, end_ns);
}

void bpf_targets_exec(struct bpf_targets *t, struct bpf_target *target, uint64_t ts,
		      const struct bpf_program *program)
{
	/* Also of a program that starts the next at once, and of a child that has run its parent's
	 * program until now. */
	check_links(t, target);
	report_unwatched_life(t, target, ts);
	report_failed(t, target, ts);
	target->since_ns = now_ns();
	target->born_ns = ts;
	target->scanned_ns = 0;
	target->named = false;
	target->exe_dev = program->dev;
	target->exe_inode = program->inode;
	forget_path(target);
	target->exe_path = program->path ? strdup(program->path) : NULL;
	target->parent = EBT_NO_SLOT;
	target->scans = 0;
	make_young(t, target);
	bpf_files_exec(&t->by, &target->files);
}

void bpf_targets_scan_all(struct bpf_targets *t)
{
	bpf_links_check_foreign(&t->by.links, &t->by.env, now_ns());
	for (uint32_t i = 0; i < t->slots; i++)
		if (t->slot[i])
			bpf_targets_scan(t, t->slot[i]);
}

/* ---- ends ---- */

void bpf_targets_end(struct bpf_targets *t, struct bpf_target *target)
{
	if (target->ended)
		return;
	check_links(t, target);
	report_unwatched_life(t, target, now_ns());
	report_failed(t, target, now_ns());
	bpf_files_end(&t->by, &target->files);
	struct process *p = processes_at(t->processes, target->process);
	p->target = p->target == target ? NULL : p->target;
	target->ended = true;
	target->end_ns = now_ns();
	/* Without memory its slot is not used again. */
	if (!array_reserve(t->ended, t->ends_room, t->ends))
		return;
	t->ended[t->ends++] = target;
}

void bpf_targets_release(struct bpf_targets *t,
			 bool (*may)(void *ctx, const struct bpf_target *target), void *ctx)
{
	uint32_t left = 0;
	for (uint32_t i = 0; i < t->ends; i++) {
		struct bpf_target *target = t->ended[i];
		if (target->young || !may(ctx, target)) {
			t->ended[left++] = target;
			continue;
		}
		t->slot[target->slot] = NULL;
		bpf_targets_put_back(t, target->slot);
		forget_path(target);
		processes_unref(t->processes, target->process);
		alloc_process_done(&target->allocs);
		free(target);
	}
	t->ends = left;
}

static void report_unknown(struct bpf_targets *t)
{
	uint32_t n = bpf_unseen_unknown(&t->unseen);
	if (n)
		messages_at(
			t->by.env.messages, LOG_NORMAL,
			"%u program%s ended before %s could be looked into, and %s files are not "
			"found "
			"any more: whether %s had something to trace is not known",
			n, plural(n), plural_of(n, "it", "they"), plural_of(n, "its", "their"),
			plural_of(n, "it", "they"));
	bpf_unseen_done(&t->unseen, t->processes);
}

void bpf_targets_detach(struct bpf_targets *t)
{
	for (uint32_t i = 0; i < t->slots; i++) {
		struct bpf_target *target = t->slot[i];
		/* The event loop has ended. A process in an uninterruptible sleep has not stopped yet;
		 * no descriptor reports its stop. */
		for (int tries = 0; target && target->held && tries < 50; tries++) {
			target->held = hold_end(target->pid) == -EAGAIN;
			if (target->held)
				usleep(1000);
		}
		if (target)
			bpf_targets_end(t, target);
	}
	if (t->unwatched)
		bpf_unseen_report(&t->unseen, t->processes, &t->by, t->unwatched, t->ctx);
	report_unknown(t);
	bpf_links_close_shared(&t->by.links, &t->by.env);
}

void bpf_targets_done(struct bpf_targets *t)
{
	bpf_targets_detach(t);
	for (uint32_t i = 0; i < t->slots; i++) {
		if (!t->slot[i])
			continue;
		forget_path(t->slot[i]);
		alloc_process_done(&t->slot[i]->allocs);
		free(t->slot[i]);
	}
	free(t->slot);
	free(t->free);
	free(t->lent);
	free(t->young);
	free(t->ended);
	bpf_unseen_done(&t->unseen, t->processes);
	*t = (struct bpf_targets){0};
}
