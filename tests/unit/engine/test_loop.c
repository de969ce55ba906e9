/* SPDX-License-Identifier: BSD-2-Clause */
/* The event loop: in which order it calls what, that a tick fires under full load, and that
 * anything may be added, removed and freed in a callback. */
#include "engine/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/tap.h"
#include "tests/unit/seccomp.h"

#define MS UINT64_C(1000000)

static struct loop *l;
static char trail[64]; /* a letter for each call */

static void mark(char c)
{
	size_t n = strlen(trail);
	if (n < sizeof(trail) - 1)
		trail[n] = c;
}

/* A watched pipe that has a byte, or a timer: marks its letter. */
struct thing {
	char letter;
	int fd[2];
	struct loop_fd watch;
	struct loop_timer timer;
	struct thing *victim, *next; /* victim: removed and freed by the callback */
	unsigned calls, stop_after;
	int result;
};

static struct thing *things; /* all that live */

static void thing_free(struct thing *t)
{
	struct thing **at = &things;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	loop_remove(l, &t->watch);
	loop_timer_clear(l, &t->timer);
	close(t->fd[0]);
	close(t->fd[1]);
	free(t);
}

static void begin(void)
{
	memset(trail, 0, sizeof(trail));
	for (struct thing *t = things; l && t; t = t->next) {
		loop_remove(l, &t->watch);
		loop_timer_clear(l, &t->timer);
	}
	loop_free(l);
	if (loop_new(&l))
		exit(1);
}

static int thing_called(void *ctx)
{
	struct thing *t = ctx, *victim = t->victim;
	mark(t->letter);
	t->victim = NULL;
	if (victim)
		thing_free(victim);
	if (victim == t)
		return 0;
	if (++t->calls == t->stop_after)
		loop_stop(l);
	return t->result;
}

static struct thing *thing_new(char letter)
{
	struct thing *t = calloc(1, sizeof(*t));
	if (!t || pipe(t->fd))
		exit(1);
	t->letter = letter;
	t->watch = (struct loop_fd){.fd = t->fd[0], .fn = thing_called, .ctx = t};
	t->timer = (struct loop_timer){.fn = thing_called, .ctx = t};
	t->next = things;
	things = t;
	return t;
}

static void put_byte(struct thing *t)
{
	if (write(t->fd[1], "x", 1) != 1)
		exit(1);
}

/* Work that marks 'w', and stops the loop after so many calls. In each it sets a timer, so that the
 * loop cannot find that due before. */
struct work {
	struct thing *timer;
	unsigned calls, stop_after;
	int64_t wait_ns;
};

static int64_t work(void *ctx)
{
	struct work *w = ctx;
	mark('w');
	if (w->timer)
		loop_timer_set(l, &w->timer->timer, now_ns() + 5 * MS);
	if (++w->calls == w->stop_after)
		loop_stop(l);
	return w->wait_ns;
}

static int64_t busy_for_1ms(void *ctx)
{
	struct work *w = ctx;
	w->calls++;
	for (uint64_t end = now_ns() + MS; now_ns() < end;)
		;
	return 0;
}

static void test_order(void)
{
	begin();
	struct thing *late = thing_new('b'), *early = thing_new('a'), *fd = thing_new('f');
	uint64_t now = now_ns();
	loop_timer_set(l, &late->timer, now - 1);
	loop_timer_set(l, &early->timer, now - 2);
	put_byte(fd);
	loop_add(l, &fd->watch, LOOP_LEVEL);
	struct work w = {.stop_after = 2};
	is(loop_run(l, work, &w), 0, "a loop that was stopped returns 0");
	is_str(trail, "abwfw",
	       "a round is: timers in the order of their times, the work, then descriptors");

	begin();
	loop_timer_set(l, &late->timer, now_ns());
	loop_timer_set(l, &early->timer, now_ns() + 60000 * MS);
	loop_timer_set(l, &early->timer, 1);
	w = (struct work){.stop_after = 1};
	loop_run(l, work, &w);
	is_str(trail, "abw", "a timer that is set again moves");

	begin();
	now = now_ns() + 1;
	loop_timer_set(l, &late->timer, now);
	loop_timer_set(l, &early->timer, now);
	w = (struct work){.wait_ns = MS, .stop_after = 2};
	loop_run(l, work, &w);
	is_str(trail, strchr(trail, 'b') == trail ? "baww" : "wbaw",
	       "timers of one time fire in the order in which they were set");
}

static void test_wait(void)
{
	begin();
	struct thing *fd = thing_new('f'), *timer = thing_new('t');
	struct work w = {.wait_ns = 60000 * (int64_t)MS};
	fd->stop_after = 1;
	put_byte(fd);
	loop_add(l, &fd->watch, LOOP_LEVEL);
	loop_run(l, work, &w);
	is_str(trail, "wf", "a descriptor ends a wait");

	begin();
	timer->stop_after = 1;
	w.timer = timer;
	loop_run(l, work, &w);
	is_str(trail, "wt", "a timer ends a wait");

	begin();
	w = (struct work){.wait_ns = MS, .stop_after = 3};
	loop_run(l, work, &w);
	is_str(trail, "www", "with neither the work is called again after its wait");
}

static void test_edge(void)
{
	begin();
	struct thing *level = thing_new('l'), *edge = thing_new('e');
	put_byte(level);
	put_byte(edge);
	loop_add(l, &level->watch, LOOP_LEVEL);
	loop_add(l, &edge->watch, LOOP_EDGE);
	level->stop_after = 3;
	struct work w = {0};
	loop_run(l, work, &w);
	is(edge->calls, 1,
	   "what nobody reads is reported once by its edge, and in each round by its level");
	put_byte(edge);
	level->stop_after = 4;
	loop_run(l, work, &w);
	is(edge->calls, 2, "the next edge is when more comes");
}

static void test_tick(void)
{
	begin();
	struct thing *tick = thing_new('t');
	tick->timer.period_ns = 2 * MS;
	tick->stop_after = 20;
	loop_timer_set(l, &tick->timer, now_ns());
	struct work w = {0};
	uint64_t before = now_ns();
	is(loop_run(l, busy_for_1ms, &w), 0, "work that never waits runs until the tick stops it");
	uint64_t spent = now_ns() - before;
	ok(w.calls >= 19, "the work had its turn between any two ticks");
	ok(spent >= 19 * 2 * MS, "ticks that came late are not made up for");
	is(tick->calls, 20, "a tick fires under full load");

	begin();
	tick->calls = 0;
	tick->stop_after = 3;
	loop_timer_set(l, &tick->timer, now_ns());
	w = (struct work){.wait_ns = 60000 * (int64_t)MS};
	loop_run(l, work, &w);
	is_str(trail, "twtwt", "and while there is nothing to do");
}

static int set_itself_for_now(void *ctx)
{
	struct thing *t = ctx;
	mark(t->letter);
	loop_timer_set(l, &t->timer, now_ns() - MS);
	return 0;
}

static void test_timer_again(void)
{
	begin();
	struct thing *t = thing_new('t');
	t->timer.fn = set_itself_for_now;
	loop_timer_set(l, &t->timer, 1);
	struct work w = {.stop_after = 3};
	loop_run(l, work, &w);
	is_str(trail, "twtwtw", "a timer that sets itself for now fires once a round");
}

static void test_removal(void)
{
	begin();
	struct thing *killer = thing_new('k');
	struct thing *other = thing_new('k');
	put_byte(killer);
	put_byte(other);
	loop_add(l, &killer->watch, LOOP_LEVEL);
	loop_add(l, &other->watch, LOOP_LEVEL);
	/* Whichever comes first frees the other one, whose turn is in the same round. */
	killer->victim = other;
	other->victim = killer;
	struct work w = {.stop_after = 2};
	loop_run(l, work, &w);
	is_str(trail, "wkw", "a descriptor that is removed in a round is not called in it");

	begin();
	struct thing *first = thing_new('1');
	first->victim = thing_new('2');
	loop_timer_set(l, &first->timer, 1);
	loop_timer_set(l, &first->victim->timer, 2);
	w = (struct work){.stop_after = 1};
	loop_run(l, work, &w);
	is_str(trail, "1w", "nor is a timer that is cleared");

	begin();
	struct thing *self = thing_new('s');
	self->timer.period_ns = 1;
	self->victim = self;
	loop_timer_set(l, &self->timer, 1);
	w = (struct work){.stop_after = 2};
	loop_run(l, work, &w);
	is_str(trail, "sww", "a timer may free itself");
}

static int64_t fail(void *ctx)
{
	(void)ctx;
	return -EIO;
}

static void test_errors(void)
{
	struct thing *t = thing_new('t');
	struct work w = {.stop_after = 10};
	begin();
	is(loop_run(l, fail, NULL), -EIO, "an error of the work ends the loop");
	begin();
	t->result = -EPIPE;
	loop_timer_set(l, &t->timer, 1);
	is(loop_run(l, work, &w), -EPIPE, "so does one of a timer");
	is_str(trail, "t", "before the work");
	begin();
	put_byte(t);
	loop_add(l, &t->watch, LOOP_LEVEL);
	is(loop_run(l, work, &w), -EPIPE, "and one of a descriptor");
	struct loop_fd bad = {.fd = -1};
	is(loop_add(l, &bad, LOOP_LEVEL), -EBADF, "what cannot be watched is an error");
	begin();
	loop_timer_set(l, &t->timer, 1);
	loop_remove(l, &bad);
	loop_timer_clear(l, &(struct loop_timer){0});
	is(loop_run(l, work, &w), -EPIPE, "what is not in it may be removed");
	is_str(trail, "t", "and what is in it stays");
}

static int take_signal(void *ctx)
{
	struct thing *t = ctx;
	struct signalfd_siginfo si;
	if (read(t->watch.fd, &si, sizeof(si)) == sizeof(si) && si.ssi_signo == SIGUSR1)
		loop_stop(l);
	return 0;
}

static void test_signals(void)
{
	begin();
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	struct thing t = {.watch = {.fd = signalfd(-1, &set, SFD_NONBLOCK), .fn = take_signal}};
	t.watch.ctx = &t;
	loop_add(l, &t.watch, LOOP_LEVEL);
	raise(SIGUSR1);
	struct work w = {0};
	is(loop_run(l, busy_for_1ms, &w), 0, "a signal is taken under full load");
	ok(w.calls >= 1, "after a round of the work");
}

/* Work that waits half a millisecond until a timer has fired. */
static int64_t wait_500us(void *ctx)
{
	struct work *w = ctx;
	w->calls++;
	return 500000;
}

static void run_all(void)
{
	void (*const tests[])(void) = {
		test_order,	  test_wait,	test_edge,   test_tick,
		test_timer_again, test_removal, test_errors, test_signals,
	};
	for (unsigned i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		tests[i]();
		while (things)
			thing_free(things);
	}
}

/* Kernels before 5.11, gVisor and valgrind lack the call. */
static void test_without_pwait2(void)
{
	const int call[] = {SYS_epoll_pwait2, -1};
	struct timespec none = {0};
	struct epoll_event e;
	ok(seccomp_enter(call, SECCOMP_RET_ERRNO | ENOSYS, SECCOMP_RET_ALLOW) &&
		   epoll_pwait2(-1, &e, 1, &none, NULL) < 0 && errno == ENOSYS,
	   "what follows is without epoll_pwait2()");
	run_all();

	begin();
	struct thing *timer = thing_new('t');
	timer->stop_after = 1;
	loop_timer_set(l, &timer->timer, now_ns() + 20 * MS);
	struct work w = {0};
	is(loop_run(l, wait_500us, &w), 0, "waits shorter than a millisecond end");
	ok(w.calls <= 21, "and are rounded up, so that they wait at all");
	thing_free(timer);
}

int main(void)
{
	run_all();
	test_without_pwait2();
	loop_free(l);
	tap_keeps(2);
	return tap_done();
}
