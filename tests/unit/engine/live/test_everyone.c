/* SPDX-License-Identifier: BSD-2-Clause */
/* The search of all processes: which are found, and when. */
#include "engine/live/everyone.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/options.h"
#include "tests/tap.h"

#include <ebtrace/probes.h>

#define WAIT_NS 10000000000ull

struct program {
	pid_t pid;
	int end; /* it ends when this is closed */
};

static struct engine_options options = {.follow = true};
static struct engine engine = {.options = &options};
static struct traced *traced;
static struct everyone *everyone;
static unsigned old; /* processes that were there before the run */

static void run_with_ring(int ready, int end)
{
	char byte;
	pid_t pid = getpid();
	bool good = !ebt_start() && write(ready, &pid, sizeof(pid)) == sizeof(pid);
	_exit(!good || read(end, &byte, 1));
}

/* A program with a ring; an orphan is no process of ours. */
static struct program start(bool orphan)
{
	int ready[2], end[2];
	struct program p = {0};
	if (pipe(ready) || pipe(end))
		abort();
	pid_t child = fork();
	if (!child) {
		close(end[1]);
		close(ready[0]);
		if (!orphan || !fork())
			run_with_ring(ready[1], end[0]);
		_exit(0);
	}
	close(ready[1]);
	close(end[0]);
	if (child < 0 || (orphan && waitpid(child, NULL, 0) != child) ||
	    read(ready[0], &p.pid, sizeof(p.pid)) != sizeof(p.pid))
		abort();
	close(ready[0]);
	p.end = end[1];
	return p;
}

/* Those that were started later have its end open, too: they are stopped first, or end with it. */
static void stop(struct program *p)
{
	close(p->end);
	waitpid(p->pid, NULL, 0); /* unless it is an orphan */
}

static int note(void *ctx, const struct process_event *e)
{
	(void)ctx;
	old += e->kind == PROCESS_BORN && e->is_old;
	return 0;
}

static bool is_found(const struct program *p)
{
	return traced_find(traced, p->pid) != NULL;
}

static bool is_found_in_time(const struct program *p)
{
	uint64_t end = now_ns() + WAIT_NS;
	while (!is_found(p) && now_ns() < end) {
		if (everyone_scan(everyone))
			abort();
		usleep(1000);
	}
	return is_found(p);
}

static bool is_found_when(const struct program *p, enum process_event_kind kind)
{
	const struct process_event e = {.kind = kind, .pid = p->pid, .ts = now_ns()};
	return !traced_report(traced, &e) && !everyone_scan(everyone) && is_found(p);
}

static void test_first(void)
{
	struct program before = start(true);
	ok(!everyone_scan(everyone) && is_found(&before),
	   "a program with a ring is found by the first pass");
	ok(old >= 1, "as one that was there before");
	old = 0;
	struct program late = start(true);
	ok(is_found_in_time(&late), "one that starts later is found by a later pass");
	is(old, 0, "and was not there before");
	stop(&before);
	stop(&late);
}

/* Behind a pass, so that none is due. */
static void test_reported(void)
{
	struct program program[2] = {start(true), start(true)}, own = start(false);
	const struct program none = {.pid = getppid()};
	struct program last = start(true);
	if (!is_found_in_time(&last))
		abort();
	ok(is_found(&program[0]) && is_found(&program[1]), "a pass finds all that there are");
	ok(!is_found(&own), "but not what the tracer has started itself");
	ok(!is_found(&none), "nor what has no ring and no code that matters");
	for (int i = 0; i < 2; i++) {
		struct program next = start(true);
		ok(is_found_when(&next, i ? PROCESS_MAPPED : PROCESS_EXECED),
		   "a program is found at once when it is reported that it %s",
		   i ? "has mapped code" : "has begun");
		stop(&next);
		stop(&program[i]);
	}
	ok(!is_found_when(&own, PROCESS_EXECED), "unless the tracer has started it");
	ok(!is_found_when(&none, PROCESS_EXECED), "or it has nothing that matters");
	stop(&last);
	stop(&own);
}

int main(void)
{
	struct loop *loop;
	char dir[] = "/tmp/ebt-everyone-XXXXXX";
	struct inspect *inspect = inspect_new();
	if (!mkdtemp(dir) || setenv("EBTRACE_DIR", dir, 1) || session_new(&engine.session) ||
	    loop_new(&loop) || traced_new(&engine, loop, &traced) || !inspect ||
	    everyone_new(&engine, traced, inspect, true, &everyone))
		abort();
	traced_subscribe(traced, note, NULL);
	test_first();
	test_reported();
	everyone_free(everyone);
	traced_free(traced);
	inspect_free(inspect);
	loop_free(loop);
	session_free(engine.session);
	uint64_t end = now_ns() + WAIT_NS;
	while (rmdir(dir) && now_ns() < end)
		usleep(1000);
	ok(access(dir, F_OK), "no program has left its ring");
	return tap_done();
}
