/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * traced: children that record a ring are reported by all reporters, in random orders, some late,
 * beside scans. Each is one process for all subscribers, and its ring is opened once.
 */
#include "engine/live/traced.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/live/ring_files.h"
#include "engine/options.h"
#include "proc/maps.h"
#include "proc/process.h"
#include "runtime/inspect.h"
#include "session/language.h"
#include "source/ring/ring.h"
#include "tests/tap.h"
#include "tests/unit/ring_program.h"

#define ROUNDS	 200
#define CHILDREN 4
#define REPORTS	 24

struct child {
	pid_t pid;
	int end;				   /* it ends when this is closed */
	unsigned count[PROCESS_EVENTS], unchanged; /* published */
	uint32_t process;			   /* its index in the registry */
	unsigned wrong;
};

static struct engine_options options = {.follow = true};
static struct engine engine = {.options = &options};
static struct loop *loop;
static struct traced *traced;
static struct ring_source *rings;
static struct ring_files *files;
static struct child child[CHILDREN]; /* end: < 0: none */
static unsigned strangers;
static uint32_t seed = 1;

static uint32_t any(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

static struct child *child_of(pid_t pid)
{
	for (unsigned i = 0; i < CHILDREN; i++)
		if (child[i].pid == pid)
			return &child[i];
	return NULL;
}

/* Nothing is published of a process before its birth, or behind its end, as of one that is
 * traced. */
static int note(void *ctx, const struct process_event *e)
{
	(void)ctx;
	struct child *c = child_of(e->pid);
	strangers += !c;
	if (!c)
		return 0;
	c->count[e->kind]++;
	c->unchanged += e->kind == PROCESS_MAPPED && !e->maps;
	bool lives =
		c->count[PROCESS_BORN] && (e->kind == PROCESS_ENDED || !c->count[PROCESS_ENDED]);
	c->wrong += lives != (e->process != NULL);
	if (!e->process)
		return 0;
	c->wrong += c->process && c->process != e->process->process;
	c->process = e->process->process;
	return 0;
}

/* A process with a ring. */
static void start(struct child *c)
{
	struct ring_program p = ring_program_start(false);
	*c = (struct child){.pid = p.pid, .end = p.end};
}

/* The user names processes that run. */
static void report_any(pid_t pid, bool runs)
{
	static const enum process_event_kind kinds[] = {PROCESS_BORN,	      PROCESS_BORN,
							PROCESS_EXECED,	      PROCESS_MAPPED,
							PROCESS_RING_STARTED, PROCESS_RING_NEEDED};
	struct process_event e = {.kind = kinds[any(6)], .pid = pid};
	e.by_bpf = e.kind == PROCESS_BORN ? any(2) : e.kind != PROCESS_MAPPED;
	e.named = e.kind == PROCESS_BORN && !e.by_bpf && runs && any(2);
	e.parent = e.kind == PROCESS_BORN && !e.named && any(2) ? getpid() : 0;
	e.ts = any(2) ? now_ns() : 0;
	e.comm = e.kind != PROCESS_MAPPED && any(2) ? "named" : NULL;
	traced_report(traced, &e);
}

static void report_or_scan(pid_t pid, bool runs)
{
	switch (any(8)) {
	case 0:
		traced_scan(traced);
		break;
	case 1:
		traced_scan_due(traced);
		break;
	default:
		report_any(pid, runs);
	}
}

static void end(struct child *c)
{
	bool reported = any(2), waits = any(2);
	const struct process_event exited = {
		.kind = PROCESS_EXITED, .pid = c->pid, .ts = now_ns(), .by_bpf = true};
	close(c->end);
	c->end = -1;
	siginfo_t info;
	while (waitid(P_PID, (id_t)c->pid, &info, WEXITED | (waits ? 0 : WNOWAIT)) &&
	       errno == EINTR)
		;
	if (reported)
		traced_report(traced, &exited);
	traced_scan(traced);
	/* What comes late changes nothing. */
	for (unsigned i = 0; i < REPORTS / 4; i++)
		report_or_scan(c->pid, false);
	if (!waits)
		waitpid(c->pid, NULL, 0);
}

static void test_any_order(void)
{
	unsigned born = 0, ended = 0, wrong = 0, unread = 0, opened = 0, reads = 0;
	for (unsigned round = 0; round < TAP_ROUNDS(ROUNDS); round++) {
		unsigned before = ring_files_opened(files);
		for (unsigned i = 0; i < CHILDREN; i++)
			start(&child[i]);
		for (unsigned i = 0; i < CHILDREN * REPORTS; i++)
			report_or_scan(child[any(CHILDREN)].pid, true);
		for (unsigned i = 0; i < CHILDREN; i++)
			traced_report(traced, &(struct process_event){.kind = PROCESS_BORN,
								      .pid = child[i].pid});
		traced_scan(traced);
		wrong += traced_running(traced) != CHILDREN;
		opened += ring_files_opened(files) - before;
		for (unsigned i = 0; i < CHILDREN; i++)
			end(&child[i]);
		for (unsigned i = 0; i < CHILDREN; i++) {
			const struct child *c = &child[i];
			born += c->count[PROCESS_BORN] == 1;
			ended += c->count[PROCESS_ENDED] == 1;
			unread += c->count[PROCESS_MAPPED] == c->unchanged;
			reads += c->count[PROCESS_MAPPED] - c->unchanged;
			wrong += c->wrong;
		}
		wrong += traced_running(traced) != 0;
	}
	unsigned all = TAP_ROUNDS(ROUNDS) * CHILDREN;
	is(born, all, "whoever reports a process, in whatever order: it is born once");
	is(ended, all, "and ends once");
	is(wrong + strangers, 0, "with one entry in the registry");
	is(unread, 0, "its mappings are read");
	is(opened, all, "and each ring file in them is opened once");
	is(traced_ended(traced), all, "no process is left");
	diag("%u reads of mappings of %u processes", reads, all);
}

/* ---- who gets an event ---- */

static unsigned first, second, unread_code;

static int refuse_maps(void *ctx, const struct process_event *e)
{
	(void)ctx;
	first++;
	return e->kind == PROCESS_MAPPED ? -ENOSPC : 0;
}

static int count_second(void *ctx, const struct process_event *e)
{
	(void)ctx;
	second += e->kind == PROCESS_MAPPED;
	return 0;
}

static int count_maps(void *ctx, const struct process_event *e)
{
	unsigned *reads = ctx;
	*reads += e->kind == PROCESS_MAPPED && e->maps;
	unread_code += e->kind == PROCESS_MAPPED && !e->process && !e->maps;
	return 0;
}

static void test_mapped(void)
{
	struct traced *t;
	unsigned reads = 0;
	if (traced_new(&engine, loop, &t))
		abort();
	traced_subscribe(t, count_maps, &reads);
	const struct process_event born = {.kind = PROCESS_BORN, .pid = getpid(), .named = true};
	if (traced_report(t, &born) || traced_scan(t) || traced_scan(t))
		abort();
	unsigned before = reads;
	struct process_event mapped = {.kind = PROCESS_MAPPED, .pid = getpid(), .ts = now_ns()};
	ok(!traced_report(t, &mapped) && !traced_scan_due(t) && reads == before + 1,
	   "a traced process has mapped code: its mappings are read");
	is(unread_code, 0, "which is published with them");
	mapped.pid = 1;
	ok(!traced_report(t, &mapped) && unread_code == 1,
	   "that another process has is published for those that search processes");
	mapped.ts = 0;
	ok(!traced_report(t, &mapped) && unread_code == 1, "if it is known to be code");
	traced_free(t);
}

/* Whether it is to rest, and was not read, or had rested long enough. */
static bool rests(struct traced *t, const unsigned *reads, unsigned before)
{
	const struct traced_process *p = traced_find(t, getpid());
	return p->reads.rests_ns > p->reads.since_ns && !traced_scan(t) &&
	       (*reads == before || !traced_rests(p));
}

static void test_covered(void)
{
	struct traced *t;
	unsigned reads = 0;
	if (traced_new(&engine, loop, &t))
		abort();
	traced_subscribe(t, count_maps, &reads);
	struct process_event e = {
		.kind = PROCESS_BORN, .pid = getpid(), .by_bpf = true, .covered = true};
	ok(!traced_report(t, &e) && rests(t, &reads, 0),
	   "a child that is covered is not read at once");
	unsigned before = reads;
	const struct process_event asked = {.kind = PROCESS_MAPPED, .pid = getpid()};
	ok(!traced_report(t, &asked) && !traced_scan_due(t) && reads == before + 1,
	   "unless that is asked for");
	e.kind = PROCESS_EXECED;
	e.ts = now_ns();
	before = reads;
	ok(!traced_report(t, &e) && !traced_scan(t) && reads == before + 1, "or it calls exec");
	traced_free(t);
}

static void test_runtime(void)
{
	struct traced *t;
	unsigned reads = 0;
	if (traced_new(&engine, loop, &t))
		abort();
	traced_subscribe(t, count_maps, &reads);
	struct process_event e = {.kind = PROCESS_BORN, .pid = getpid(), .by_bpf = true};
	struct process_event exec = {
		.kind = PROCESS_EXECED, .pid = getpid(), .ts = now_ns(), .by_bpf = true};
	exec.runtime.language = &language_ocaml.traits;
	if (traced_report(t, &e) || traced_report(t, &exec) || traced_scan(t))
		abort();
	is(traced_find(t, getpid())->reads.rests_ns, 0,
	   "a program that has a runtime is read as any other");
	exec.keeps_ring = true;
	unsigned before = reads;
	ok(!traced_report(t, &exec) && !traced_scan(t) && reads == before + 1,
	   "where its ring stays it is read once, at its exec,");
	ok(rests(t, &reads, before + 1), "and rests");
	exec.runtime.language = NULL;
	before = reads;
	ok(!traced_report(t, &exec) && !traced_scan(t) && reads == before + 1 &&
		   !traced_find(t, getpid())->reads.rests_ns,
	   "as long as it runs that program");
	traced_free(t);
}

static void test_names(void)
{
	const struct process_start start = {.boot_ns = 1000000000, .known = true};
	struct traced *t;
	struct process_event e = {.kind = PROCESS_BORN,
				  .pid = getpid(),
				  .parent = getppid(),
				  .by_bpf = true,
				  .comm = "parent"};
	struct process_event exec = {
		.kind = PROCESS_EXECED, .pid = getpid(), .ts = now_ns(), .comm = "next"};
	uint32_t begun;
	if (processes_begin(&engine.session->processes, (uint32_t)getpid(), &start, &begun) ||
	    traced_new(&engine, loop, &t) || traced_report(t, &e))
		abort();
	struct traced_process *p = traced_find(t, getpid());
	is(p->process, begun, "a child that is reported with its name is the one that was begun");
	is_str(p->usage.forked_as, "parent", "it has its parent's name");
	is(processes_at(&engine.session->processes, begun)->parent_pid, getppid(),
	   "and is known to be its child");
	is_str(p->usage.comm, "", "and none of its own");
	ok(!traced_report(t, &exec), "it calls exec");
	is_str(p->usage.comm, "next", "then it has the name that is reported");
	is_str(p->usage.forked_as, "", "in place of its parent's");
	exec.comm = NULL;
	ok(!traced_report(t, &exec), "an exec is reported without a name");
	is_str(p->usage.comm, "test_traced", "then it is read");
	traced_free(t);
}

static void test_subscribers(void)
{
	struct traced *t;
	if (traced_new(&engine, loop, &t))
		abort();
	traced_subscribe(t, refuse_maps, NULL);
	traced_subscribe(t, count_second, NULL);
	const struct process_event born = {.kind = PROCESS_BORN, .pid = getpid(), .named = true};
	ok(!traced_report(t, &born) && !traced_report(t, &born) && first == 1,
	   "a birth that is known is not published again");
	is(traced_scan(t), -ENOSPC, "what a subscriber returns ends the scan");
	is(second, 0, "and those behind it do not get the event");
	const struct process_event of_none = {.kind = PROCESS_EXECED, .pid = 1};
	unsigned before = first;
	ok(!traced_report(t, &of_none) && first == before + 1,
	   "an exec of a process that is not traced is published, too");
	traced_free(t);
}

static int note_birth(void *ctx, const struct process_event *e)
{
	pid_t *last = ctx;
	*last = e->kind == PROCESS_BORN ? e->pid : *last;
	return 0;
}

static void *wait_in_thread(void *ctx)
{
	pause();
	return ctx;
}

/* A process that starts a thread for each byte, and waits until its end is closed. */
static pid_t fork_waiting(int end[2])
{
	pthread_t thread;
	char byte;
	if (pipe(end))
		abort();
	pid_t pid = fork();
	if (pid)
		return pid;
	close(end[1]);
	while (read(end[0], &byte, 1) == 1)
		if (pthread_create(&thread, NULL, wait_in_thread, NULL))
			_exit(1);
	_exit(0);
}

static bool start_thread(pid_t pid, int end[2])
{
	struct process_stat stat = {0};
	if (write(end[1], "", 1) != 1)
		return false;
	for (int i = 0; i < 10000 && (process_read_stat(pid, &stat) || stat.threads < 2); i++)
		usleep(1000);
	return stat.threads == 2;
}

static void wait_for(pid_t pid, int end[2])
{
	close(end[1]);
	close(end[0]);
	waitpid(pid, NULL, 0);
}

/* Where scans are frugal; lists of children come later, and where others were born. */
static void test_numbers(void)
{
	struct traced *t;
	pid_t last = 0;
	int end[2];
	if (traced_new(&engine, loop, &t))
		abort();
	traced_subscribe(t, note_birth, &last);
	const struct process_event born = {.kind = PROCESS_BORN, .pid = getpid(), .named = true};
	int err = traced_report(t, &born);
	for (int i = 0; i < 4; i++)
		err = err ? err : traced_scan(t);
	pid_t pid = fork_waiting(end);
	ok(!err && !traced_scan_births(t) && last == pid && traced_find(t, pid),
	   "a child is found by its number before the next scan");
	ok(start_thread(pid, end) && !traced_scan(t) && !traced_scan(t) && last == pid &&
		   traced_running(t) == 2,
	   "the number of a thread of its is no process");
	wait_for(pid, end);
	traced_find(t, pid)->has_ended = true; /* as the loop reports it */
	ok(!traced_scan(t) && traced_running(t) == 1, "it ends");
	traced_free(t);
}

/* Others have its pipe open, too. */
static void kill_and_wait(pid_t pid, int end[2])
{
	if (pid > 1)
		kill(pid, SIGKILL);
	wait_for(pid, end);
}

/* This process and its children are many, and scans are not frugal. */
static void test_many(void)
{
	enum { MANY = 40 };
	struct traced *t;
	pid_t last = 0, many[MANY];
	int end[MANY + 1][2], err = 0;
	options.frugal = false;
	if (traced_new(&engine, loop, &t))
		abort();
	traced_subscribe(t, note_birth, &last);
	for (unsigned i = 0; i < MANY; i++)
		many[i] = fork_waiting(end[i]);
	const struct process_event born = {.kind = PROCESS_BORN, .pid = getpid(), .named = true};
	err = traced_report(t, &born);
	for (int i = 0; i < 4; i++)
		err = err ? err : traced_scan(t);
	ok(!err && traced_running(t) == MANY + 1, "children of one are found by its list");
	last = 0;
	pid_t pid = fork_waiting(end[MANY]);
	ok(!traced_scan_births(t) && last == pid && traced_find(t, pid),
	   "of many processes a child is found between scans");
	ok(!traced_find(t, pid)->reads.last_ns && !traced_scan(t) &&
		   traced_find(t, pid)->reads.last_ns,
	   "the next scan reads it");
	for (unsigned i = 0; i < MANY; i += 2)
		kill_and_wait(many[i], end[i]);
	ok(!traced_scan(t) && traced_running(t) == MANY / 2 + 2,
	   "a scan finds all that have ended");
	for (unsigned i = 1; i < MANY; i += 2)
		kill_and_wait(many[i], end[i]);
	kill_and_wait(pid, end[MANY]);
	traced_free(t);
	options.frugal = true;
}

/* Of this process, which has other children, one is traced. */
static void test_numbers_of_others(void)
{
	struct traced *t;
	pid_t last = 0;
	int end[2], other_end[2];
	if (traced_new(&engine, loop, &t))
		abort();
	traced_subscribe(t, note_birth, &last);
	pid_t pid = fork_waiting(end);
	const struct process_event born = {.kind = PROCESS_BORN, .pid = pid, .named = true};
	int err = traced_report(t, &born);
	for (int i = 0; i < 4; i++)
		err = err ? err : traced_scan(t);
	pid_t other = fork_waiting(other_end);
	ok(!err && !traced_scan(t) && !traced_scan(t) && last == pid && !traced_find(t, other),
	   "a process whose parent is not traced is not found");
	wait_for(other, other_end);
	wait_for(pid, end);
	traced_free(t);
}

int main(void)
{
	char dir[] = "/dev/shm/ebtrace-test.XXXXXX";
	struct inspect *inspect = inspect_new();
	for (unsigned i = 0; i < CHILDREN; i++)
		child[i].end = -1;
	if (!mkdtemp(dir) || setenv("EBTRACE_DIR", dir, 1) || session_new(&engine.session) ||
	    loop_new(&loop) || ring_source_new(engine.session, 0, &rings) ||
	    traced_new(&engine, loop, &traced) ||
	    ring_files_new(&engine, traced, rings, inspect, false, &files))
		return 1;
	traced_subscribe(traced, note, NULL);
	test_any_order();
	test_subscribers();
	test_mapped();
	test_covered();
	test_runtime();
	test_names();
	options.frugal = true;
	test_numbers();
	test_numbers_of_others();
	test_many();
	source_free(ring_source_base(rings));
	ring_files_free(files);
	traced_free(traced);
	inspect_free(inspect);
	loop_free(loop);
	session_free(engine.session);
	char remove[64];
	snprintf(remove, sizeof(remove), "rm -rf %s", dir);
	return system(remove) || tap_done();
}
