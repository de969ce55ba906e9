/* SPDX-License-Identifier: BSD-2-Clause */
/* The search of all processes: which are found, and when. */
#include "engine/live/everyone.h"

#include <stdlib.h>

#include "base/clock.h"
#include "engine/options.h"
#include "tests/tap.h"
#include "tests/unit/ring_program.h"

#define WAIT_NS 10000000000ull

static struct engine_options options = {.follow = true};
static struct engine engine = {.options = &options};
static struct traced *traced;
static struct everyone *everyone;
static unsigned old; /* processes that were there before the run */

static void stop(struct ring_program *p)
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

static bool is_found(const struct ring_program *p)
{
	return traced_find(traced, p->pid) != NULL;
}

static bool is_found_in_time(const struct ring_program *p)
{
	uint64_t end = now_ns() + WAIT_NS;
	while (!is_found(p) && now_ns() < end) {
		if (everyone_scan(everyone))
			abort();
		usleep(1000);
	}
	return is_found(p);
}

static bool is_found_when(const struct ring_program *p, enum process_event_kind kind)
{
	const struct process_event e = {.kind = kind, .pid = p->pid, .ts = now_ns()};
	return !traced_report(traced, &e) && !everyone_scan(everyone) && is_found(p);
}

static void test_first(void)
{
	struct ring_program before = ring_program_start(true);
	ok(!everyone_scan(everyone) && is_found(&before),
	   "a program with a ring is found by the first pass");
	ok(old >= 1, "as one that was there before");
	old = 0;
	struct ring_program late = ring_program_start(true);
	ok(is_found_in_time(&late), "one that starts later is found by a later pass");
	is(old, 0, "and was not there before");
	stop(&before);
	stop(&late);
}

/* Behind a pass, so that none is due. */
static void test_reported(void)
{
	struct ring_program program[2] = {ring_program_start(true), ring_program_start(true)},
			    own = ring_program_start(false);
	const struct ring_program none = {.pid = getppid()};
	struct ring_program last = ring_program_start(true);
	if (!is_found_in_time(&last))
		abort();
	ok(is_found(&program[0]) && is_found(&program[1]), "a pass finds all that there are");
	ok(!is_found(&own), "but not what the tracer has started itself");
	ok(!is_found(&none), "nor what has no ring and no code that matters");
	for (int i = 0; i < 2; i++) {
		struct ring_program next = ring_program_start(true);
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
