/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/live/traced.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "proc/process.h"
#include "proc/usage.h"

/* The name of a traced process, and what it uses of the machine since tracing began. */

static void traced_usage_name(struct traced_usage *a);

static bool read_comm(pid_t pid, char *ret)
{
	if (process_read_text(pid, "comm", ret, TRACED_COMM_BYTES) <= 0)
		return false;
	ret[strcspn(ret, "\n")] = 0;
	return true;
}

/* Before exec() a child is called as its parent: no name is better than that of another program. */
static bool is_called_like_parent(const struct traced_usage *a)
{
	char comm[TRACED_COMM_BYTES];
	pid_t parent = process_parent(a->pid);
	return parent && read_comm(parent, comm) && !strcmp(comm, a->comm);
}

static void begin(struct traced_usage *a, const struct session *s, const struct usage *u)
{
	a->user_ns = a->system_ns = 0;
	*a->comm = 0;
	traced_usage_name(a);
	if (is_called_like_parent(a))
		*a->comm = 0;
	if (!u || u->start_boot_ns > s->timebase.at[TIMEBASE_BOOTTIME].ns)
		return; /* all that it will have used is of this run */
	a->user_ns = u->user_ns;
	a->system_ns = u->system_ns;
}

/* Enters a process that lives into the session's registry, and refers to it until
 * traced_usage_end(). 0 or -ENOMEM. */
static int traced_usage_begin(struct traced_usage *a, struct session *s, pid_t pid)
{
	struct usage u;
	bool has_usage = !usage_read(pid, &u);
	struct process_start start = {.boot_ns = has_usage ? u.start_boot_ns : 0,
				      .known = has_usage};
	*a = (struct traced_usage){.pid = pid};
	begin(a, s, has_usage ? &u : NULL);
	/* The kernel may have reported its exit already: then it is not the next with its pid. */
	int err = has_usage ? processes_begin(&s->processes, (uint32_t)pid, &start, &a->process)
			    : processes_lived(&s->processes, (uint32_t)pid,
					      clock_ns(CLOCK_BOOTTIME), &a->process);
	if (err)
		return err;
	processes_ref(&s->processes, a->process);
	return 0;
}

/* Counts from now on: what it has used so far is not of the run. */
static void traced_usage_restart(struct traced_usage *a, const struct session *s)
{
	struct usage u;
	begin(a, s, usage_read(a->pid, &u) ? NULL : &u);
}

/* Reads its name again: it has begun another program. */
static void traced_usage_name(struct traced_usage *a)
{
	char comm[TRACED_COMM_BYTES];
	if (read_comm(a->pid, comm))
		memcpy(a->comm, comm, sizeof(a->comm));
}

uint64_t traced_usage_began_ns(const struct traced_usage *a, const struct session *s)
{
	const struct process_start *start = &processes_at(&s->processes, a->process)->start;
	uint64_t now = now_ns(), suspended = clock_ns(CLOCK_BOOTTIME) - now;
	return start->known && start->boot_ns > suspended ? start->boot_ns - suspended : now;
}

static void note_usage(struct traced_usage *a, const struct usage *u, struct process *p)
{
	p->usage.known = true;
	/* How they divide is a guess that changes. */
	p->usage.user_ns = u->user_ns > a->user_ns ? u->user_ns - a->user_ns : 0;
	p->usage.system_ns = u->system_ns > a->system_ns ? u->system_ns - a->system_ns : 0;
	if (u->has_peak_rss)
		a->peak_rss_bytes = u->peak_rss_bytes;
}

static void note(struct traced_usage *a, struct process *p)
{
	struct usage u;
	if (!*p->comm)
		memcpy(p->comm, *a->comm ? a->comm : p->mappings.program, sizeof(p->comm));
	if (!usage_read(a->pid, &u))
		note_usage(a, &u, p);
	/* Its ring may have been measured since, also of one whose parent has waited for it. */
	if (a->peak_rss_bytes)
		process_set_peak_rss(p, a->peak_rss_bytes);
}

void traced_usage_note(struct traced_usage *a, struct session *s)
{
	struct process *p = processes_at(&s->processes, a->process);
	if (p->announced)
		note(a, p);
}

/* The same, of one that has ended, announced or not: a ring of its may be found later. */
static void traced_usage_end(struct traced_usage *a, struct session *s)
{
	struct process *p = processes_at(&s->processes, a->process);
	note(a, p); /* of a zombie the memory is gone, the CPU time is not */
	p->end = moment_at(now_ns());
	processes_ended(&s->processes, a->process, clock_ns(CLOCK_BOOTTIME));
	processes_unref(&s->processes, a->process);
}

/* How often usage is read: often at first, a program may end soon; and for each process. */
#define USAGE_MIN_NS  4000000u
#define USAGE_MAX_NS  100000000u
#define USAGE_EACH_NS 1000000u

struct pids {
	pid_t *pid;
	unsigned count, cap;
};

struct traced {
	const struct engine *engine;
	struct loop *loop;
	struct traced_hooks hooks;
	struct traced_process **running;
	unsigned count, cap, ended;
	bool starved;
	struct pids found;
	uint64_t usage_ns; /* when to read it again, and how long after that */
	uint64_t usage_step_ns;
};

int traced_new(const struct engine *e, struct loop *l, const struct traced_hooks *hooks,
	       struct traced **ret)
{
	struct traced *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->engine = e;
	t->loop = l;
	t->hooks = *hooks;
	t->usage_step_ns = USAGE_MIN_NS;
	*ret = t;
	return 0;
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
	free(p);
}

void traced_free(struct traced *t)
{
	if (!t)
		return;
	for (unsigned i = 0; i < t->count; i++)
		forget(t->running[i]);
	free(t->running);
	free(t->found.pid);
	free(t);
}

struct traced_process *traced_find(const struct traced *t, pid_t pid)
{
	const struct processes *ps = registry(t);
	return processes_at(ps, processes_find(ps, (uint32_t)pid))->traced;
}

bool traced_runs(const struct traced_process *p)
{
	return !process_pidfd_has_ended(p->watch.fd);
}

/* Once: its descriptor stays readable. The scan notices the end, in its place among all others. */
static int on_end(void *ctx)
{
	struct traced_process *p = ctx;
	loop_remove(p->traced->loop, &p->watch);
	p->traced->hooks.changed(p->traced->hooks.ctx);
	return 0;
}

static int make_room(struct traced *t)
{
	bool running = array_reserve(t->running, t->cap, t->count);
	bool found = array_reserve(t->found.pid, t->found.cap, t->found.count);
	return running && found ? 0 : -ENOMEM;
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
static int make_record(struct traced *t, pid_t pid, int fd, struct traced_process **ret)
{
	struct traced_process *p = malloc(sizeof(*p));
	if (!p) {
		close(fd);
		return -ENOMEM;
	}
	*p = (struct traced_process){
		.pid = pid,
		.release = t->engine->options->release,
		.traced = t,
		.watch = {.fd = fd, .fn = on_end, .ctx = p},
	};
	int err = loop_add(t->loop, &p->watch, LOOP_LEVEL);
	if (!err)
		err = traced_usage_begin(&p->usage, t->engine->session, pid);
	if (err) {
		loop_remove(t->loop, &p->watch);
		close(fd);
		free(p);
		return err;
	}
	*ret = p;
	return 0;
}

static int add(struct traced *t, pid_t pid, bool found, pid_t parent)
{
	struct traced_process *p;
	int err = make_room(t);
	int fd = err ? err : open_pidfd(t, pid, found);
	if (fd < 0)
		return fd;
	err = make_record(t, pid, fd, &p);
	if (err)
		return err;
	struct process *entry = processes_at(registry(t), p->usage.process);
	entry->traced = p;
	if (parent)
		entry->parent_pid = (uint32_t)parent;
	p->process = p->usage.process;
	t->running[t->count++] = p;
	if (found)
		t->found.pid[t->found.count++] = pid;
	t->hooks.added(t->hooks.ctx, pid);
	return 0;
}

int traced_add(struct traced *t, pid_t pid)
{
	return traced_find(t, pid) ? 0 : add(t, pid, false, 0);
}

int traced_add_found(struct traced *t, pid_t pid, pid_t parent)
{
	return traced_find(t, pid) ? 0 : add(t, pid, true, parent);
}

/* One child too many does not end the trace of the others. */
static int leave_out(struct traced *t, int err)
{
	bool starved = err == -EMFILE || err == -ENFILE;
	t->starved |= starved;
	return starved ? 0 : err;
}

struct parent {
	struct traced *traced;
	pid_t pid;
};

static int add_child(pid_t child, void *ctx)
{
	struct parent *of = ctx;
	int err = traced_add_found(of->traced, child, of->pid);
	return err == -ESRCH ? 0 : leave_out(of->traced, err);
}

static void note_end(struct traced *t, unsigned i)
{
	struct traced_process *p = t->running[i];
	t->running[i] = t->running[--t->count];
	t->ended++;
	t->hooks.ended(t->hooks.ctx, p);
	traced_usage_end(&p->usage, t->engine->session);
	forget(p);
}

int traced_scan(struct traced *t, int (*visit)(struct traced_process *p, void *ctx), void *ctx)
{
	int err = 0;
	for (unsigned i = 0; !err && i < t->count;) {
		struct traced_process *p = t->running[i];
		if (process_pidfd_has_ended(p->watch.fd)) {
			note_end(t, i);
			continue;
		}
		err = visit(p, ctx);
		if (!err && t->engine->options->follow)
			err = leave_out(t, process_children(p->pid, add_child,
							    &(struct parent){t, p->pid}));
		i++;
	}
	if (!err && now_ns() >= t->usage_ns)
		traced_read_usage(t, false);
	return err;
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

void traced_found(struct traced *t, void (*fn)(void *ctx, pid_t pid), void *ctx)
{
	for (unsigned i = 0; i < t->found.count; i++)
		fn(ctx, t->found.pid[i]);
	t->found.count = 0;
}

void traced_read_usage(struct traced *t, bool begin)
{
	for (unsigned i = 0; i < t->count; i++) {
		struct traced_process *p = t->running[i];
		if (begin)
			traced_usage_restart(&p->usage, t->engine->session);
		else
			traced_usage_note(&p->usage, t->engine->session);
	}
	t->usage_ns = now_ns() + t->usage_step_ns + t->count * (uint64_t)USAGE_EACH_NS;
	t->usage_step_ns *= t->usage_step_ns < USAGE_MAX_NS ? 2 : 1;
}

void traced_read_usage_soon(struct traced *t)
{
	t->usage_ns = 0;
	t->usage_step_ns = USAGE_MIN_NS;
}

void traced_renamed(struct traced *t, pid_t pid)
{
	struct traced_process *p = traced_find(t, pid);
	if (p)
		traced_usage_name(&p->usage);
}
