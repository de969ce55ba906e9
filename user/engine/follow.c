/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/follow.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "proc/process.h"

/* How often usage is looked at: often at first, a program may end soon; and for each process. */
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
	struct map by_pid; /* struct followed *, the last one of each pid */
	struct followed **running;
	unsigned count, cap, ended;
	bool starved;
	struct pids found;
	uint64_t usage_ns; /* when to look at it again, and how long after that */
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

static void forget(struct followed *p)
{
	if (p && p->watch.fd >= 0) {
		loop_remove(p->follow->loop, &p->watch);
		close(p->watch.fd);
	}
	free(p);
}

void follow_free(struct follow *f)
{
	if (!f)
		return;
	size_t at = 0;
	for (struct map_slot *s; (s = map_next(&f->by_pid, &at));)
		forget((struct followed *)(uintptr_t)s->value);
	map_done(&f->by_pid);
	free(f->running);
	free(f->found.pid);
	free(f);
}

struct followed *follow_last(const struct follow *f, pid_t pid)
{
	const uint64_t *value = map_get(&f->by_pid, (uint64_t)pid);
	return value ? (struct followed *)(uintptr_t)*value : NULL;
}

struct followed *follow_find(const struct follow *f, pid_t pid)
{
	struct followed *p = follow_last(f, pid);
	return p && !p->ended ? p : NULL;
}

static bool has_ended(int pidfd)
{
	struct pollfd fd = {.fd = pidfd, .events = POLLIN};
	return poll(&fd, 1, 0) > 0;
}

bool follow_runs(const struct followed *p)
{
	return p->watch.fd >= 0 && !has_ended(p->watch.fd);
}

/* Once: its descriptor stays readable. The scan notices the end, in its place among all others. */
static int on_end(void *ctx)
{
	struct followed *p = ctx;
	loop_remove(p->follow->loop, &p->watch);
	p->follow->hooks.changed(p->follow->hooks.ctx);
	return 0;
}

/* The array with room for one more; NULL: no memory, the array is as it was. */
static void *with_room(void *array, unsigned count, unsigned *cap, size_t size)
{
	if (count < *cap)
		return array;
	unsigned more = *cap ? 2 * *cap : 8;
	void *p = realloc(array, more * size);
	*cap = p ? more : *cap;
	return p;
}

static int make_room(struct follow *f)
{
	void *running = with_room(f->running, f->count, &f->cap, sizeof(*f->running));
	f->running = running ? running : f->running;
	void *found = with_room(f->found.pid, f->found.count, &f->found.cap, sizeof(pid_t));
	f->found.pid = found ? found : f->found.pid;
	return running && found ? 0 : -ENOMEM;
}

static int open_pidfd(pid_t pid, bool found)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return -errno;
	/* A zombie is listed among the children, at each scan anew. */
	if (!found || !has_ended(fd))
		return fd;
	close(fd);
	return -ESRCH;
}

static int add(struct follow *f, pid_t pid, bool found)
{
	int err = make_room(f);
	int fd = err ? err : open_pidfd(pid, found);
	if (fd < 0)
		return fd;
	struct followed *p = malloc(sizeof(*p));
	uint64_t *value = p ? map_put(&f->by_pid, (uint64_t)pid) : NULL;
	if (!value) {
		close(fd);
		free(p);
		return -ENOMEM;
	}
	forget((struct followed *)(uintptr_t)*value);
	*value = (uintptr_t)p;
	*p = (struct followed){
		.pid = pid,
		.release = f->engine->options->release,
		.follow = f,
		.watch = {.fd = fd, .fn = on_end, .ctx = p},
	};
	err = loop_add(f->loop, &p->watch, LOOP_LEVEL);
	if (err) {
		map_delete(&f->by_pid, (uint64_t)pid);
		forget(p);
		return err;
	}
	f->running[f->count++] = p;
	if (found)
		f->found.pid[f->found.count++] = pid;
	f->hooks.added(f->hooks.ctx, pid);
	return followed_usage_begin(&p->usage, f->engine->session, pid);
}

int follow_add(struct follow *f, pid_t pid)
{
	return follow_find(f, pid) ? 0 : add(f, pid, false);
}

int follow_add_found(struct follow *f, pid_t pid)
{
	return follow_find(f, pid) ? 0 : add(f, pid, true);
}

/* One child too many does not end the trace of the others. */
static int leave_out(struct follow *f, int err)
{
	bool starved = err == -EMFILE || err == -ENFILE;
	f->starved |= starved;
	return starved ? 0 : err;
}

static int take_child(pid_t child, void *ctx)
{
	struct follow *f = ctx;
	int err = follow_add_found(f, child);
	return err == -ESRCH ? 0 : leave_out(f, err);
}

/* Its record stays: a ring file of its may be found later. */
static void note_end(struct follow *f, unsigned i)
{
	struct followed *p = f->running[i];
	f->running[i] = f->running[--f->count];
	followed_usage_end(&p->usage, f->engine->session);
	p->ended = true;
	f->ended++;
	loop_remove(f->loop, &p->watch);
	close(p->watch.fd);
	p->watch.fd = -1;
	f->hooks.ended(f->hooks.ctx, p);
}

int follow_scan(struct follow *f, int (*visit)(struct followed *p, void *ctx), void *ctx)
{
	int err = 0;
	for (unsigned i = 0; !err && i < f->count;) {
		struct followed *p = f->running[i];
		if (has_ended(p->watch.fd)) {
			note_end(f, i);
			continue;
		}
		err = visit(p, ctx);
		if (!err && f->engine->options->follow)
			err = leave_out(f, process_children(p->pid, take_child, f));
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

void follow_each(struct follow *f, void (*fn)(const struct followed *p, void *ctx), void *ctx)
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
