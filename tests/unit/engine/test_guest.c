/* SPDX-License-Identifier: BSD-2-Clause */
/* What a command adds to the loop of a run: descriptors and timers are called while events pass. */
#include "engine/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/loop.h"
#include "format/ebt/ebt.h"
#include "tests/tap.h"

#define EVENTS 200000u

struct counter {
	struct sink base;
	uint64_t events;
};

static int count(struct sink *k, const struct ebt_event *ev, size_t n)
{
	(void)ev;
	((struct counter *)k)->events += n;
	return 0;
}

static int do_nothing(struct sink *k)
{
	(void)k;
	return 0;
}

static const struct sink_ops ops = {.events = count, .end = do_nothing};

/* A guest with a timer, and a descriptor that is always readable. */
struct visit {
	struct engine_guest guest;
	const struct counter *sink;
	struct loop_timer timer;
	struct loop_fd watch;
	int fd[2], refuses;
	unsigned joined, left, ticks, reads;
	uint64_t first; /* events that had passed at the first tick */
	bool asks;	/* for the end, at the first tick */
};

static int on_tick(void *ctx)
{
	struct visit *v = ctx;
	if (!v->ticks++)
		v->first = v->sink->events;
	v->guest.ends = v->asks;
	return 0;
}

static int on_readable(void *ctx)
{
	((struct visit *)ctx)->reads++;
	return 0;
}

static int join(void *ctx, struct loop *l)
{
	struct visit *v = ctx;
	v->joined++;
	if (v->refuses)
		return v->refuses;
	v->timer = (struct loop_timer){.fn = on_tick, .ctx = v, .period_ns = 1000};
	loop_timer_set(l, &v->timer, now_ns());
	v->watch = (struct loop_fd){.fd = v->fd[0], .fn = on_readable, .ctx = v};
	return loop_add(l, &v->watch, LOOP_LEVEL);
}

static void leave(void *ctx, struct loop *l)
{
	struct visit *v = ctx;
	v->left++;
	loop_timer_clear(l, &v->timer);
	loop_remove(l, &v->watch);
}

/* A capture of EVENTS events. */
static int record(void)
{
	struct session *s;
	struct sink *k;
	int fd = memfd_create("capture", 0);
	if (fd < 0 || session_new(&s) || ebt_new(s, fd, &k))
		abort();
	for (unsigned i = 0; i < EVENTS; i++) {
		struct ebt_event ev = {
			.ts = 1000 + i, .kind = EBT_UNIT, .id = 1, .cpu = EBT_NO_CPU, .pos = i};
		if (processes_of(&s->processes, 1, &ev.process) || sink_events(k, &ev, 1))
			abort();
	}
	if (sink_end(k))
		abort();
	sink_free(k);
	session_free(s);
	return fd;
}

static enum engine_end run(struct visit *v, int fd, struct counter *sink)
{
	char path[32], *files[] = {path};
	struct engine_options o = {.files = files, .file_count = 1};
	struct engine e = {.options = &o, .sink = &sink->base, .guest = &v->guest};
	if (pipe(v->fd) || write(v->fd[1], "", 1) != 1 || session_new(&e.session))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	*sink = (struct counter){.base = {.ops = &ops}};
	v->guest.join = join;
	v->guest.leave = leave;
	v->guest.ctx = v;
	v->sink = sink;
	enum engine_end end = engine_run(&e);
	session_free(e.session);
	close(v->fd[0]);
	close(v->fd[1]);
	return end;
}

int main(void)
{
	struct visit stays = {0}, asks = {.asks = true}, refuses = {.refuses = -EMFILE};
	struct counter sink;
	int fd = record();
	is(run(&stays, fd, &sink), ENGINE_OK, "a capture is read beside a guest");
	is(sink.events, EVENTS, "to its end");
	ok(stays.ticks > 1 && stays.first < EVENTS, "its timer fires while events pass (%u times)",
	   stays.ticks);
	ok(stays.reads > 1, "its descriptor is found readable (%u times)", stays.reads);
	ok(stays.joined == 1 && stays.left == 1, "it joins and leaves once");
	is(run(&asks, fd, &sink), ENGINE_OK, "one that asks for the end");
	ok(asks.ticks == 1 && sink.events < EVENTS, "gets it at once, behind %u of the events",
	   (unsigned)sink.events);
	ok(asks.joined == 1 && asks.left == 1, "and leaves");
	is(run(&refuses, fd, &sink), ENGINE_FAILED, "one that cannot join ends the run");
	ok(!sink.events && refuses.left == 1, "before the first event");
	close(fd);
	return tap_done();
}
