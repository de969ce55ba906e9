// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/traced.h"

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
#include "proc/memory_reader.h"
#include "proc/process.h"
#include "proc/usage.h"
#include "source/bpf/exec_holder.h"

/*
 * Processes that ended before they were scanned, and before their programs were inspected:
 * of those that shared one, the last to end may be the first to be scanned. They are reported as
 * unwatched when that has been done and there was something to watch.
 */

/* Each keeps its process in the registry. The oldest makes room for the next one: it is counted,
 * and the count is reported at the end. */
#define MAX_LIVES     256
#define MAX_ANCESTORS 64 /* of a process: pids may come again while they are read */

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

/* Calls fn for each that is known since the last call to have missed something. */
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

void bpf_traced_init(struct bpf_traced *t, const struct bpf_traced_options *opt,
		     const struct bpf_scanner *by)
{
	*t = (struct bpf_traced){.opt = *opt, .by = *by};
	int err = !opt->notices ? 0
				: exec_holder_new(opt->notices, (size_t)sysconf(_SC_PAGESIZE),
						  by->env.plan->realtime, &t->holder);
	/* What is missed for that is a loss. */
	if (err)
		messages_at(by->env.messages, LOG_VERBOSE, "programs run while they are probed: %s",
			    strerror(-err));
}

void bpf_traced_refuse(struct bpf_traced *t, enum bpf_probe program)
{
	t->by.env.absent |= 1u << program;
	t->by.env.missed |= 1u << program;
}

/* ---- slots ---- */

static int more_slots(struct bpf_traced *t)
{
	uint32_t at = t->slots_room, slots = at, young = at, state = at, free = at;
	if (!array_room(t->slot, slots, at) || !array_room(t->young, young, at) ||
	    !array_room(t->state, state, at) || !array_room(t->free, free, at))
		return -ENOMEM;
	t->slots_room = slots;
	return 0;
}

/* Only called while no slot is free, so that the queue needs no moving when it grows. */
static int new_slot(struct bpf_traced *t)
{
	if (t->slots == t->slots_room && more_slots(t))
		return -ENOMEM;
	t->first_free = 0;
	return (int)t->slots++;
}

int bpf_traced_reserve_slot(struct bpf_traced *t)
{
	if (!t->frees)
		return new_slot(t);
	uint32_t slot = t->free[t->first_free];
	t->first_free = (t->first_free + 1) % t->slots_room;
	t->frees--;
	return (int)slot;
}

void bpf_traced_free_slot(struct bpf_traced *t, uint32_t slot)
{
	t->free[(t->first_free + t->frees++) % t->slots_room] = slot;
}

void bpf_traced_offer_slot(struct bpf_traced *t, uint32_t slot)
{
	t->in_kernel++;
	t->state[slot] = BPF_SLOT_IN_KERNEL;
}

bool bpf_traced_take_slot(struct bpf_traced *t, uint32_t slot)
{
	if (slot >= t->slots || !t->state[slot])
		return false;
	t->in_kernel--;
	t->state[slot] = BPF_SLOT_OURS;
	return true;
}

bool bpf_traced_free_lost_slots(struct bpf_traced *t, const bool *found)
{
	bool again = false;
	for (uint32_t i = 0; i < t->slots; i++) {
		if (!t->state[i] || found[i]) {
			t->state[i] = t->state[i] ? BPF_SLOT_IN_KERNEL : BPF_SLOT_OURS;
		} else if (t->state[i] == BPF_SLOT_IN_KERNEL) {
			t->state[i] = BPF_SLOT_LOST;
			again = true;
		} else if (bpf_traced_take_slot(t, i)) {
			bpf_traced_free_slot(t, i);
		}
	}
	return again;
}

struct bpf_process *bpf_traced_add(struct bpf_traced *t, uint32_t slot, pid_t pid, uint32_t process)
{
	struct bpf_process *proc = calloc(1, sizeof(*proc));
	if (!proc)
		return NULL;
	proc->slot = slot;
	proc->pid = pid;
	proc->process = process;
	proc->serial = ++t->last_serial;
	if (proc->serial == 1)
		t->first_process = process;
	proc->since_ns = now_ns();
	proc->parent = EBT_NO_SLOT;
	bpf_files_init(&proc->files);
	t->slot[slot] = proc;
	processes_at(t->opt.processes, process)->in_bpf = proc;
	processes_ref(t->opt.processes, process);
	return proc;
}

struct bpf_process *bpf_traced_find(const struct bpf_traced *t, pid_t pid)
{
	uint32_t process = processes_find(t->opt.processes, (uint32_t)pid);
	const struct process *p = processes_at(t->opt.processes, process);
	/* The end of an older one may not be known to us yet. */
	while (!p->in_bpf && p->older)
		p = processes_at(t->opt.processes, p->older);
	return p->in_bpf;
}

/* A process that is not traced, nor about to be: a child of one that is. */
static int is_bystander(pid_t pid, void *ctx)
{
	for (unsigned i = 0; pid > 1 && i < MAX_ANCESTORS; i++) {
		if (bpf_traced_find(ctx, pid))
			return 0;
		pid = process_parent(pid);
	}
	return 1;
}

bool bpf_traced_alone(struct bpf_traced *t, uint64_t dev, uint64_t inode)
{
	return !process_executing(dev, inode, is_bystander, t);
}

/* ---- scans ---- */

static void forget_path(struct bpf_process *proc)
{
	free(proc->exe_path);
	proc->exe_path = NULL;
}

/* Since its last scan the probes of a process may have gone. */
static void check_links(struct bpf_traced *t, struct bpf_process *proc)
{
	if (bpf_files_check(&t->by, &proc->files) && t->opt.cut)
		t->opt.cut(t->opt.ctx, proc->process, proc->scanned_ns, now_ns());
}

/* What was missed of a process; less what has been reported: a scan can find a new program before
 * its exec is known, which makes it be scanned again. */
static void report_missed(struct bpf_traced *t, struct bpf_process *proc, uint64_t since_ns,
			  uint64_t until_ns)
{
	uint64_t from_ns = proc->missed_ns > since_ns ? proc->missed_ns : since_ns;
	if (!t->opt.unwatched || from_ns >= until_ns)
		return;
	proc->missed_ns = until_ns;
	t->opt.unwatched(t->opt.ctx, proc->process, from_ns, until_ns);
}

/* What a scan or an update has found of a process. maps: as they were read for it; NULL: they were
 * not. */
static void report_scan(struct bpf_traced *t, struct bpf_process *proc, const struct bpf_scan *scan,
			const struct maps_list *maps)
{
	uint64_t held_ns =
		scan->missed_ns && t->holder ? exec_holder_since(t->holder, proc->pid) : 0;
	if (scan->missed_ns)
		report_missed(t, proc, scan->missed_ns, held_ns ? held_ns : scan->missed_until_ns);
	if (scan->in_ring)
		bpf_traced_report(t, proc->pid, PROCESS_RING_NEEDED, 0);
	/* Its files can be read when it has ended, if they were opened before. */
	if (scan->sites <= 0 || !t->by.env.plan->allocs || !t->opt.code)
		return;
	if (maps)
		code_map_set(t->opt.code, &proc->allocs.code, proc->pid, maps);
	else
		code_map_read(t->opt.code, &proc->allocs.code, proc->pid, false);
}

/* Whose program it runs, as it has not called exec; NULL: that is not known any more. */
static const struct bpf_process *parent_of(const struct bpf_traced *t,
					   const struct bpf_process *proc)
{
	const struct bpf_process *parent =
		proc->parent == EBT_NO_SLOT ? NULL : bpf_traced_get(t, proc->parent);
	return parent && parent->serial == proc->parent_serial ? parent : NULL;
}

static struct bpf_scan scan_of(const struct bpf_traced *t, const struct bpf_process *proc)
{
	const struct bpf_process *parent = parent_of(t, proc);
	return (struct bpf_scan){
		.inherited = parent ? &parent->files : NULL,
		.slot = proc->slot,
		.pid = proc->pid,
		.since_ns = proc->since_ns,
		.begun_ns = now_ns(),
		.found_ns = proc->found_ns,
		.unwatched_ns = proc->scanned_ns ? proc->scanned_ns : proc->born_ns,
	};
}

int bpf_traced_scan(struct bpf_traced *t, struct bpf_process *proc, const struct maps_list *maps,
		    uint64_t read_ns)
{
	if (proc->ended)
		return 0;
	proc->pending = false;
	/* Not known: it may have ended. */
	proc->unmapped = !maps->count || t->opt.no_files;
	if (t->opt.no_files || maps->err)
		return t->opt.no_files ? 0 : maps->err;
	check_links(t, proc);
	struct bpf_scan scan = scan_of(t, proc);
	scan.read_ns = read_ns;
	scan.held_ns = t->holder ? exec_holder_since(t->holder, proc->pid) : 0;
	bpf_files_scan(&t->by, &proc->files, maps, &scan);
	report_scan(t, proc, &scan, maps);
	/* Of one that has just ended nothing is mapped. */
	if (maps->count) {
		proc->scanned_ns = read_ns;
		forget_path(proc);
	}
	return scan.sites;
}

void bpf_traced_unchanged(struct bpf_process *proc, uint64_t read_ns)
{
	if (proc->scanned_ns && proc->scanned_ns < read_ns)
		proc->scanned_ns = read_ns;
}

static void make_young(struct bpf_traced *t, struct bpf_process *proc)
{
	proc->pending = true;
	proc->held = false;
	if (!proc->young)
		t->young[t->youngs++] = proc->slot;
	proc->young = true;
}

void bpf_traced_fork(struct bpf_traced *t, struct bpf_process *proc,
		     const struct bpf_process *parent, uint64_t ts)
{
	proc->born_ns = ts;
	if (parent) {
		proc->parent = parent->slot;
		proc->parent_serial = parent->serial;
	}
	make_young(t, proc);
}

bool bpf_traced_expect(struct bpf_traced *t, struct bpf_process *proc, const struct maps_list *maps)
{
	if (proc->pending || !t->holder || !bpf_files_replaced(&proc->files, maps))
		return false;
	make_young(t, proc);
	proc->held = exec_holder_hold(t->holder, proc->pid);
	return true;
}

bool bpf_traced_is_older(const struct bpf_process *proc, uint64_t read_ns)
{
	return proc->pending && proc->parent == EBT_NO_SLOT && read_ns < proc->born_ns;
}

/* Whether there is something to probe in a process that has not been scanned: 1 or 0, or -ENOENT if
 * its program has not been inspected. */
static int had_probes(const struct bpf_traced *t, const struct bpf_process *proc)
{
	if (proc->parent == EBT_NO_SLOT)
		return bpf_scanner_would_probe(&t->by, proc->exe_dev, proc->exe_inode,
					       proc->born_ns);
	const struct bpf_process *parent = parent_of(t, proc);
	return parent && bpf_files_probed(&t->by, &parent->files, proc->born_ns);
}

/* The runtime in its program, of the version that the user says; zeroes: not known. */
static struct runtime_version runtime_of(const struct bpf_traced *t, const struct bpf_process *proc)
{
	struct runtime_version found = inspect_found(t->by.inspect, proc->exe_dev, proc->exe_inode);
	bool is_asked = found.language && t->by.env.plan->runtime.language;
	return is_asked ? t->by.env.plan->runtime : found;
}

/* The program is inspected: whether it is stopped at its next exec. */
static void judge(struct bpf_traced *t, const struct bpf_process *proc)
{
	char path[32];
	struct runtime_file in;
	snprintf(path, sizeof(path), "/proc/%d/exe", proc->pid);
	int fd = file_open(AT_FDCWD, path, 0);
	if (fd < 0)
		return;
	if (!inspect_peek(t->by.inspect, fd, &in)) {
		processes_at(t->opt.processes, proc->process)->in_program = runtime_of(t, proc);
		bool covered = bpf_links_cover(&t->by.links, NULL, proc->exe_dev, proc->exe_inode,
					       UINT64_MAX);
		exec_holder_judge(t->holder, fd,
				  in.markers || (in.alloc_markers && t->by.env.plan->allocs) ||
					  (in.runtime.language && !covered));
	}
	close(fd);
}

static void let_go(struct bpf_traced *t, struct bpf_process *proc)
{
	if (proc->parent == EBT_NO_SLOT && !proc->ended)
		judge(t, proc);
	exec_holder_release(t->holder, proc->pid, proc->born_ns);
	proc->held = false;
}

/* Children are held before the first is scanned, which can take milliseconds; programs are since
 * their exec. What the libraries of a program hold is not mapped yet then. */
void bpf_traced_hold_young(struct bpf_traced *t)
{
	if (t->holder && t->closes != t->by.links.closes) {
		exec_holder_forget(t->holder);
		t->closes = t->by.links.closes;
	}
	uint32_t left = 0;
	for (uint32_t i = 0; i < t->youngs; i++) {
		struct bpf_process *proc = t->slot[t->young[i]];
		proc->young = !proc->ended && proc->pending;
		if (proc->young)
			t->young[left++] = proc->slot;
		else if (t->holder)
			let_go(t, proc);
		if (proc->young && t->holder && !proc->held && proc->parent != EBT_NO_SLOT &&
		    had_probes(t, proc) > 0)
			proc->held = exec_holder_hold(t->holder, proc->pid);
	}
	t->youngs = left;
	if (t->opt.unwatched)
		bpf_unseen_report(&t->unseen, t->opt.processes, &t->by, t->opt.unwatched,
				  t->opt.ctx);
}

/* Its program ended at end_ns: if it was never scanned all of it was missed. */
static void report_unwatched_life(struct bpf_traced *t, struct bpf_process *proc, uint64_t end_ns)
{
	struct bpf_life life = {.process = proc->process,
				.dev = proc->exe_dev,
				.inode = proc->exe_inode,
				.born_ns = proc->born_ns,
				.end_ns = end_ns};
	if (!proc->born_ns || proc->scanned_ns || !t->opt.unwatched)
		return;
	int had = had_probes(t, proc);
	if (had == -ENOENT && proc->exe_path &&
	    !inspect_path(t->by.inspect, proc->exe_path, life.dev, life.inode))
		had = had_probes(t, proc);
	if (had > 0)
		report_missed(t, proc, life.born_ns, life.end_ns);
	else if (had == -ENOENT)
		bpf_unseen_add(&t->unseen, t->opt.processes, &life);
}

/* Its program ended at end_ns: what could not be probed was missed. */
static void report_failed(struct bpf_traced *t, struct bpf_process *proc, uint64_t end_ns)
{
	uint64_t since_ns = bpf_files_failed(&t->by, &proc->files, proc->since_ns);
	if (since_ns)
		report_missed(t, proc, since_ns, end_ns);
}

void bpf_traced_exec(struct bpf_traced *t, struct bpf_process *proc, uint64_t ts,
		     const struct bpf_program *program)
{
	if (t->stopped)
		return;
	/* Also of a program that starts the next at once, and of a child that has run its parent's
	 * program until now. */
	check_links(t, proc);
	report_unwatched_life(t, proc, ts);
	report_failed(t, proc, ts);
	proc->since_ns = now_ns();
	proc->born_ns = ts;
	proc->scanned_ns = 0;
	proc->named = false;
	proc->exe_dev = program->dev;
	proc->exe_inode = program->inode;
	forget_path(proc);
	proc->exe_path = program->path ? strdup(program->path) : NULL;
	proc->parent = EBT_NO_SLOT;
	proc->covered = false;
	make_young(t, proc);
	bpf_files_exec(&t->by, &proc->files, ts);
	/* Whether it is started with its ring on is asked for when its mappings have been read. */
	if (runtime_of(t, proc).language && t->by.env.plan->own_ring_ns)
		memory_reader_expect_environ(t->by.env.plan->memory, proc->pid);
}

void bpf_traced_report_exec(const struct bpf_traced *t, const struct bpf_process *proc, uint64_t ts,
			    const char *comm)
{
	struct runtime_version in = runtime_of(t, proc);
	struct process_event change = {
		.kind = PROCESS_EXECED,
		.pid = proc->pid,
		.ts = ts,
		.by_bpf = true,
		.runtime = in,
		.keeps_ring = in.language && t->by.env.plan->own_ring_ns,
		.comm = comm,
	};
	bpf_traced_publish(t, &change);
}

static void update(struct bpf_traced *t, struct bpf_process *proc)
{
	check_links(t, proc);
	struct bpf_scan scan = scan_of(t, proc);
	bpf_files_update(&t->by, &proc->files, &scan);
	report_scan(t, proc, &scan, NULL);
	if (bpf_files_want_scan(&proc->files))
		bpf_traced_report(t, proc->pid, PROCESS_MAPPED, 0);
}

void bpf_traced_update_all(struct bpf_traced *t)
{
	bpf_links_hand_over(&t->by.links, &t->by.env, now_ns());
	bpf_links_check_foreign(&t->by.links, &t->by.env, now_ns());
	for (uint32_t i = 0; i < t->slots; i++)
		if (t->slot[i] && !t->slot[i]->ended && !t->opt.no_files)
			update(t, t->slot[i]);
}

/* ---- ends ---- */

static void keep_error(struct bpf_traced *t, int err)
{
	if (err && !t->error)
		t->error = err;
}

static void end_counted(struct bpf_traced *t, const struct bpf_process *proc, uint64_t ts)
{
	if (t->opt.counted)
		keep_error(t, bpf_counted_end(t->opt.counted, proc->slot, ts));
}

void bpf_traced_end(struct bpf_traced *t, struct bpf_process *proc)
{
	if (proc->ended)
		return;
	end_counted(t, proc, now_ns());
	check_links(t, proc);
	report_unwatched_life(t, proc, now_ns());
	report_failed(t, proc, now_ns());
	bpf_files_end(&t->by, &proc->files);
	struct process *p = processes_at(t->opt.processes, proc->process);
	p->in_bpf = p->in_bpf == proc ? NULL : p->in_bpf;
	proc->ended = true;
	proc->end_ns = now_ns();
	/* Without memory its slot is not used again. */
	if (!array_reserve(t->ended, t->ends_room, t->ends))
		return;
	t->ended[t->ends++] = proc;
}

void bpf_traced_exited(struct bpf_traced *t, struct bpf_process *proc, uint64_t ts)
{
	if (t->opt.pages)
		keep_error(t, page_user_end(t->opt.pages, &proc->pages, ts));
	end_counted(t, proc, ts);
	processes_ended(t->opt.processes, proc->process, clock_ns(CLOCK_BOOTTIME));
	bpf_traced_end(t, proc);
}

void bpf_traced_release(struct bpf_traced *t,
			bool (*may)(void *ctx, const struct bpf_process *proc), void *ctx)
{
	uint32_t left = 0;
	for (uint32_t i = 0; i < t->ends; i++) {
		struct bpf_process *proc = t->ended[i];
		if (proc->young || !may(ctx, proc)) {
			t->ended[left++] = proc;
			continue;
		}
		end_counted(t, proc, proc->end_ns);
		t->slot[proc->slot] = NULL;
		bpf_traced_free_slot(t, proc->slot);
		forget_path(proc);
		processes_unref(t->opt.processes, proc->process);
		alloc_process_done(&proc->allocs);
		free(proc);
	}
	t->ends = left;
}

/* ---- births ---- */

/* With its start as /proc has it, if it is not known: one that is not there has just been there,
 * and is the newest with its pid. */
static int begin_process(struct processes *ps, pid_t pid, const struct process_start *start,
			 uint32_t *ret)
{
	struct usage u;
	if (start && start->known)
		return processes_begin(ps, (uint32_t)pid, start, ret);
	if (usage_read(pid, &u))
		return processes_of(ps, (uint32_t)pid, ret);
	struct process_start of_proc = {.boot_ns = u.start_boot_ns, .known = true};
	return processes_begin(ps, (uint32_t)pid, &of_proc, ret);
}

struct bpf_process *bpf_traced_begin(struct bpf_traced *t, uint32_t slot, pid_t pid,
				     const struct process_start *start)
{
	uint32_t process;
	if (begin_process(t->opt.processes, pid, start, &process))
		return NULL;
	/* The kernel reports each thread from before this on. */
	if (t->opt.threads && process_has_one_thread(pid))
		processes_lone(t->opt.processes, process, now_ns());
	return bpf_traced_add(t, slot, pid, process);
}

static void announce_page_bytes(struct bpf_traced *t, const struct bpf_process *proc)
{
	processes_announce(t->opt.processes, proc->process)->page_bytes =
		t->opt.pages->out.page_bytes;
}

int bpf_traced_begin_pages(struct bpf_traced *t, struct bpf_process *proc)
{
	announce_page_bytes(t, proc);
	return page_user_begin(t->opt.pages, &proc->pages, proc->pid, proc->process,
			       EBT_PAGE_SNAPSHOT);
}

/* The child has its parent's pages: its own copies, or, as long as it shares memory, the same. */
static int begin_pages_of_child(struct bpf_traced *t, struct bpf_process *child,
				const struct bpf_birth *birth)
{
	struct page_user *parent = NULL;
	announce_page_bytes(t, child);
	if (birth->parent && birth->shares_memory)
		parent = &bpf_traced_get(t, birth->parent->slot)->pages;
	if (parent)
		return page_user_share(t->opt.pages, &child->pages, child->pid, child->process,
				       parent);
	return page_user_begin(t->opt.pages, &child->pages, child->pid, child->process,
			       EBT_PAGE_FORK);
}

/* Whether shared links probe in a child what its parent has mapped. Of programs of ours, in which
 * files of rings stay when their processes end. */
static bool is_covered(const struct bpf_traced *t, const struct bpf_process *child,
		       const struct bpf_process *parent)
{
	if (!t->holder || !parent)
		return false;
	if (parent->pending)
		return parent->covered;
	bool has_any = false;
	for (unsigned k = 0; k < ATTACHERS; k++)
		has_any |= parent->files.attached[k] > 0;
	return has_any && !had_probes(t, child);
}

/* In this time no other process gets the pid of one that has ended. */
#define PID_NS 50000000ull

void bpf_traced_add_child(struct bpf_traced *t, pid_t pid, uint32_t slot,
			  const struct bpf_birth *birth, uint64_t now_ns)
{
	const struct bpf_process *parent = birth->parent;
	if (bpf_traced_get(t, slot))
		return;
	bpf_traced_take_slot(t, slot);
	/* The pid is used again: the record of its end was dropped. */
	struct bpf_process *old = bpf_traced_find(t, pid);
	if (old)
		bpf_traced_exited(t, old, now_ns);
	struct bpf_process *proc = bpf_traced_begin(t, slot, pid, &birth->start);
	if (!proc)
		return;
	struct process *child = processes_at(t->opt.processes, proc->process);
	child->begun_in_run = !birth->was_there;
	if (parent) {
		child->parent_pid = (uint32_t)parent->pid;
		code_map_inherit(&proc->allocs.code, &parent->allocs.code);
	}
	process_set_clock(child, birth->clock_ahead_ns);
	/* The record waited behind others: those of the child come, and nothing is attached. */
	if (t->stopped) {
		bpf_traced_end(t, proc);
		return;
	}
	if (t->opt.pages)
		keep_error(t, begin_pages_of_child(t, proc, birth));
	if (birth->ts)
		bpf_traced_fork(t, proc, parent, birth->ts);
	proc->covered = birth->ts && is_covered(t, proc, parent);
	bool is_young = birth->ts && clock_ns(CLOCK_MONOTONIC) < birth->ts + PID_NS;
	bpf_traced_publish(t, &(struct process_event){.kind = PROCESS_BORN,
						      .pid = pid,
						      .parent = parent ? parent->pid : 0,
						      .ts = birth->ts,
						      .by_bpf = true,
						      .covered = proc->covered,
						      .comm = is_young ? birth->comm : NULL});
}

/* ---- the end of the run ---- */

static void report_unknown(struct bpf_traced *t)
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
	bpf_unseen_done(&t->unseen, t->opt.processes);
}

void bpf_traced_stop(struct bpf_traced *t)
{
	t->stopped = true;
}

void bpf_traced_detach(struct bpf_traced *t)
{
	exec_holder_free(t->holder);
	t->holder = NULL;
	for (uint32_t i = 0; i < t->slots; i++) {
		struct bpf_process *proc = t->slot[i];
		if (proc)
			bpf_traced_end(t, proc);
	}
	if (t->opt.unwatched)
		bpf_unseen_report(&t->unseen, t->opt.processes, &t->by, t->opt.unwatched,
				  t->opt.ctx);
	report_unknown(t);
	bpf_links_close_shared(&t->by.links, &t->by.env);
}

void bpf_traced_done(struct bpf_traced *t)
{
	bpf_traced_detach(t);
	for (uint32_t i = 0; i < t->slots; i++) {
		if (!t->slot[i])
			continue;
		forget_path(t->slot[i]);
		alloc_process_done(&t->slot[i]->allocs);
		free(t->slot[i]);
	}
	free(t->slot);
	free(t->free);
	free(t->state);
	free(t->young);
	free(t->ended);
	bpf_unseen_done(&t->unseen, t->opt.processes);
	known_notes_done(&t->by.env.notes);
	usdt_specs_done(&t->by.env.specs);
	site_callers_done(&t->by.env.callers);
	*t = (struct bpf_traced){0};
}
