/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/live/follow.h"

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

/* The name of a followed process, and what it uses of the machine from when it is followed on. */

static void followed_usage_name(struct followed_usage *a);

static bool read_comm(pid_t pid, char *ret)
{
	if (process_read_text(pid, "comm", ret, FOLLOWED_COMM_BYTES) <= 0)
		return false;
	ret[strcspn(ret, "\n")] = 0;
	return true;
}

/* Before exec() a child is called as its parent: no name is better than that of another program. */
static bool is_called_like_parent(const struct followed_usage *a)
{
	char comm[FOLLOWED_COMM_BYTES];
	pid_t parent = process_parent(a->pid);
	return parent && read_comm(parent, comm) && !strcmp(comm, a->comm);
}

static void begin(struct followed_usage *a, const struct session *s, const struct usage *u)
{
	a->user_ns = a->system_ns = 0;
	*a->comm = 0;
	followed_usage_name(a);
	if (is_called_like_parent(a))
		*a->comm = 0;
	if (!u || u->start_boot_ns > s->timebase.at[TIMEBASE_BOOTTIME].ns)
		return; /* all that it will have used is of this run */
	a->user_ns = u->user_ns;
	a->system_ns = u->system_ns;
}

/* Enters a process that lives into the session's registry, and refers to it until
 * followed_usage_end(). 0 or -ENOMEM. */
static int followed_usage_begin(struct followed_usage *a, struct session *s, pid_t pid)
{
	struct usage u;
	bool has_usage = !usage_read(pid, &u);
	struct process_start start = {.boot_ns = has_usage ? u.start_boot_ns : 0,
				      .known = has_usage};
	*a = (struct followed_usage){.pid = pid};
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
static void followed_usage_restart(struct followed_usage *a, const struct session *s)
{
	struct usage u;
	begin(a, s, usage_read(a->pid, &u) ? NULL : &u);
}

/* Reads its name again: it has begun another program. */
static void followed_usage_name(struct followed_usage *a)
{
	char comm[FOLLOWED_COMM_BYTES];
	if (read_comm(a->pid, comm))
		memcpy(a->comm, comm, sizeof(a->comm));
}

uint64_t followed_usage_began_ns(const struct followed_usage *a, const struct session *s)
{
	const struct process_start *start = &processes_at(&s->processes, a->process)->start;
	uint64_t now = now_ns(), suspended = clock_ns(CLOCK_BOOTTIME) - now;
	return start->known && start->boot_ns > suspended ? start->boot_ns - suspended : now;
}

static void note_usage(struct followed_usage *a, const struct usage *u, struct process *p)
{
	p->usage.known = true;
	/* How they divide is a guess that changes. */
	p->usage.user_ns = u->user_ns > a->user_ns ? u->user_ns - a->user_ns : 0;
	p->usage.system_ns = u->system_ns > a->system_ns ? u->system_ns - a->system_ns : 0;
	if (u->has_peak_rss)
		a->peak_rss_bytes = u->peak_rss_bytes;
}

static void note(struct followed_usage *a, struct process *p)
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

void followed_usage_note(struct followed_usage *a, struct session *s)
{
	struct process *p = processes_at(&s->processes, a->process);
	if (p->announced)
		note(a, p);
}

/* The same, of one that has ended, announced or not: a ring of its may be found later. */
static void followed_usage_end(struct followed_usage *a, struct session *s)
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

struct follow {
	const struct engine *engine;
	struct loop *loop;
	struct follow_hooks hooks;
	struct followed **running;
	unsigned count, cap, ended;
	bool starved;
	struct pids found;
	uint64_t usage_ns; /* when to read it again, and how long after that */
	uint64_t usage_step_ns;
};

int follow_new(const struct engine *e, struct loop *l, const struct follow_hooks *hooks,
	       struct follow **ret)
{
	struct follow *f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->engine = e;
	f->loop = l;
	f->hooks = *hooks;
	f->usage_step_ns = USAGE_MIN_NS;
	*ret = f;
	return 0;
}

static struct processes *registry(const struct follow *f)
{
	return &f->engine->session->processes;
}

/* Its record goes, its entry stays. */
static void forget(struct followed *p)
{
	processes_at(registry(p->follow), p->process)->followed = NULL;
	loop_remove(p->follow->loop, &p->watch);
	close(p->watch.fd);
	free(p);
}

void follow_free(struct follow *f)
{
	if (!f)
		return;
	for (unsigned i = 0; i < f->count; i++)
		forget(f->running[i]);
	free(f->running);
	free(f->found.pid);
	free(f);
}

struct followed *follow_find(const struct follow *f, pid_t pid)
{
	const struct processes *ps = registry(f);
	return processes_at(ps, processes_find(ps, (uint32_t)pid))->followed;
}

bool follow_runs(const struct followed *p)
{
	return !process_pidfd_has_ended(p->watch.fd);
}

/* Once: its descriptor stays readable. The scan notices the end, in its place among all others. */
static int on_end(void *ctx)
{
	struct followed *p = ctx;
	loop_remove(p->follow->loop, &p->watch);
	p->follow->hooks.changed(p->follow->hooks.ctx);
	return 0;
}

static int make_room(struct follow *f)
{
	bool running = array_reserve(f->running, f->cap, f->count);
	bool found = array_reserve(f->found.pid, f->found.cap, f->found.count);
	return running && found ? 0 : -ENOMEM;
}

static int open_pidfd(const struct follow *f, pid_t pid, bool found)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return -errno;
	/* Without the spare ones no scan could read what the others have. */
	if (found && f->count > 1 && file_is_last(fd)) {
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
static int make_record(struct follow *f, pid_t pid, int fd, struct followed **ret)
{
	struct followed *p = malloc(sizeof(*p));
	if (!p) {
		close(fd);
		return -ENOMEM;
	}
	*p = (struct followed){
		.pid = pid,
		.release = f->engine->options->release,
		.follow = f,
		.watch = {.fd = fd, .fn = on_end, .ctx = p},
	};
	int err = loop_add(f->loop, &p->watch, LOOP_LEVEL);
	if (!err)
		err = followed_usage_begin(&p->usage, f->engine->session, pid);
	if (err) {
		loop_remove(f->loop, &p->watch);
		close(fd);
		free(p);
		return err;
	}
	*ret = p;
	return 0;
}

static int add(struct follow *f, pid_t pid, bool found, pid_t parent)
{
	struct followed *p;
	int err = make_room(f);
	int fd = err ? err : open_pidfd(f, pid, found);
	if (fd < 0)
		return fd;
	err = make_record(f, pid, fd, &p);
	if (err)
		return err;
	struct process *entry = processes_at(registry(f), p->usage.process);
	entry->followed = p;
	if (parent)
		entry->parent_pid = (uint32_t)parent;
	p->process = p->usage.process;
	f->running[f->count++] = p;
	if (found)
		f->found.pid[f->found.count++] = pid;
	f->hooks.added(f->hooks.ctx, pid);
	return 0;
}

int follow_add(struct follow *f, pid_t pid)
{
	return follow_find(f, pid) ? 0 : add(f, pid, false, 0);
}

int follow_add_found(struct follow *f, pid_t pid, pid_t parent)
{
	return follow_find(f, pid) ? 0 : add(f, pid, true, parent);
}

/* One child too many does not end the trace of the others. */
static int leave_out(struct follow *f, int err)
{
	bool starved = err == -EMFILE || err == -ENFILE;
	f->starved |= starved;
	return starved ? 0 : err;
}

struct family {
	struct follow *follow;
	pid_t parent;
};

static int add_child(pid_t child, void *ctx)
{
	struct family *of = ctx;
	int err = follow_add_found(of->follow, child, of->parent);
	return err == -ESRCH ? 0 : leave_out(of->follow, err);
}

static void note_end(struct follow *f, unsigned i)
{
	struct followed *p = f->running[i];
	f->running[i] = f->running[--f->count];
	f->ended++;
	f->hooks.ended(f->hooks.ctx, p);
	followed_usage_end(&p->usage, f->engine->session);
	forget(p);
}

int follow_scan(struct follow *f, int (*visit)(struct followed *p, void *ctx), void *ctx)
{
	int err = 0;
	for (unsigned i = 0; !err && i < f->count;) {
		struct followed *p = f->running[i];
		if (process_pidfd_has_ended(p->watch.fd)) {
			note_end(f, i);
			continue;
		}
		err = visit(p, ctx);
		if (!err && f->engine->options->follow)
			err = leave_out(f, process_children(p->pid, add_child,
							    &(struct family){f, p->pid}));
		i++;
	}
	if (!err && now_ns() >= f->usage_ns)
		follow_usage(f, false);
	return err;
}

bool follow_is_starved(const struct follow *f)
{
	return f->starved;
}

void follow_each(struct follow *f, void (*fn)(struct followed *p, void *ctx), void *ctx)
{
	for (unsigned i = 0; i < f->count; i++)
		fn(f->running[i], ctx);
}

unsigned follow_running(const struct follow *f)
{
	return f->count;
}

unsigned follow_ended(const struct follow *f)
{
	return f->ended;
}

void follow_found(struct follow *f, void (*fn)(void *ctx, pid_t pid), void *ctx)
{
	for (unsigned i = 0; i < f->found.count; i++)
		fn(ctx, f->found.pid[i]);
	f->found.count = 0;
}

void follow_usage(struct follow *f, bool begin)
{
	for (unsigned i = 0; i < f->count; i++) {
		struct followed *p = f->running[i];
		if (begin)
			followed_usage_restart(&p->usage, f->engine->session);
		else
			followed_usage_note(&p->usage, f->engine->session);
	}
	f->usage_ns = now_ns() + f->usage_step_ns + f->count * (uint64_t)USAGE_EACH_NS;
	f->usage_step_ns *= f->usage_step_ns < USAGE_MAX_NS ? 2 : 1;
}

void follow_usage_soon(struct follow *f)
{
	f->usage_ns = 0;
	f->usage_step_ns = USAGE_MIN_NS;
}

void follow_renamed(struct follow *f, pid_t pid)
{
	struct followed *p = follow_find(f, pid);
	if (p)
		followed_usage_name(&p->usage);
}
