// SPDX-License-Identifier: BSD-2-Clause
/* Samples and blocks in the places and sections where a straightforward count puts them. */
#include "report/profile/model/sections.h"
#include "session/marker_values.h"
#include "session/offcpu.h"
#include "tests/random.h"
#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define MINOR 11
#define ROOTS 12
#define WAIT  42 /* in it the mutator may run */

static struct session *session;
static struct profile_model model;

/* The stack of functions that words name, from the outermost on. */
static uint32_t stack_of(const char *words)
{
	char copy[64], *rest = copy;
	uint32_t stack = 0;
	snprintf(copy, sizeof(copy), "%s", words);
	for (char *word; (word = strsep(&rest, " "));) {
		struct frame_position p = {
			.function = strings_put(session->strings, word, strlen(word))};
		uint32_t frame =
			frames_put(session->frames, &(struct frame){.count = 1, .position = &p});
		stack = stacks_push(session->stacks, stack, frame);
	}
	return stack;
}

static void feed(struct ebt_event ev)
{
	static uint64_t ts = 1000;
	ev.ts = ts++;
	if (profile_model_events(&model, &ev, 1))
		abort();
}

static void phase(uint32_t process, uint16_t domain, uint16_t kind, uint32_t id)
{
	feed((struct ebt_event){
		.process = process, .domain = domain, .kind = kind, .id = id, .tid = 70 + domain});
}

static void sample(uint32_t process, uint16_t domain, uint32_t tid, const char *stack)
{
	feed((struct ebt_event){.process = process,
				.domain = domain,
				.tid = tid,
				.kind = EBT_SAMPLE,
				.pos = 10,
				.stack = *stack ? stack_of(stack) : 0});
}

static void begin(enum profile_by by)
{
	if (profile_model_init(&model, session, by))
		abort();
}

/* The sections: name, samples, those of the collector. */
static void has(const char *expected, const char *name)
{
	char got[512] = "";
	struct profile_sections s;
	profile_model_end(&model);
	if (profile_sections_make(&s, &model))
		abort();
	for (uint32_t i = 0; i < s.count; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s %llu %llu; ",
			 s.section[i].name, (unsigned long long)s.section[i].samples,
			 (unsigned long long)s.section[i].collector);
	is_str(got, expected, name);
	profile_sections_done(&s);
	profile_model_done(&model);
}

static void test_places(void)
{
	begin(PROFILE_BY_PHASE);
	sample(1, 0, 70, "main");
	phase(1, 0, EBT_BEGIN, MINOR);
	sample(1, 0, 70, "main");
	phase(1, 0, EBT_BEGIN, ROOTS);
	sample(1, 0, 70, "main");
	sample(1, 0, 99, "helper");
	phase(1, 0, EBT_END, ROOTS);
	phase(1, 0, EBT_END, MINOR);
	sample(1, 0, 70, "main");
	has("minor_local_roots 2 2; mutator 2 0; minor 1 1; ",
	    "the innermost phase; before its first event a domain was in its mutator");

	begin(PROFILE_BY_PHASE);
	phase(1, 0, EBT_BEGIN, WAIT);
	sample(1, 0, 70, "main");
	phase(1, 0, EBT_BEGIN, MINOR);
	sample(1, 0, 70, "main");
	has("minor 1 1; mutator 1 0; ",
	    "a phase in which the mutator runs is none of the collector");

	begin(PROFILE_BY_PHASE);
	phase(1, 0, EBT_BEGIN, MINOR);
	phase(1, 0, EBT_BEGIN, ROOTS);
	phase(1, 0, EBT_END, MINOR);
	sample(1, 0, 70, "main");
	phase(1, 0, EBT_END, MINOR);
	sample(1, 0, 70, "main");
	has("mutator 2 0; ", "the end of an outer phase ends those inside");

	begin(PROFILE_BY_PHASE);
	phase(1, 0, EBT_BEGIN, MINOR);
	feed((struct ebt_event){.process = 1, .domain = 0, .kind = EBT_LOST});
	sample(1, 0, 70, "main");
	phase(1, 0, EBT_END, MINOR);
	sample(1, 0, 70, "main");
	has("mutator 2 0; ", "after a loss no phase is open");

	begin(PROFILE_BY_PHASE);
	phase(1, 3, EBT_BEGIN, MINOR);
	sample(1, EBT_NO_DOMAIN, 73, "main");
	sample(1, EBT_NO_DOMAIN, 74, "main");
	sample(2, 0, 70, "main");
	has("minor 1 1; no domain 1 0; phase not known 1 0; ",
	    "a thread has the domain of its events; without events of a process no phase is known");
}

static void test_outside(void)
{
	for (enum profile_by by = PROFILE_BY_DEFAULT; by <= PROFILE_BY_PHASE; by++) {
		begin(by);
		phase(2, EBT_NO_DOMAIN, EBT_BEGIN, MINOR);
		sample(2, EBT_NO_DOMAIN, 70, "main");
		sample(1, EBT_NO_DOMAIN, 71, "main");
		sample(1, EBT_NO_DOMAIN, 71, "main");
		sample(1, 0, 70, "main");
		has("no domain 2 0; phase not known 1 0; threads 1 0; ",
		    "a process without a domain has threads, whatever its events; one with some, "
		    "threads without one");
	}

	begin(PROFILE_BY_PHASE);
	feed((struct ebt_event){.process = 1,
				.domain = EBT_NO_DOMAIN,
				.kind = EBT_SPAN_BEGIN,
				.id = marker_id_at(marker_id(0, 0), 1),
				.tid = 70});
	sample(1, 0, 70, "main");
	has("phase not known 1 0; ", "markers of a program show no phases of its runtime");
}

static void test_sections(void)
{
	begin(PROFILE_BY_DEFAULT);
	phase(1, 0, EBT_BEGIN, MINOR);
	sample(1, 0, 70, "main gc");
	phase(1, 0, EBT_END, MINOR);
	sample(1, 0, 70, "main");
	sample(1, 0, 70, "");
	has("mutator 2 0; collector 1 1; ", "mutator and collector are apart");

	begin(PROFILE_BY_THREAD);
	snprintf(processes_at(&session->processes, 1)->comm, 32, "one");
	sample(1, EBT_NO_DOMAIN, 70, "main");
	sample(1, EBT_NO_DOMAIN, 71, "main");
	sample(2, EBT_NO_DOMAIN, 71, "main");
	sample(1, EBT_NO_DOMAIN, 71, "main");
	has("thread 71 of one (1) 2 0; thread 70 of one (1) 1 0; thread 71 of program without a "
	    "name "
	    "(2) 1 0; ",
	    "threads of one number are those of their processes");

	begin(PROFILE_BY_PROGRAM);
	sample(1, EBT_NO_DOMAIN, 70, "main");
	if (profile_model_forget(&model, 1))
		abort();
	snprintf(processes_at(&session->processes, 1)->comm, 32, "other");
	sample(1, EBT_NO_DOMAIN, 70, "main");
	sample(1, EBT_NO_DOMAIN, 70, "main");
	has("other 2 0; one 1 0; ", "a process that has ended keeps its name");
}

/* Self and total of each function, with recursion once. */
static void test_functions(void)
{
	struct profile_sections s;
	struct profile_function *f;
	uint32_t count;
	char got[256] = "";
	begin(PROFILE_BY_DEFAULT);
	sample(1, 0, 70, "main a");
	sample(1, 0, 70, "main a b a");
	sample(1, 0, 70, "main b");
	sample(1, 0, 70, "[cut] b b");
	if (profile_sections_make(&s, &model) || profile_functions(&s, s.section, &f, &count))
		abort();
	for (uint32_t i = 0; i < count; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s %llu %llu; ", f[i].name,
			 (unsigned long long)f[i].self, (unsigned long long)f[i].total);
	is_str(got, "b 2 3; a 2 2; main 0 3; ",
	       "functions have their own samples and those of what they call; marks are none");
	free(f);
	profile_sections_done(&s);
	profile_model_done(&model);
}

/* The counts of random samples are those of a sum. */
static void test_sums(void)
{
	static const char *const stacks[] = {"main", "main a", "main b", "main a c", ""};
	uint64_t state = 1234567, n = 0, by_thread[4] = {0};
	bool equal = true;
	begin(PROFILE_BY_THREAD);
	for (; n < 5000; n++) {
		uint64_t r = random_next(&state) >> 32;
		by_thread[r & 3]++;
		sample(2, EBT_NO_DOMAIN, 50 + (uint32_t)(r & 3), stacks[r / 4 % 5]);
	}
	struct profile_sections s;
	if (profile_sections_make(&s, &model))
		abort();
	uint64_t sum = 0, whole = 0;
	for (uint32_t i = 0; i < s.count; i++) {
		unsigned tid = (unsigned)strtoul(s.section[i].name + strlen("thread "), NULL, 10);
		equal &= s.section[i].samples == by_thread[tid - 50];
		whole += s.tree.node[s.section[i].root].total;
		sum += s.section[i].samples;
	}
	ok(equal && sum == n && whole == n && model.samples == n && model.time_ns == 10 * n,
	   "sections, trees and totals add up to all samples");
	ok(model.rows <= 20, "memory is that of the different stacks");
	profile_sections_done(&s);
	profile_model_done(&model);
}

/* Where a sample of the process's thread is found; its domain, or EBT_NO_DOMAIN. */
static uint16_t domain_of(const struct places *p, uint32_t process, uint32_t tid)
{
	unsigned place;
	struct ebt_event ev = {
		.process = process, .domain = EBT_NO_DOMAIN, .tid = tid, .kind = EBT_SAMPLE};
	return places_find(p, &ev, &place);
}

/* A process with many threads has ended: its index and their numbers may be those of others. */
static void test_forget(void)
{
	enum { THREADS = 3000 };
	struct places p = {0};
	unsigned left = 0, gone = 0;
	for (uint32_t tid = 1; tid <= THREADS; tid++)
		for (uint32_t process = 1; process <= 2; process++) {
			struct ebt_event ev = {.process = process,
					       .domain = (uint16_t)(tid % 50),
					       .kind = EBT_BEGIN,
					       .id = MINOR,
					       .tid = tid};
			if (places_event(&p, &ev))
				abort();
		}
	places_forget(&p, 1);
	for (uint32_t tid = 1; tid <= THREADS; tid++) {
		left += domain_of(&p, 1, tid) != EBT_NO_DOMAIN;
		gone += domain_of(&p, 2, tid) != tid % 50;
	}
	is(left, 0, "no thread of a process that has ended is in a domain");
	is(gone, 0, "those of others stay in theirs");
	is(p.domains, 50, "and so do the domains of others");
	places_forget(&p, 2);
	ok(!p.domains && !p.by_number.count && !p.threads.count, "nothing is left of both");
	places_done(&p);
}

/* A block of a thread that ends now, which waits for a CPU for its last wait_ns. */
static void block(struct offcpu o, uint64_t ns, const char *stack)
{
	static uint64_t ts = 1000000;
	struct ebt_event ev = {.process = 1, .tid = 70, .domain = 0, .kind = EBT_OFFCPU};
	ev.ts = o.end_ns = ts += 1000;
	o.begin_ns = o.end_ns - ns;
	ev.stack = *stack ? stack_of(stack) : 0;
	if (offcpu_put(session, &ev, &o) || profile_model_events(&model, &ev, 1))
		abort();
	ev.stack = 0;
	session_drop_event(session, &ev);
}

static const struct offcpu slept = {
	.reason = EBT_OFFCPU_SLEEP, .syscall = SYS_clock_nanosleep, .interrupt = true};
static const struct offcpu locked = {.reason = EBT_OFFCPU_SLEEP,
				     .syscall = SYS_futex,
				     .wait_ns = 5,
				     .waker = 71,
				     .waker_comm = "holder",
				     .runner = 72,
				     .runner_comm = "hog",
				     .ends = EBT_SAMPLE_CUT};
static const struct offcpu preempted = {.reason = EBT_OFFCPU_PREEMPTED,
					.syscall = OFFCPU_NO_SYSCALL,
					.runner = 72,
					.runner_comm = "hog"};

static void feed_blocks(void)
{
	block(slept, 100, "main nap");
	block(locked, 60, "main lock");
	block(preempted, 30, "main");
	block(slept, 10, "main nap");
	sample(1, 0, 70, "main");
}

static void begin_time(enum profile_time time, enum profile_by by, uint64_t min_ns)
{
	begin(by);
	model.time = time;
	model.min_ns = min_ns;
	feed_blocks();
}

static void test_blocks(void)
{
	begin_time(PROFILE_OFF_CPU, PROFILE_BY_DEFAULT, 0);
	has("blocked: sleep 110 0; blocked: futex 55 0; waiting for a CPU 35 0; ",
	    "a block is what its thread is blocked in, and the wait for a CPU at its end");
	begin_time(PROFILE_OFF_CPU, PROFILE_BY_DEFAULT, 30);
	has("blocked: sleep 100 0; blocked: futex 55 0; waiting for a CPU 35 0; ",
	    "shorter ones are left out, as a whole");
	begin_time(PROFILE_WALL, PROFILE_BY_PHASE, 0);
	has("phase not known 210 0; ", "a sample stands for its period");
	begin_time(PROFILE_ON_CPU, PROFILE_BY_PHASE, 0);
	ok(model.unasked == 4 && model.weight == 1 && !model.waits.blocks,
	   "in a profile of samples no block counts");
	profile_model_done(&model);
	begin(PROFILE_BY_PHASE);
	model.time = PROFILE_OFF_CPU;
	phase(1, 0, EBT_BEGIN, MINOR);
	block(slept, 100, "main finaliser");
	phase(1, 0, EBT_END, MINOR);
	has("minor 100 100; ", "a block is in the phase in which it ends");
}

/* The reasons: part, what ended them, number, time. */
static void has_waits(const char *expected, const char *name)
{
	char got[512] = "";
	profile_model_end(&model);
	for (uint32_t i = 0; i < model.waits.rows; i++) {
		const struct waits_row *r = &model.waits.row[i];
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s %d%s%s %llu %llu; ",
			 blame_part_key(r->part), r->by, *r->comm ? " " : "", r->comm,
			 (unsigned long long)r->count, (unsigned long long)r->ns);
	}
	is_str(got, expected, name);
}

static void test_waits(void)
{
	begin_time(PROFILE_OFF_CPU, PROFILE_BY_DEFAULT, 0);
	const struct waits *w = &model.waits;
	has_waits("sleep 2 2 110; futex 1 holder 1 55; run_queue 1 hog 2 35; ",
		  "reasons have what woke the thread, or ran in its place");
	ok(w->blocks == 4 && w->ns == 200 && w->shortest_ns == 10 && w->longest_ns == 100 &&
		   !w->open && w->ends[EBT_SAMPLE_CUT] == 1 && w->ends[EBT_SAMPLE_WHOLE] == 3,
	   "blocks, their time and their stacks are counted");
	profile_model_done(&model);

	begin(PROFILE_BY_DEFAULT);
	model.time = PROFILE_OFF_CPU;
	struct offcpu open = slept;
	open.open = true;
	open.interrupt = false;
	block(open, 100, "");
	has_waits("sleep 3 1 100; ", "one that has not ended was ended by nothing");
	ok(w->open == 1 && w->open_ns == 100 && w->ends[KINDS_SAMPLE_ENDS] == 1,
	   "and is counted, as is one without a stack");
	profile_model_done(&model);

	begin(PROFILE_BY_DEFAULT);
	model.time = PROFILE_OFF_CPU;
	for (unsigned i = 0; i < 2 * WAITS_ROWS; i++) {
		struct offcpu o = locked;
		o.wait_ns = 0;
		snprintf(o.waker_comm, sizeof(o.waker_comm), "%u", i / 2);
		block(o, 10, "main");
	}
	ok(w->rows == WAITS_ROWS && !w->others, "each name has a row");
	struct offcpu o = locked;
	block(o, 15, "main");
	ok(w->rows == WAITS_ROWS && w->others == 2 && w->others_ns == 15 && model.weight == w->ns,
	   "beyond the limit of rows waits are counted without a name");
	profile_model_done(&model);
}

static void test_marks(void)
{
	struct profile_sections s;
	char got[256] = "";
	begin_time(PROFILE_WALL, PROFILE_BY_PROGRAM, 0);
	profile_model_end(&model);
	if (profile_model_mark(&model) || profile_sections_make(&s, &model))
		abort();
	for (uint32_t n = s.section->root; (n = frame_tree_next(&s.tree, s.section->root, n));)
		if (*frame_tree_name(&s.tree, n) == '[')
			snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s %s %llu; ",
				 frame_tree_name(&s.tree, s.tree.node[n].parent),
				 frame_tree_name(&s.tree, n),
				 (unsigned long long)s.tree.node[n].self);
	is_str(got,
	       "main [waiting for a CPU] 30; lock [blocked: futex] 55; "
	       "lock [waiting for a CPU] 5; nap [blocked: sleep] 110; ",
	       "marked stacks end with what was waited for");
	profile_sections_done(&s);
	profile_model_done(&model);
}

static void test_kernel(void)
{
	begin(PROFILE_BY_DEFAULT);
	for (unsigned i = 0; i < 5; i++)
		feed((struct ebt_event){.process = 1,
					.domain = EBT_NO_DOMAIN,
					.tid = 70,
					.kind = EBT_SAMPLE,
					.id = i % 2,
					.pos = 10,
					.arg = {i < 3}});
	ok(model.samples == 5 && model.kernel == 3 && model.time_ns == 50 &&
		   model.period_ns == 10 && model.ends[0] == 3 && model.ends[1] == 2,
	   "samples in the kernel are counted, and how their stacks end");
	profile_model_done(&model);
}

int main(void)
{
	if (session_new(&session) || enter_processes(session, 3))
		return 1;
	test_kernel();
	test_places();
	test_outside();
	test_sections();
	test_functions();
	test_sums();
	test_forget();
	test_blocks();
	test_waits();
	test_marks();
	session_free(session);
	return tap_done();
}
