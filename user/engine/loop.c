/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/loop.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"

#define READY_MAX 64

struct loop {
	int epoll_fd;
	struct epoll_event ready[READY_MAX]; /* of this round; data NULL: removed since */
	int ready_count;
	struct loop_timer *timers; /* the next one first */
	uint64_t fired_ns;	   /* timers up to this time have fired in this round */
	bool stopped;
	bool whole_ms; /* no epoll_pwait2(), or a filter: waits are rounded up to a millisecond */
};

int loop_new(struct loop **ret)
{
	struct loop *l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd < 0) {
		int err = -errno;
		free(l);
		return err;
	}
	*ret = l;
	return 0;
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	while (l->timers)
		loop_timer_clear(l, l->timers);
	close(l->epoll_fd);
	free(l);
}

int loop_add(struct loop *l, struct loop_fd *w, enum loop_trigger trigger)
{
	struct epoll_event e = {
		.events = EPOLLIN | (trigger == LOOP_EDGE ? (uint32_t)EPOLLET : 0),
		.data.ptr = w,
	};
	if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, w->fd, &e))
		return -errno;
	w->added = true;
	return 0;
}

void loop_remove(struct loop *l, struct loop_fd *w)
{
	if (!w->added)
		return;
	w->added = false;
	epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, w->fd, NULL);
	/* The memory of w may be freed or reused later in this round. */
	for (int i = 0; i < l->ready_count; i++)
		if (l->ready[i].data.ptr == w)
			l->ready[i].data.ptr = NULL;
}

void loop_timer_set(struct loop *l, struct loop_timer *t, uint64_t at_ns)
{
	loop_timer_clear(l, t);
	if (at_ns <= l->fired_ns)
		at_ns = l->fired_ns + 1;
	struct loop_timer **at = &l->timers;
	while (*at && (*at)->at_ns <= at_ns)
		at = &(*at)->next;
	t->at_ns = at_ns;
	t->next = *at;
	t->set = true;
	*at = t;
}

void loop_timer_clear(struct loop *l, struct loop_timer *t)
{
	if (!t->set)
		return;
	struct loop_timer **at = &l->timers;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	t->set = false;
}

/* Each timer fires at most once a round: one that sets itself for now must not starve the others
 * and the work. */
static int fire(struct loop *l)
{
	int err = 0;
	l->fired_ns = l->timers ? now_ns() : 0;
	while (!err && !l->stopped && l->timers && l->timers->at_ns <= l->fired_ns) {
		struct loop_timer *t = l->timers;
		loop_timer_clear(l, t);
		if (t->period_ns)
			loop_timer_set(l, t, l->fired_ns + t->period_ns);
		err = t->fn(t->ctx);
	}
	return err;
}

/* As epoll_wait(), with nanoseconds where the kernel (Linux 5.11) and its emulators know them. */
static int wait_ready(struct loop *l, uint64_t wait_ns)
{
	if (!l->whole_ms) {
		struct timespec ts = {
			.tv_sec = (time_t)(wait_ns / 1000000000u),
			.tv_nsec = (long)(wait_ns % 1000000000u),
		};
		int n = epoll_pwait2(l->epoll_fd, l->ready, READY_MAX, &ts, NULL);
		if (n >= 0 || (errno != ENOSYS && errno != EPERM))
			return n;
		l->whole_ms = true;
	}
	/* Up, not down: a wait of zero would spin until a timer is due. */
	uint64_t ms = wait_ns / 1000000u + (wait_ns % 1000000u != 0);
	return epoll_wait(l->epoll_fd, l->ready, READY_MAX, ms < INT_MAX ? (int)ms : INT_MAX);
}

static int wait_and_dispatch(struct loop *l, uint64_t wait_ns)
{
	uint64_t now = l->timers ? now_ns() : 0;
	if (l->timers && (l->timers->at_ns <= now || l->timers->at_ns - now < wait_ns))
		wait_ns = l->timers->at_ns <= now ? 0 : l->timers->at_ns - now;
	l->ready_count = wait_ready(l, wait_ns);
	int err = l->ready_count < 0 && errno != EINTR ? -errno : 0;
	/* All callbacks are called, also when the loop is stopped: an edge is reported once. */
	for (int i = 0; !err && i < l->ready_count; i++) {
		struct loop_fd *w = l->ready[i].data.ptr;
		err = w ? w->fn(w->ctx) : 0;
	}
	l->ready_count = 0;
	return err;
}

int loop_run(struct loop *l, loop_work_fn *work, void *ctx)
{
	int err = 0;
	l->stopped = false;
	while (!err && !l->stopped) {
		err = fire(l);
		int64_t wait = err || l->stopped ? 0 : work(ctx);
		if (wait < 0)
			err = (int)wait;
		if (!err && !l->stopped)
			err = wait_and_dispatch(l, (uint64_t)wait);
	}
	return err;
}

void loop_stop(struct loop *l)
{
	l->stopped = true;
}
