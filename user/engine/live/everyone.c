/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/live/everyone.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "proc/memory_reader.h"
#include "proc/process.h"
#include "proc/ringfile.h"

#define PASS_NS		 50000000ull
#define PASS_OWN_NS	 500000000ull /* without privilege: of processes of the user's own */
#define PASS_CPU_PART	 20
#define PASS_FRUGAL_PART 100
/* Where it is to be frugal /proc is listed if a process was born, and in this period at least. */
#define LIST_FRUGAL_NS 1000000000ull
#define YOUNG_NS       1000000000ull
#define OWN_DEPTH      4	     /* generations of what ebtrace starts */
#define OLD_EACH_NS    1000000000ull /* between two reads of the size of an older process */

/* A program maps its libraries in its first milliseconds, and one that loads code others behind
 * it. */
#define EXEC_NS	 20000000ull
#define EXEC_MAX 256 /* more at once are found by the next pass */

/* include/linux/sched.h */
#define PF_KTHREAD 0x00200000

/* A process that is not traced, as it was when it was read. */
struct bystander {
	pid_t pid;
	uint64_t start_ticks, vm_bytes;
	uint64_t first_ns, read_ns, before_ns; /* the last read, and the one before it; 0: none */
	bool was_there;			       /* before the run */
};

/* As /proc lists them: by pid. */
struct bystanders {
	struct bystander *at;
	uint32_t count, cap;
};

/* A program that has begun, or has mapped code, at ts. */
struct executed {
	pid_t pid;
	uint64_t ts;
};

struct everyone {
	const struct engine *engine;
	struct traced *traced;
	struct inspect *inspect;
	uint64_t period_ns, due_ns;
	uint64_t pass_ns, before_ns; /* the begin of this pass, and of the one before it */
	bool is_first;		     /* the pass before the run */
	bool starved;		     /* not all could be traced, for want of descriptors */
	struct process_births births;
	uint64_t list_ns;	       /* when /proc is listed again, at the latest */
	struct bystanders before, now; /* of the pass before, and of this one so far */
	uint32_t passed;	       /* of those before */
	struct executed executed[EXEC_MAX];
	uint32_t executed_count;
};

static int on_process(void *ctx, const struct process_event *change)
{
	struct everyone *e = ctx;
	bool may_have_code = change->kind == PROCESS_EXECED || change->kind == PROCESS_MAPPED;
	if (!may_have_code || change->process || change->maps)
		return 0;
	for (uint32_t i = 0; i < e->executed_count; i++)
		if (e->executed[i].pid == change->pid) {
			e->executed[i].ts = change->ts;
			return 0;
		}
	if (e->executed_count < EXEC_MAX)
		e->executed[e->executed_count++] = (struct executed){change->pid, change->ts};
	return 0;
}

int everyone_new(const struct engine *e, struct traced *t, struct inspect *inspect, bool privileged,
		 struct everyone **ret)
{
	struct everyone *all = calloc(1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	all->engine = e;
	all->traced = t;
	all->inspect = inspect;
	all->is_first = true;
	process_births_init(&all->births);
	all->period_ns = privileged ? PASS_NS : PASS_OWN_NS;
	traced_subscribe(t, on_process, all);
	*ret = all;
	return 0;
}

void everyone_free(struct everyone *e)
{
	if (!e)
		return;
	process_births_done(&e->births);
	free(e->before.at);
	free(e->now.at);
	free(e);
}

/* ---- what a process has ---- */

static bool has_probes(const struct everyone *e, pid_t pid, const struct maps_entry *m,
		       struct inspect_budget *budget)
{
	bool allocs = e->engine->options->allocs != ALLOCS_NONE;
	uint64_t dev = makedev(m->dev_major, m->dev_minor);
	int has = inspect_has_probes(e->inspect, dev, m->inode, allocs);
	if (has >= 0)
		return has;
	struct runtime_file in;
	int fd = inspect_open(e->inspect, pid, m);
	if (fd < 0)
		return false;
	bool known = !inspect_file(e->inspect, fd, budget, &in);
	close(fd);
	return known && inspect_has_probes(e->inspect, dev, m->inode, allocs) > 0;
}

static bool is_ring(pid_t pid, const struct maps_entry *m)
{
	pid_t named = ringfile_mapped_pid(m);
	return named && named == process_inner_pid(pid);
}

static bool can_be_traced(const struct everyone *e, pid_t pid)
{
	struct inspect_budget budget;
	struct maps_list maps;
	bool can = engine_profiles(e->engine->options);
	inspect_budget_init(&budget);
	memory_reader_list(e->engine->memory, pid, MAPS_TRACED, &maps);
	for (uint32_t i = 0; i < maps.count && i < INSPECT_MAPPINGS && !can; i++) {
		const struct maps_entry *m = &maps.entry[i];
		can = is_ring(pid, m) || (m->exec && m->inode && has_probes(e, pid, m, &budget));
	}
	maps_list_done(&maps);
	return can;
}

/* ---- passes ---- */

/* Ebtrace itself, and what it has started. */
static bool is_own(pid_t pid)
{
	for (unsigned i = 0; pid > 1 && i < OWN_DEPTH; i++) {
		if (pid == getpid())
			return true;
		pid = process_parent(pid);
	}
	return false;
}

/* False: it is as it was, as far as its size shows that, or it is too early to ask. */
static bool is_due(const struct everyone *e, struct bystander *b, uint64_t now)
{
	struct process_stat stat;
	bool is_young = now - b->first_ns < YOUNG_NS;
	if (b->read_ns && !is_young && now - b->read_ns < OLD_EACH_NS)
		return false;
	if (process_read_stat(b->pid, &stat) || stat.state == 'Z')
		return false;
	bool is_other = !b->read_ns || stat.start_ticks != b->start_ticks;
	if (is_other)
		*b = (struct bystander){.pid = b->pid, .first_ns = now, .was_there = e->is_first};
	bool changed = is_other || stat.vm_bytes != b->vm_bytes;
	b->before_ns = b->read_ns;
	b->start_ticks = stat.start_ticks;
	b->vm_bytes = stat.vm_bytes;
	b->read_ns = now;
	return changed && !(stat.flags & PF_KTHREAD) && !is_own(b->pid);
}

/* since_ns: from then on it was not watched, if it did anything; 0: from before the run. A child of
 * a traced process is there already, if its fork was reported. 0; 1: there is no
 * descriptor for it; or -errno. */
static int trace(struct everyone *e, pid_t pid, uint64_t since_ns, bool was_there)
{
	int err = traced_report(e->traced, &(struct process_event){.kind = PROCESS_BORN,
								   .pid = pid,
								   .ts = since_ns,
								   .is_old = was_there});
	if (err != -EMFILE && err != -ENFILE)
		return err == -ESRCH ? 0 : err;
	if (!e->starved)
		messages_at(&e->engine->session->messages, LOG_NORMAL,
			    "not all processes are traced: %s", strerror(-err));
	e->starved = true;
	return 1;
}

static int look_at_executed(struct everyone *e)
{
	uint32_t left = 0;
	int err = 0;
	for (uint32_t i = 0; i < e->executed_count; i++) {
		struct executed x = e->executed[i];
		if (err >= 0 && !traced_find(e->traced, x.pid) && !is_own(x.pid) &&
		    can_be_traced(e, x.pid))
			err = trace(e, x.pid, x.ts, false);
		else if (now_ns() < x.ts + EXEC_NS)
			e->executed[left++] = x;
	}
	e->executed_count = left;
	return err < 0 ? err : 0;
}

/* What is known of a process, of the pass before. */
static struct bystander *recall(struct everyone *e, pid_t pid)
{
	const struct bystanders *before = &e->before;
	struct bystanders *now = &e->now;
	if (!array_reserve(now->at, now->cap, now->count))
		return NULL;
	while (e->passed < before->count && before->at[e->passed].pid < pid)
		e->passed++;
	bool known = e->passed < before->count && before->at[e->passed].pid == pid;
	struct bystander *b = &now->at[now->count++];
	*b = known ? before->at[e->passed] : (struct bystander){.pid = pid, .first_ns = now_ns()};
	return b;
}

/* It had nothing when it was read before, or was not there. */
static uint64_t unwatched_since(const struct everyone *e, const struct bystander *b)
{
	return b->before_ns || b->was_there ? b->before_ns : e->before_ns;
}

static int look_at_one(struct everyone *e, struct bystander *b)
{
	if (!is_due(e, b, now_ns()) || !can_be_traced(e, b->pid))
		return 0;
	int err = trace(e, b->pid, unwatched_since(e, b), b->was_there);
	if (err > 0)
		b->vm_bytes = 0; /* it is due again */
	return err < 0 ? err : 0;
}

static int look_at(pid_t pid, void *ctx)
{
	struct everyone *e = ctx;
	if (traced_find(e->traced, pid))
		return 0;
	struct bystander *b = recall(e, pid);
	return b ? look_at_one(e, b) : -ENOMEM;
}

/* A pass over all that there are. */
static int list(struct everyone *e)
{
	struct bystanders last = e->before;
	e->before = e->now;
	e->now = last;
	e->now.count = e->passed = 0;
	return process_each(look_at, e);
}

/* A pass while no process was born: those of the pass before. */
static int look_again(struct everyone *e)
{
	int err = 0;
	for (uint32_t i = 0; i < e->now.count && !err; i++)
		if (!traced_find(e->traced, e->now.at[i].pid))
			err = look_at_one(e, &e->now.at[i]);
	return err;
}

static int note_number(pid_t number, void *ctx)
{
	(void)number;
	*(bool *)ctx = true;
	return 0;
}

/* Also for a while afterwards: what has a number may not be a process yet. */
static bool any_born(struct everyone *e)
{
	bool any = false;
	return process_births_each(&e->births, PROCESS_BIRTHS_AWAITED, note_number, &any) || any;
}

int everyone_scan(struct everyone *e)
{
	uint64_t begin = now_ns(), cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int err = e ? look_at_executed(e) : 0;
	if (!e || err || begin < e->due_ns)
		return err;
	e->before_ns = e->pass_ns;
	e->pass_ns = begin;
	bool frugal = e->engine->options->frugal;
	bool lists = !frugal || any_born(e) || begin >= e->list_ns;
	e->list_ns = lists ? begin + LIST_FRUGAL_NS : e->list_ns;
	err = lists ? list(e) : look_again(e);
	e->is_first = false;
	uint64_t part = frugal ? PASS_FRUGAL_PART : PASS_CPU_PART;
	uint64_t cost = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu) * part;
	e->due_ns = begin + (cost > e->period_ns ? cost : e->period_ns);
	return err;
}
