/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/live/traced.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "proc/maps.h"
#include "proc/memory_reader.h"
#include "proc/process.h"
#include "proc/ringfile.h"

/* How often usage is read: often at first, a program may end soon; and less of many processes. */
#define USAGE_MIN_NS  4000000u
#define USAGE_MAX_NS  100000000u
#define USAGE_EACH_NS 2000000u
#define USAGE_FRUGAL  64 /* times as long */

/* Early reads of a process come after EARLY_NS, twice that, and so on: a program maps its libraries
 * in its first milliseconds. */
#define EARLY_NS    1000000ull
#define EARLY_READS 5
#define EARLY_MOST  256 /* processes; of more, a child that is found by its number has none */
/* A child that is covered has nothing new but its own ring, which a reader need not find at once:
 * many end before they are read. */
#define COVERED_NS 8000000ull
/* Scans that ends of others bring forward read a size anew after 1/SIZE_SHARE of the time for which
 * the program has run, or SIZE_MAX_NS. */
#define SIZE_SHARE  32
#define SIZE_MAX_NS 8000000ull
/* A process may map a file and unmap as much: its mappings are read in this period at least, or,
 * among many processes, in a longer one. */
#define UNSEEN_NS	      1000000000ull
#define UNSEEN_EACH_NS	      10000000ull
#define UNSEEN_FRUGAL_NS      8000000000ull
#define UNSEEN_FRUGAL_EACH_NS 200000000ull
/* The time in which a child may have its parent's ring mapped, and then its own in the same
 * place. */
#define OTHERS_NS      1000000000ull
#define OTHERS_EACH_NS 10000000ull
/* A file that cannot be opened is tried again after LATER_NS, then elapsed / LATER_SHARE, at most
 * LATER_MAX_NS. */
#define LATER_NS     1000000ull
#define LATER_MAX_NS 50000000ull
#define LATER_SHARE  32
/* New children of many are found by the numbers that are given. Where those are more than there are
 * parents, children are listed, and in this period at least, or, of many parents, in a longer one:
 * for those that asked for a number. */
#define LIST_NS	       1000000000ull
#define LIST_EACH_NS   1000000ull
#define LIST_FRUGAL    8  /* times as long */
#define NUMBERS_LEAST  16 /* children of fewer are listed each time */
#define LEFT_OUT_MAX   4096
#define POLLED	       64
#define SIZE_FDS_SHARE 4 /* of the descriptors, at most, are those of sizes */

struct pids {
	pid_t *pid;
	unsigned count, cap;
};

struct traced {
	const struct engine *engine;
	struct loop *loop;
	struct {
		int (*fn)(void *ctx, const struct process_event *change);
		void *ctx;
	} subscriber[TRACED_SUBSCRIBERS];
	unsigned subscribers;
	struct traced_process **running;
	unsigned count, cap, ended;
	bool starved;
	bool forks_reported;
	bool frugal;
	struct process_births births;
	bool lists;	  /* the children of all, at this scan */
	bool lists_again; /* at the next one, as some may have been left out */
	bool any_silent;  /* some have children that are not reported, by the last scan */
	uint64_t list_ns;
	int size_fd_max;
	struct pids left_out; /* for want of descriptors: their mappings are read all the same */
	uint64_t due_ns;      /* the earliest early read */
	uint64_t sizes_read, children_listed; /* how often; of /proc */
};

int traced_new(const struct engine *change, struct loop *l, struct traced **ret)
{
	struct traced *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->engine = change;
	t->loop = l;
	t->due_ns = UINT64_MAX;
	t->frugal = change->options->frugal;
	process_births_init(&t->births);
	struct rlimit files;
	rlim_t most = getrlimit(RLIMIT_NOFILE, &files) ? 0 : files.rlim_cur / SIZE_FDS_SHARE;
	t->size_fd_max = most < INT_MAX ? (int)most : INT_MAX;
	*ret = t;
	return 0;
}

void traced_subscribe(struct traced *t, int (*fn)(void *ctx, const struct process_event *change),
		      void *ctx)
{
	assert(t->subscribers < TRACED_SUBSCRIBERS);
	t->subscriber[t->subscribers].fn = fn;
	t->subscriber[t->subscribers++].ctx = ctx;
}

static int publish(const struct traced *t, const struct process_event *change)
{
	int err = 0;
	for (unsigned i = 0; i < t->subscribers && !err; i++)
		err = t->subscriber[i].fn(t->subscriber[i].ctx, change);
	return err;
}

static struct processes *registry(const struct traced *t)
{
	return &t->engine->session->processes;
}

/* Its record goes, its entry stays. */
static void forget(struct traced_process *p)
{
	processes_at(registry(p->traced), p->process)->traced = NULL;
	loop_remove(p->traced->loop, &p->watch);
	close(p->watch.fd);
	if (p->reads.size_fd >= 0)
		close(p->reads.size_fd);
	free(p);
}

void traced_free(struct traced *t)
{
	if (!t)
		return;
	log_at(LOG_DEBUG,
	       "%u processes: mappings read %" PRIu64 " times, sizes %" PRIu64
	       ", children listed %" PRIu64 ", files opened %" PRIu64,
	       t->ended + t->count, memory_reader_maps_reads(t->engine->memory), t->sizes_read,
	       t->children_listed, memory_reader_opens(t->engine->memory));
	for (unsigned i = 0; i < t->count; i++)
		forget(t->running[i]);
	process_births_done(&t->births);
	free(t->running);
	free(t->left_out.pid);
	free(t);
}

struct traced_process *traced_find(const struct traced *t, pid_t pid)
{
	const struct processes *ps = registry(t);
	return processes_at(ps, processes_find(ps, (uint32_t)pid))->traced;
}

int traced_signal(const struct processes *ps, uint32_t process, uint32_t number, int signal)
{
	const struct process *p = processes_at(ps, process);
	if (!p || p->number != number || !p->traced)
		return -ESRCH;
	int fd = p->traced->watch.fd;
	return syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0) ? -errno : 0;
}

bool traced_runs(const struct traced_process *p)
{
	return !process_pidfd_has_ended(p->watch.fd);
}

bool traced_rests(const struct traced_process *p)
{
	return now_ns() < p->reads.rests_ns;
}

/* Once: its descriptor stays readable. The scan notices the end, in its place among all others. */
static int on_end(void *ctx)
{
	struct traced_process *p = ctx;
	loop_remove(p->traced->loop, &p->watch);
	p->has_ended = true;
	return traced_report(p->traced,
			     &(struct process_event){.kind = PROCESS_EXITED, .pid = p->pid});
}

static int open_pidfd(const struct traced *t, pid_t pid, bool found)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return -errno;
	/* Without the spare ones no scan could read what the others have. */
	if (found && t->count > 1 && file_is_last(fd)) {
		close(fd);
		return -EMFILE;
	}
	/* A zombie is listed among the children, at each scan anew. */
	if (!found || !process_pidfd_has_ended(fd))
		return fd;
	close(fd);
	return -ESRCH;
}

/* Its record, which takes the descriptor. */
static int make_record(struct traced *t, const struct process_event *born, int fd,
		       struct traced_process **ret)
{
	pid_t pid = born->pid;
	struct traced_process *p = malloc(sizeof(*p));
	if (!p) {
		close(fd);
		return -ENOMEM;
	}
	*p = (struct traced_process){
		.pid = pid,
		.runtime = t->engine->options->runtime,
		.traced = t,
		.reads = {.since_ns = now_ns(), .size_fd = -1},
		.watch = {.fd = fd, .fn = on_end, .ctx = p},
	};
	int err = loop_add(t->loop, &p->watch, LOOP_LEVEL);
	if (!err)
		err = traced_usage_begin(&p->usage, t->engine->session, born);
	if (err) {
		loop_remove(t->loop, &p->watch);
		close(fd);
		free(p);
		return err;
	}
	*ret = p;
	return 0;
}

/* It loads no libraries before it calls exec. */
static void probe_child(struct traced_process *p)
{
	p->probed = true;
	p->reads.early = EARLY_READS;
}

static int add(struct traced *t, const struct process_event *born)
{
	struct process_event change = *born;
	struct traced_process *p;
	if (!array_reserve(t->running, t->cap, t->count))
		return -ENOMEM;
	int fd = open_pidfd(t, change.pid, !change.named);
	int err = fd < 0 ? fd : make_record(t, &change, fd, &p);
	if (err)
		return err;
	struct process *entry = processes_at(registry(t), p->usage.process);
	entry->traced = p;
	if (change.parent)
		entry->parent_pid = (uint32_t)change.parent;
	const struct traced_process *parent =
		change.parent && change.by_bpf ? traced_find(t, change.parent) : NULL;
	p->inherits_none = parent && (parent->has_none || parent->inherits_none);
	if (parent)
		entry->in_program = parent->runtime;
	p->process = p->usage.process;
	t->running[t->count++] = p;
	p->reads.listed = change.comm != NULL; /* its own forks are reported, too */
	if (change.covered)
		p->reads.due_ns = p->reads.rests_ns = p->reads.since_ns + COVERED_NS;
	t->due_ns = p->reads.due_ns < t->due_ns ? p->reads.due_ns : t->due_ns;
	change.process = p;
	return publish(t, &change);
}

/* One child too many does not end the trace of the others. */
static int leave_out(struct traced *t, int err)
{
	bool starved = err == -EMFILE || err == -ENFILE;
	t->starved |= starved;
	t->lists_again |= starved;
	return starved ? 0 : err;
}

static int born(struct traced *t, const struct process_event *change)
{
	struct traced_process *p = traced_find(t, change->pid);
	struct pids *left_out = &t->left_out;
	int err = p ? 0 : add(t, change);
	if (!change->by_bpf)
		return err;
	if (!err)
		probe_child(p ? p : traced_find(t, change->pid));
	else if (!leave_out(t, err) && left_out->count < LEFT_OUT_MAX &&
		 array_reserve(left_out->pid, left_out->cap, left_out->count))
		left_out->pid[left_out->count++] = change->pid;
	return err;
}

struct parent {
	struct traced *traced;
	pid_t pid;
};

static int add_child(pid_t child, void *ctx)
{
	struct parent *of = ctx;
	/* The shell that has started ebtrace may be traced. */
	if (child == getpid())
		return 0;
	int err = born(of->traced, &(struct process_event){
					   .kind = PROCESS_BORN, .pid = child, .parent = of->pid});
	return err == -ESRCH ? 0 : leave_out(of->traced, err);
}

static void note_end(struct traced *t, unsigned i)
{
	struct traced_process *p = t->running[i];
	t->running[i] = t->running[--t->count];
	t->ended++;
	publish(t, &(struct process_event){.kind = PROCESS_ENDED, .pid = p->pid, .process = p});
	traced_usage_end(&p->usage, t->engine->session, t->forks_reported);
	forget(p);
}

/* ---- mappings ---- */

/* A ring that a process has mapped and that is named after another. */
static bool is_other_ring(const struct traced_process *p, const struct maps_entry *e)
{
	pid_t named = ringfile_mapped_pid(e);
	return named && named != p->pid;
}

static void note_read(struct traced_process *p, const struct maps_list *maps, uint64_t read_ns)
{
	struct traced_reads *r = &p->reads;
	r->last_ns = read_ns;
	r->again = false;
	r->has_others = false;
	for (uint32_t i = 0; i < maps->count; i++)
		r->has_others |= is_other_ring(p, &maps->entry[i]);
}

/* p: NULL: there is no record of it. */
static int read_maps(const struct traced *t, pid_t pid, struct traced_process *p)
{
	struct maps_list maps;
	struct process_event change = {
		.kind = PROCESS_MAPPED, .pid = pid, .ts = now_ns(), .process = p, .maps = &maps};
	memory_reader_list(t->engine->memory, pid, MAPS_TRACED, &maps);
	if (p)
		note_read(p, &maps, change.ts);
	int err = publish(t, &change);
	maps_list_done(&maps);
	if (p && traced_find(t, pid) == p && !p->reads.again)
		p->reads.barred_ns = 0;
	return err;
}

int traced_read(struct traced_process *p)
{
	return read_maps(p->traced, p->pid, p);
}

/* The next scan reads its mappings, whatever is known of them. */
static void read_again(struct traced_process *p)
{
	p->reads.again = true;
	p->reads.due_ns = p->traced->due_ns = 0;
}

void traced_read_later(struct traced *t, pid_t pid)
{
	struct traced_process *p = traced_find(t, pid);
	if (!p)
		return;
	struct traced_reads *r = &p->reads;
	uint64_t now = now_ns();
	r->again = true;
	r->barred_ns = r->barred_ns ? r->barred_ns : now;
	uint64_t wait_ns = (now - r->barred_ns) / LATER_SHARE;
	wait_ns = wait_ns > LATER_NS ? wait_ns : LATER_NS;
	wait_ns = wait_ns < LATER_MAX_NS ? wait_ns : LATER_MAX_NS;
	r->due_ns = now + wait_ns < r->due_ns ? now + wait_ns : r->due_ns;
	t->due_ns = r->due_ns < t->due_ns ? r->due_ns : t->due_ns;
}

/* Children of a process that is probed are reported: those before that are listed. */
static bool reports_children(const struct traced_process *p)
{
	return p->traced->forks_reported && p->reads.listed;
}

/* Opens the descriptor of its size once its threads need not be known to list its children. */
static bool has_size_fd(struct traced_process *p)
{
	struct traced_reads *r = &p->reads;
	int most = p->traced->size_fd_max;
	bool is_asked = !p->traced->lists && r->asked;
	if (r->size_fd >= 0 || !(is_asked || reports_children(p)) || p->watch.fd > most)
		return r->size_fd >= 0;
	r->size_fd = process_open_size(p->pid);
	if (r->size_fd > most) {
		close(r->size_fd);
		r->size_fd = -1;
	}
	return r->size_fd >= 0;
}

/* The size of its address space now, and its threads. 0 or -errno. */
static int read_size(struct traced_process *p, uint64_t *ret_bytes, uint32_t *ret_threads)
{
	struct process_stat stat;
	*ret_threads = 0;
	p->traced->sizes_read++;
	if (has_size_fd(p))
		return process_read_size(p->reads.size_fd, ret_bytes);
	int err = process_read_stat(p->pid, &stat);
	if (!err) {
		*ret_bytes = stat.vm_bytes;
		*ret_threads = stat.threads;
	}
	return err;
}

/* False: what it has mapped is what it had at the last read, as far as its size shows that. */
static bool may_have_changed(struct traced_process *p, bool is_due, uint64_t now)
{
	struct traced_reads *r = &p->reads;
	uint64_t vm_bytes;
	const struct traced *t = p->traced;
	uint64_t share_ns = (now - r->since_ns) / SIZE_SHARE;
	bool rests = now < r->rests_ns ||
		     (r->last_ns && !is_due &&
		      now - r->sized_ns < (share_ns < SIZE_MAX_NS ? share_ns : SIZE_MAX_NS));
	if (rests && !r->again)
		return false;
	uint64_t unseen_ns = t->frugal ? UNSEEN_FRUGAL_NS + t->count * UNSEEN_FRUGAL_EACH_NS
				       : UNSEEN_NS + t->count * UNSEEN_EACH_NS;
	bool unseen = now - r->last_ns > unseen_ns;
	bool others = r->has_others && now - r->since_ns < OTHERS_NS &&
		      (is_due || now - r->last_ns > OTHERS_EACH_NS);
	r->sized_ns = now;
	if (read_size(p, &vm_bytes, &r->threads))
		return r->again;
	if (!vm_bytes) /* it is ending */
		return false;
	bool other_size = vm_bytes != r->vm_bytes;
	r->vm_bytes = vm_bytes;
	return !r->last_ns || (r->again && is_due) || unseen || others || other_size;
}

/* The time of the next early read. Reads that are late are left out: there is one now. */
static uint64_t next_early_ns(struct traced_reads *r, uint64_t now)
{
	uint64_t due_ns = UINT64_MAX;
	while (r->early < EARLY_READS && (due_ns == UINT64_MAX || due_ns <= now))
		due_ns = r->since_ns + (EARLY_NS << r->early++);
	return due_ns > now ? due_ns : UINT64_MAX;
}

static int read_if_changed(struct traced_process *p)
{
	struct traced *t = p->traced;
	struct traced_reads *r = &p->reads;
	uint64_t now = now_ns();
	bool is_due = r->due_ns <= now;
	if (is_due)
		r->due_ns = next_early_ns(r, now);
	if (may_have_changed(p, is_due, now))
		return traced_read(p);
	return publish(t, &(struct process_event){
				  .kind = PROCESS_MAPPED, .pid = p->pid, .ts = now, .process = p});
}

/* Those that there is no record of, until there are descriptors. */
static int read_left_out(struct traced *t)
{
	struct pids *of = &t->left_out;
	unsigned left = 0;
	int err = 0;
	for (unsigned i = 0; i < of->count; i++) {
		struct process_event change = {
			.kind = PROCESS_BORN, .pid = of->pid[i], .by_bpf = true};
		int added = err ? -EMFILE : traced_find(t, change.pid) ? 0 : add(t, &change);
		if (!added)
			probe_child(traced_find(t, change.pid));
		if (added != -EMFILE && added != -ENFILE)
			continue;
		of->pid[left++] = change.pid;
		err = err ? err : read_maps(t, change.pid, NULL);
	}
	of->count = left;
	return err;
}

static void find_due(struct traced *t)
{
	t->due_ns = UINT64_MAX;
	for (unsigned i = 0; i < t->count; i++)
		if (t->running[i]->reads.due_ns < t->due_ns)
			t->due_ns = t->running[i]->reads.due_ns;
}

static int list_children(struct traced *t, struct traced_process *p)
{
	if (!t->engine->options->follow || reports_children(p))
		return 0;
	t->any_silent = true;
	if (p->reads.asked && !t->lists)
		return 0;
	p->reads.listed = p->probed;
	p->reads.asked = true;
	t->children_listed++;
	return leave_out(t, process_children(p->pid, p->reads.threads, add_child,
					     &(struct parent){t, p->pid}));
}

/* 1; 0: none has the number; or -errno. */
static int add_number(pid_t number, void *ctx)
{
	struct traced *t = ctx;
	struct process_stat stat;
	if (traced_find(t, number))
		return 1;
	int err = process_read_stat(number, &stat);
	if (err)
		return leave_out(t, err == -EMFILE || err == -ENFILE ? err : 0);
	const struct traced_process *parent = stat.is_thread ? NULL : traced_find(t, stat.parent);
	if (!parent || reports_children(parent))
		return 1;
	err = add_child(number, &(struct parent){t, stat.parent});
	struct traced_process *p = traced_find(t, number);
	if (p) {
		p->reads.asked = true; /* the numbers of its own are higher */
		if (!t->frugal && t->count >= EARLY_MOST) {
			p->reads.early = EARLY_READS;
			p->reads.due_ns = UINT64_MAX;
		}
	}
	return err ? err : 1;
}

static bool counts_numbers(const struct traced *t)
{
	return t->frugal || t->count >= NUMBERS_LEAST;
}

int traced_scan_births(struct traced *t)
{
	if (!t->any_silent || !counts_numbers(t))
		return 0;
	int err = process_births_each(&t->births, t->count, add_number, t);
	t->lists_again |= err > 0;
	return err < 0 ? err : 0;
}

static void plan_lists(struct traced *t, uint64_t now)
{
	t->lists = !counts_numbers(t) || t->lists_again || now >= t->list_ns;
	t->any_silent = t->lists_again = false;
	if (t->lists)
		t->list_ns =
			now + (t->frugal ? LIST_FRUGAL : 1) * (LIST_NS + t->count * LIST_EACH_NS);
}

/* Notes which have ended before the loop reports it: where that costs too much, of those alone that
 * are read again. */
static void note_ends(struct traced *t)
{
	struct pollfd end[POLLED];
	struct traced_process *of[POLLED];
	unsigned n = 0;
	for (unsigned i = 0; i < t->count || n;) {
		struct traced_process *p = i < t->count ? t->running[i++] : NULL;
		if (p && !p->has_ended && (!t->frugal || p->reads.again)) {
			end[n] = (struct pollfd){.fd = p->watch.fd, .events = POLLIN};
			of[n++] = p;
		}
		if (n < POLLED && i < t->count)
			continue;
		poll(end, n, 0);
		while (n) {
			n--;
			of[n]->has_ended = end[n].revents;
		}
	}
}

static void note_usage_if_due(struct traced *t, struct traced_process *p, uint64_t now)
{
	struct traced_usage *a = &p->usage;
	if (now < a->due_ns || !processes_at(registry(t), a->process)->announced)
		return;
	traced_usage_note(a, t->engine->session);
	uint64_t twice = 2 * a->step_ns, each_ns = twice ? USAGE_EACH_NS : 0;
	a->step_ns = !twice ? USAGE_MIN_NS : twice < USAGE_MAX_NS ? twice : USAGE_MAX_NS;
	a->due_ns = now + (t->frugal ? USAGE_FRUGAL : 1) * (a->step_ns + t->count * each_ns);
}

int traced_scan(struct traced *t)
{
	uint64_t now = now_ns();
	int err = traced_scan_births(t);
	plan_lists(t, now);
	note_ends(t);
	for (unsigned i = 0; !err && i < t->count;) {
		struct traced_process *p = t->running[i];
		if (p->has_ended) {
			note_end(t, i);
			continue;
		}
		err = read_if_changed(p);
		if (!err)
			err = list_children(t, p);
		note_usage_if_due(t, p, now);
		i++;
	}
	if (!err)
		err = read_left_out(t);
	find_due(t);
	return err;
}

int traced_scan_due(struct traced *t)
{
	int err = 0;
	uint64_t now = now_ns();
	for (unsigned i = 0; !err && i < t->count; i++)
		if (t->running[i]->reads.due_ns <= now)
			err = read_if_changed(t->running[i]);
	find_due(t);
	return err;
}

uint64_t traced_due_ns(const struct traced *t)
{
	return t->due_ns;
}

void traced_forks_are_reported(struct traced *t)
{
	t->forks_reported = true;
}

bool traced_is_starved(const struct traced *t)
{
	return t->starved;
}

void traced_each(struct traced *t, void (*fn)(struct traced_process *p, void *ctx), void *ctx)
{
	for (unsigned i = 0; i < t->count; i++)
		fn(t->running[i], ctx);
}

unsigned traced_running(const struct traced *t)
{
	return t->count;
}

unsigned traced_ended(const struct traced *t)
{
	return t->ended;
}

void traced_begin_usage(struct traced *t)
{
	for (unsigned i = 0; i < t->count; i++)
		traced_usage_restart(&t->running[i]->usage, t->engine->session);
}

void traced_end_usage(struct traced *t)
{
	for (unsigned i = 0; i < t->count; i++)
		traced_usage_last(&t->running[i]->usage, t->engine->session, t->forks_reported);
}

void traced_read_usage(struct traced *t, struct traced_process *p)
{
	p->usage.due_ns = p->usage.step_ns = 0;
	note_usage_if_due(t, p, now_ns());
}

/* More may be mapped soon. */
static void read_for_some_time(struct traced_process *p)
{
	p->reads.since_ns = now_ns();
	p->reads.rests_ns = 0;
	p->reads.early = 0;
	p->has_none = p->inherits_none = false;
	read_again(p);
}

/* It has another name now, and other mappings. One with a runtime is probed by the next read, or
 * makes its ring then: where that stays, its libraries can wait. */
static void executed(struct traced_process *p, const struct process_event *change)
{
	traced_usage_name(&p->usage, change->comm);
	read_for_some_time(p);
	if (change->runtime.language && change->keeps_ring)
		p->reads.rests_ns = p->reads.since_ns + (EARLY_NS << ++p->reads.early);
	if (change->runtime.language)
		p->runtime = change->runtime;
	processes_at(registry(p->traced), p->process)->in_program = change->runtime;
}

/* An untraced one is for the search of those that can be traced. */
static int mapped(struct traced *t, const struct process_event *change)
{
	if (!change->process)
		return change->ts ? publish(t, change) : 0;
	if (change->ts)
		read_for_some_time(change->process);
	else
		read_again(change->process);
	return 0;
}

int traced_report(struct traced *t, const struct process_event *change)
{
	struct process_event known = *change;
	known.process = traced_find(t, change->pid);
	if (change->kind == PROCESS_BORN)
		return born(t, change);
	if (change->kind == PROCESS_EXECED && known.process)
		executed(known.process, change);
	return change->kind == PROCESS_MAPPED ? mapped(t, &known) : publish(t, &known);
}
