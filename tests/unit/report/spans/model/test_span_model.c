/* SPDX-License-Identifier: BSD-2-Clause */
/* What spans were made of, from begins, ends, pauses and intervals without a CPU, and which spans
 * are in no sum. Times are in microseconds. */
#include "report/spans/model/spans.h"

#include "report/parts/ids.h"
#include "session/marker_values.h"
#include "session/offcpu.h"
#include "session/phases.h"
#include "tests/random.h"
#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"
#include "tests/unit/said.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define US   1000u
#define TIDS 100 /* the thread of domain n is TIDS + n */

enum { A = 1, B, C, FIBER, ENTER, EXIT, SUSPEND };

static struct session *session;
static struct span_model *model;

static void begin_with(const char *const *globs, unsigned count)
{
	const struct span_model_options o = {.globs = globs, .glob_count = count, .slowest = 3};
	if (session_new(&session) || enter_processes(session, 2) ||
	    span_model_new(session, &o, &model))
		abort();
	for (uint32_t process = 1; process <= 2; process++)
		if (processes_set_user_name(&session->processes, process, A, "a") ||
		    processes_set_user_name(&session->processes, process, B, "b") ||
		    processes_set_user_name(&session->processes, process, marker_id(7, 1), "m"))
			abort();
}

static void begin(void)
{
	begin_with(NULL, 0);
}

static void push_of(uint16_t kind, uint32_t id, uint16_t domain, uint32_t tid, uint64_t us)
{
	struct ebt_event ev = {.ts = us * US,
			       .pos = EBT_NO_POS,
			       .kind = kind,
			       .id = id,
			       .process = 1,
			       .domain = domain,
			       .tid = tid,
			       .cpu = EBT_NO_CPU};
	if (span_model_events(model, &ev, 1))
		abort();
}

static void push(uint16_t kind, uint32_t id, uint64_t us)
{
	push_of(kind, id, 0, TIDS, us);
}

static void off_at(uint32_t tid, uint64_t from, uint64_t until, uint64_t wait,
		   enum ebt_offcpu_reason reason, long call, uint32_t stack)
{
	struct offcpu o = {.begin_ns = from * US,
			   .end_ns = until * US,
			   .wait_ns = wait * US,
			   .reason = reason,
			   .syscall = (int32_t)call - 1,
			   .waker = 71,
			   .runner = 72,
			   .waker_comm = "waker",
			   .runner_comm = "runner"};
	struct ebt_event ev = {.ts = o.end_ns,
			       .kind = EBT_OFFCPU,
			       .process = 1,
			       .domain = EBT_NO_DOMAIN,
			       .tid = tid,
			       .stack = stack,
			       .cpu = EBT_NO_CPU};
	stacks_hold(session->stacks, stack);
	if (offcpu_put(session, &ev, &o) || span_model_events(model, &ev, 1))
		abort();
	session_drop_event(session, &ev);
}

static void off_of(uint32_t tid, uint64_t from, uint64_t until, uint64_t wait,
		   enum ebt_offcpu_reason reason, long call)
{
	off_at(tid, from, until, wait, reason, call, 0);
}

/* The first interval, from which on threads are known. */
static void known(void)
{
	off_of(99, 1, 2, 1, EBT_OFFCPU_PREEMPTED, 0);
}

static void lose(uint64_t since, uint64_t us, uint16_t domain, uint16_t flags)
{
	struct ebt_event ev = {.ts = us * US,
			       .pos = since * US,
			       .kind = EBT_LOST,
			       .process = 1,
			       .domain = domain,
			       .flags = flags,
			       .cpu = EBT_NO_CPU};
	if (span_model_events(model, &ev, 1))
		abort();
}

static bool balanced;

static void show_name(const struct span_result *r, struct span_name *n)
{
	static const char *const cuts[] = {
#define X(CONSTANT, key) #key,
		SPAN_CUTS_LIST(X)
#undef X
	};
	struct span_slow slow;
	if (span_name_slow(n, &slow))
		abort();
	balanced &= span_parts_total(&n->parts) == n->total_ns &&
		    span_parts_total(&slow.parts) == slow.ns;
	span_parts_done(&slow.parts);
	span_parts_sort(&n->parts);
	say("%s %" PRIu64 ":", strings_text(r->sums->texts, n->text), n->lengths.count);
	for (uint32_t i = 0; i < n->parts.count; i++)
		say(" %s %" PRIu64, span_part_key(n->parts.at[i].kind), n->parts.at[i].ns / US);
	for (unsigned i = 0; i < SPAN_CUTS; i++)
		if (n->cut[i])
			say(" %s=%" PRIu64, cuts[i], n->cut[i]);
	say("\n");
}

/* "NAME COUNT: PART US ... CUT=COUNT ..." of each name. */
static const char *end(uint64_t us)
{
	struct span_result r;
	*said = 0;
	balanced = true;
	if (span_model_end(model, us * US) || span_model_result(model, &r))
		abort();
	for (uint32_t i = 0; i < r.names; i++)
		show_name(&r, r.name[i]);
	for (uint32_t i = 0; i < r.slow_count; i++) {
		const struct span *s = &r.slowest[i];
		uint64_t ns = 0;
		for (uint32_t k = 0; k < s->segments.count; k++)
			ns += s->segments.at[k].end_ns - s->segments.at[k].begin_ns;
		balanced &= span_parts_total(&s->parts) == s->ns;
		balanced &= s->segments.more || ns == s->ns;
	}
	span_result_done(&r);
	span_model_free(model);
	session_free(session);
	return said;
}

static void test_parts(void)
{
	begin();
	known();
	push(EBT_SPAN_BEGIN, A, 10);
	off_of(TIDS, 20, 50, 10, EBT_OFFCPU_SLEEP, SYS_futex + 1);
	off_of(TIDS, 60, 65, 5, EBT_OFFCPU_PREEMPTED, 0);
	off_of(TIDS, 70, 77, 0, EBT_OFFCPU_FAULT, 0);
	push(EBT_BEGIN, PHASE_major, 80);
	push(EBT_BEGIN, PHASE_minor, 82);
	off_of(TIDS, 83, 88, 0, EBT_OFFCPU_SLEEP, SYS_futex + 1);
	push(EBT_END, PHASE_minor, 89);
	push(EBT_END, PHASE_major, 90);
	push(EBT_SPAN_END, A, 110);
	is_str(end(200), "a 1: running 48 collected 10 run_queue 15 blocked 20 page_fault 7\n",
	       "a span is what its thread did, and pauses are collected, whatever it did in them");
	ok(balanced, "its parts add up");
	begin();
	push(EBT_SPAN_BEGIN, A, 10);
	push(EBT_BEGIN, PHASE_major, 20);
	push(EBT_END, PHASE_major, 25);
	push(EBT_SPAN_END, A, 30);
	is_str(end(200), "a 1: collected 5 unknown 15\n",
	       "without intervals all that a thread did is not known, its pauses are");
	begin();
	push(EBT_SPAN_BEGIN, A, 10);
	off_of(99, 15, 16, 1, EBT_OFFCPU_PREEMPTED, 0);
	push(EBT_SPAN_END, A, 30);
	is_str(end(200), "a 1: running 15 unknown 5\n", "nor is what it did before the first one");
	begin();
	known();
	push_of(EBT_SPAN_BEGIN, A, 3, 0, 10);
	off_of(TIDS, 12, 20, 0, EBT_OFFCPU_SLEEP, SYS_futex + 1);
	push_of(EBT_SPAN_END, A, 3, 0, 30);
	is_str(end(200), "a 1: unknown 20\n", "nor what a thread did that no event names");
	begin();
	known();
	push(EBT_SPAN_BEGIN, A, 10);
	lose(20, 40, EBT_NO_DOMAIN, EBT_F_BPF);
	push_of(EBT_SPAN_BEGIN, B, 1, TIDS + 1, 41);
	push_of(EBT_SPAN_END, B, 1, TIDS + 1, 42);
	push(EBT_SPAN_END, A, 50);
	is_str(end(200), "b 1: running 1\na 0: cut_by_loss=2\n",
	       "a loss cuts a span, and its end is one without a begin");
}

static void test_threads(void)
{
	begin();
	known();
	push_of(EBT_SPAN_BEGIN, A, EBT_NO_DOMAIN, 5, 10);
	push(EBT_BEGIN, PHASE_major, 12);
	push(EBT_END, PHASE_major, 18);
	push_of(EBT_SPAN_END, A, EBT_NO_DOMAIN, 5, 20);
	is_str(end(200), "a 1: running 10\n", "a pause of another thread is none of this one's");
	begin();
	known();
	push_of(EBT_SPAN_BEGIN, A, EBT_NO_DOMAIN, TIDS, 10);
	push(EBT_BEGIN, PHASE_major, 12);
	push(EBT_END, PHASE_major, 18);
	push_of(EBT_SPAN_END, A, EBT_NO_DOMAIN, TIDS, 20);
	is_str(end(200), "a 1: running 4 collected 6\n",
	       "a span of a thread has the pauses of the domain that it runs");
	begin();
	known();
	push_of(EBT_SPAN_BEGIN, marker_id(7, 1), EBT_NO_DOMAIN, 5, 10);
	off_of(5, 11, 12, 0, EBT_OFFCPU_SLEEP, SYS_futex + 1);
	push_of(EBT_SPAN_END, marker_id(7, 1), EBT_NO_DOMAIN, 6, 20);
	is_str(end(200), "m 1: across_threads 10\n", "what is between two threads is of neither");
	begin();
	known();
	push(EBT_BEGIN, PHASE_major, 10);
	push(EBT_SPAN_BEGIN, A, 12);
	push(EBT_SPAN_END, A, 15);
	push(EBT_END, PHASE_major, 20);
	is_str(end(200), "a 1: collected 3\n", "a span in a pause is collected");
}

static void test_ends(void)
{
	begin();
	push(EBT_SPAN_BEGIN, A, 10);
	push(EBT_SPAN_BEGIN, A, 20);
	push(EBT_SPAN_END, A, 30);
	is_str(end(200), "a 1: unknown 10 not_ended=1\n",
	       "one inside of which another of its name has ended, and that does not end, is not "
	       "ended");
	begin();
	push(EBT_SPAN_BEGIN, A, 10);
	push(EBT_SPAN_BEGIN, A, 20);
	push(EBT_SPAN_END, A, 30);
	push(EBT_SPAN_END, A, 40);
	push(EBT_SPAN_BEGIN, A, 50);
	push(EBT_SPAN_BEGIN, A, 60);
	push(EBT_SPAN_END, A, 70);
	is_str(end(200), "a 3: unknown 50 open_at_end=1\n",
	       "but open at the end where spans of that name do lie in each other");
	begin();
	push(EBT_SPAN_BEGIN, A, 10);
	push(EBT_SPAN_END, B, 20);
	is_str(end(200), "a 0: open_at_end=1\nb 0: open_at_begin=1\n",
	       "a begin alone is open at the end, an end alone at the begin");
	begin();
	for (uint64_t i = 0; i < 1000; i++) {
		push(EBT_SPAN_BEGIN, A, 10 * i + 1);
		if (i % 3)
			push(EBT_SPAN_END, A, 10 * i + 2);
	}
	is_str(end(20000), "a 666: unknown 666 not_ended=333 open_at_end=1\n",
	       "any number of spans without an end, and all others have their own lengths");
	begin();
	push(EBT_SPAN_BEGIN, A, 10);
	push(EBT_PROCESS, EBT_PROCESS_EXEC, 20);
	is_str(end(200), "a 0: not_ended=1\n", "an exec ends what is open");
	begin();
	session->run_begin = moment_at(15 * US);
	push(EBT_SPAN_BEGIN, A, 10);
	push(EBT_SPAN_END, A, 12);
	push(EBT_SPAN_BEGIN, A, 13);
	push(EBT_SPAN_END, A, 20);
	is_str(end(200), "a 0: open_at_begin=1\n", "of a run only what begins in it counts");
}

static void test_names(void)
{
	static const char *const major[] = {"maj*", "b"}, *const none[] = {"x"};
	begin_with(major, 2);
	known();
	push(EBT_BEGIN, PHASE_major, 10);
	off_of(TIDS, 12, 15, 0, EBT_OFFCPU_SLEEP, SYS_futex + 1);
	push(EBT_END, PHASE_major, 20);
	push(EBT_SPAN_BEGIN, B, 30);
	push(EBT_SPAN_END, B, 35);
	is_str(end(200), "major 1: running 7 blocked 3\nb 1: running 5\n",
	       "a pattern that matches no span selects phases, which are what their threads did");
	begin_with(major, 2);
	if (processes_set_user_name(&session->processes, 1, C, "major"))
		abort();
	push(EBT_BEGIN, PHASE_major, 10);
	push(EBT_END, PHASE_major, 20);
	push(EBT_SPAN_BEGIN, C, 30);
	push(EBT_SPAN_END, C, 35);
	is_str(end(200), "major 1: unknown 5\n", "one that matches a span selects none");
	begin_with(none, 1);
	push(EBT_SPAN_BEGIN, A, 30);
	push(EBT_SPAN_END, A, 35);
	is_str(end(200), "", "one that matches nothing selects nothing");
	begin();
	for (unsigned i = 0; i < 3000; i++) {
		char name[24];
		snprintf(name, sizeof(name), "name %u", i);
		if (processes_set_user_name(&session->processes, 1, 100 + i, name))
			abort();
		push(EBT_SPAN_BEGIN, 100 + i, 10 * i + 1);
		push(EBT_SPAN_END, 100 + i, 10 * i + 2);
	}
	struct span_result r;
	if (span_model_end(model, 0) || span_model_result(model, &r))
		abort();
	is(r.names, SPAN_NAMES_MAX + 1, "names beyond the limit are one");
	is(r.name[0]->lengths.count, 3000 - SPAN_NAMES_MAX, "with all of their spans");
	span_result_done(&r);
	end(0);
}

/* Anything at all, in order of time. */
static void test_random(void)
{
	uint64_t state = 4711, us = 10;
	begin();
	for (unsigned i = 0; i < 200000; i++) {
		static const uint32_t ids[] = {PHASE_major, PHASE_minor, PHASE_stw_leader};
		uint16_t domain = (uint16_t)(random_next(&state) % 3);
		uint32_t tid = TIDS + domain + (random_next(&state) % 16 ? 0 : 10);
		uint64_t what = random_next(&state) % 100, length = random_next(&state) % 9;
		us += random_next(&state) % 12;
		if (what < 35)
			off_of(tid, us - length, us, random_next(&state) % 9,
			       what < 10 ? EBT_OFFCPU_PREEMPTED : EBT_OFFCPU_SLEEP, SYS_futex + 1);
		else if (what < 65)
			push_of(what < 51 ? EBT_SPAN_BEGIN : EBT_SPAN_END, A + what % 2, domain,
				what % 7 ? tid : 0, us);
		else if (what < 99)
			push_of(what < 82 ? EBT_BEGIN : EBT_END, ids[what % 3], domain, tid, us);
		else
			lose(us - length, us, EBT_NO_DOMAIN, what % 2 ? EBT_F_BPF : 0);
	}
	end(us);
	ok(balanced, "whatever comes, parts add up");
	ok(strstr(said, "running") && strstr(said, "collected") && strstr(said, "across_threads"),
	   "there were all kinds of them");
}

/* Of a stack that has no other reference. */
static uint32_t stack_of(uint64_t address)
{
	struct frame f = {.address = address, .has_address = true};
	uint32_t frame = frames_put(session->frames, &f);
	uint32_t stack = stacks_push(session->stacks, 0, frame);
	frames_drop(session->frames, frame);
	return stack;
}

/* The addresses of the longest blocks of the slowest spans. */
static void show_blocks(void)
{
	struct span_result r;
	*said = 0;
	if (span_model_result(model, &r))
		abort();
	for (uint32_t i = 0; i < r.slow_count; i++) {
		uint32_t frame = stacks_frame(session->stacks, r.slowest[i].block_stack);
		say("%" PRIu64 " at %" PRIu64 "\n", r.slowest[i].block_ns / US,
		    frames_get(session->frames, frame)->address);
	}
	span_result_done(&r);
}

static void test_blocks(void)
{
	begin();
	known();
	for (uint64_t i = 1; i <= 3000; i++) {
		uint64_t us = 100000 * i;
		push(EBT_SPAN_BEGIN, A, us);
		push(EBT_SPAN_BEGIN, B, us + 1);
		off_at(TIDS, us + 2, us + 5, 0, EBT_OFFCPU_SLEEP, SYS_futex + 1, stack_of(4 * i));
		off_at(TIDS, us + 6, us + 17, 4, EBT_OFFCPU_SLEEP, SYS_futex + 1,
		       stack_of(4 * i + 1));
		off_at(TIDS, us + 20, us + 30, 10, EBT_OFFCPU_PREEMPTED, 0, stack_of(4 * i + 2));
		push(EBT_SPAN_END, B, us + 40);
		push(EBT_SPAN_END, A, us + 100 + i);
		off_at(TIDS, us + 20000, us + 30000, 0, EBT_OFFCPU_SLEEP, SYS_futex + 1,
		       stack_of(4 * i + 3));
		stacks_reclaim(session->stacks);
	}
	push(EBT_SPAN_BEGIN, A, 900000000);
	off_at(TIDS, 900000100, 900000200, 0, EBT_OFFCPU_SLEEP, SYS_futex + 1, stack_of(3));
	if (span_model_end(model, 900001000ull * US))
		abort();
	show_blocks();
	is_str(said, "7 at 12001\n7 at 11997\n7 at 11993\n",
	       "a slow span has the stack of its longest block, not of a wait for a CPU");
	if (span_model_forget(model, 1))
		abort();
	stacks_free_unheld(session->stacks);
	is(stacks_count(session->stacks), 3, "those of others are given back");
	span_model_free(model);
	session_free(session);
}

/* Of a thread that only an event in no track has named. */
static void test_forget(void)
{
	struct span_result r;
	begin();
	push_of(EBT_UNIT, C, 1, TIDS, 1);
	push_of(EBT_SPAN_BEGIN, A, 1, 0, 2);
	push_of(EBT_SPAN_END, A, 1, 0, 3);
	if (span_model_forget(model, 1))
		abort();
	push_of(EBT_SPAN_BEGIN, A, 1, 0, 4);
	push_of(EBT_SPAN_END, A, 1, 0, 6);
	if (span_model_result(model, &r))
		abort();
	ok(r.slow_count == 2 && r.slowest[0].tid == 0 && r.slowest[1].tid == TIDS,
	   "the threads of a process that is forgotten are those of no later one");
	span_result_done(&r);
	end(7);
}

static void test_many(void)
{
	begin();
	size_t before = mallinfo2().uordblks;
	for (unsigned i = 0; i < SPANS_OPEN + 10; i++) {
		uint32_t id = marker_id(7, 1 + i % 16000);
		push_of(EBT_SPAN_BEGIN, id + (i / 16000 << 8), EBT_NO_DOMAIN, 5, i + 1);
	}
	size_t bytes = mallinfo2().uordblks - before;
	ok(bytes < 64u << 20, "100,000 open spans take less than 64 MiB: %zu bytes", bytes);
	end(0);
	ok(strstr(said, "not_followed=") != NULL, "more are counted as not followed");
}

static void begin_fibers(void)
{
	static const char *const names[] = {"eio.fiber", "eio.enter_span", "eio.exit_span",
					    "eio.suspend_fiber"};
	begin();
	for (uint32_t i = 0; i < 4; i++)
		if (processes_set_user_name(&session->processes, 1, FIBER + i, names[i]))
			abort();
}

static void push_text(uint32_t id, const char *text, uint64_t us)
{
	struct ebt_event ev = {.ts = us * US,
			       .pos = EBT_NO_POS,
			       .kind = EBT_CUSTOM,
			       .id = id,
			       .process = 1,
			       .tid = TIDS,
			       .cpu = EBT_NO_CPU};
	if (session_put_blob(session, &ev, text, strlen(text)) || span_model_events(model, &ev, 1))
		abort();
	session_drop_event(session, &ev);
}

static void push_run(int64_t fiber, uint64_t us)
{
	struct ebt_event ev = {.ts = us * US,
			       .pos = EBT_NO_POS,
			       .kind = EBT_INT,
			       .id = FIBER,
			       .process = 1,
			       .tid = TIDS,
			       .cpu = EBT_NO_CPU,
			       .sarg = {fiber}};
	if (span_model_events(model, &ev, 1))
		abort();
}

/* A fiber is suspended, and another one runs for 1 us. */
static void suspend(const char *operation, uint64_t us, uint64_t until)
{
	push_text(SUSPEND, operation, us);
	push_run(2, until - 1);
	push_text(SUSPEND, "other", until);
	push_run(1, until);
}

static void test_fibers(void)
{
	begin_fibers();
	push_run(1, 10);
	push_text(ENTER, "outer", 20);
	suspend("read", 22, 25);
	push_text(ENTER, "middle", 30);
	push_text(ENTER, "inner", 40);
	suspend("read", 50, 55);
	push(EBT_UNIT, EXIT, 60);
	suspend("write", 61, 64);
	push(EBT_UNIT, EXIT, 70);
	push(EBT_UNIT, EXIT, 90);
	is_str(end(200),
	       "outer 1: suspended 8 suspended 3 unknown 59\n"
	       "middle 1: suspended 5 suspended 3 unknown 32\n"
	       "inner 1: suspended 5 unknown 15\n",
	       "each span of a fiber has all of its time, that of spans in it included");
	ok(balanced, "the parts of each add up");
	begin_fibers();
	push_run(1, 10);
	push_text(ENTER, "outer", 20);
	push_text(ENTER, "cut", 30);
	suspend("read", 40, 45);
	lose(50, 55, 0, EBT_F_RING);
	is_str(end(200), "cut 0: cut_by_loss=1\nouter 0: cut_by_loss=1\n",
	       "a loss cuts all spans of a fiber");
}

/* A span with more segments than are kept, and in spans in it pieces that are one segment. */
static void test_fiber_segments(void)
{
	struct span_result r;
	begin_fibers();
	push_run(1, 10);
	push_text(ENTER, "outer", 20);
	for (uint64_t us = 100; us < 5100; us += 100) {
		push_text(ENTER, "middle", us);
		push_text(ENTER, "inner", us + 10);
		push(EBT_UNIT, EXIT, us + 20);
		suspend("read", us + 30, us + 40);
		push(EBT_UNIT, EXIT, us + 50);
	}
	push(EBT_UNIT, EXIT, 6000);
	if (span_model_end(model, 7000 * US) || span_model_result(model, &r))
		abort();
	const struct span_segments *s = &r.slowest[0].segments;
	is(s->count, SPAN_SEGMENTS, "the first segments of a span are kept");
	is(s->more, 110, "the pieces behind them are counted, also those of spans in it");
	span_result_done(&r);
	end(7000);
}

static void test_fiber_blocks(void)
{
	begin_fibers();
	uint32_t pid = processes_pid(&session->processes, 1);
	known();
	push_run(1, 10);
	push_text(ENTER, "outer", 20);
	off_at(pid, 22, 25, 0, EBT_OFFCPU_SLEEP, SYS_futex + 1, stack_of(1));
	push_text(ENTER, "inner", 30);
	off_at(pid, 32, 39, 0, EBT_OFFCPU_SLEEP, SYS_futex + 1, stack_of(2));
	push(EBT_UNIT, EXIT, 40);
	off_at(pid, 42, 48, 0, EBT_OFFCPU_SLEEP, SYS_futex + 1, stack_of(3));
	push(EBT_UNIT, EXIT, 50);
	if (span_model_end(model, 100 * US))
		abort();
	show_blocks();
	is_str(said, "7 at 2\n7 at 2\n", "the longest block of a span may be one of a span in it");
	if (span_model_forget(model, 1))
		abort();
	stacks_free_unheld(session->stacks);
	is(stacks_count(session->stacks), 1, "its stack is held, and no other");
	span_model_free(model);
	session_free(session);
}

int main(void)
{
	test_parts();
	test_threads();
	test_ends();
	test_names();
	test_random();
	test_blocks();
	test_forget();
	test_many();
	test_fibers();
	test_fiber_segments();
	test_fiber_blocks();
	return tap_done();
}
