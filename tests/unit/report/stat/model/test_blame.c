/* SPDX-License-Identifier: BSD-2-Clause */
/* What pauses were made of, from begins, ends and intervals without a CPU. Times are in
 * microseconds. */
#include "report/parts/ids.h"
#include "report/parts/off_cpu.h"
#include "report/stat/model/blame.h"
#include "session/offcpu.h"
#include "session/phases.h"
#include "tests/random.h"
#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define US	1000u
#define TIDS	100 /* the thread of domain n is TIDS + n */
#define LONGEST 3

struct run {
	struct session *session;
	struct blame *blame;
	struct blame_sums sums; /* as of the last read() */
};

static void begin(struct run *r)
{
	r->sums = (struct blame_sums){0};
	if (session_new(&r->session) || enter_processes(r->session, 2) ||
	    blame_new(r->session, LONGEST, &r->blame))
		abort();
}

static const struct blame_sums *read_sums(struct run *r)
{
	blame_sums_done(&r->sums);
	if (blame_snapshot(r->blame, &r->sums))
		abort();
	return &r->sums;
}

static void done(struct run *r)
{
	blame_sums_done(&r->sums);
	blame_free(r->blame);
	session_free(r->session);
}

static void push_with(struct run *r, uint16_t kind, uint32_t id, uint16_t domain, uint64_t us,
		      uint32_t stack, const struct pause_counts *u)
{
	struct ebt_event ev = {.ts = us * US,
			       .pos = EBT_NO_POS,
			       .kind = kind,
			       .id = id,
			       .process = 1,
			       .domain = domain,
			       .tid = TIDS + domain,
			       .stack = stack,
			       .cpu = EBT_NO_CPU};
	if ((u && pause_counts_put(r->session, &ev, u)) || blame_events(r->blame, &ev, 1))
		abort();
	if (u)
		session_drop_event(r->session, &ev);
}

static void push(struct run *r, uint16_t kind, uint32_t id, uint16_t domain, uint64_t us)
{
	push_with(r, kind, id, domain, us, 0, NULL);
}

static void off_at(struct run *r, uint16_t domain, const struct offcpu *o, uint32_t stack)
{
	struct ebt_event ev = {.ts = o->end_ns,
			       .kind = EBT_OFFCPU,
			       .process = 1,
			       .domain = EBT_NO_DOMAIN,
			       .tid = TIDS + domain,
			       .stack = stack,
			       .cpu = EBT_NO_CPU};
	stacks_hold(r->session->stacks, stack);
	if (offcpu_put(r->session, &ev, o) || blame_events(r->blame, &ev, 1))
		abort();
	session_drop_event(r->session, &ev);
}

static void off_of(struct run *r, uint16_t domain, const struct offcpu *o)
{
	off_at(r, domain, o, 0);
}

/* The thread of a domain did not run; of it `wait` at the end for want of a CPU. call: plus 1. */
static void off(struct run *r, uint16_t domain, uint64_t from, uint64_t until, uint64_t wait,
		enum ebt_offcpu_reason reason, long call)
{
	struct offcpu o = {.begin_ns = from * US,
			   .end_ns = until * US,
			   .wait_ns = wait * US,
			   .reason = reason,
			   .syscall = (int32_t)call - 1,
			   .waker = 71,
			   .runner = 72,
			   .runner_cpu = 3,
			   .waker_comm = "waker",
			   .runner_comm = "runner"};
	off_of(r, domain, &o);
}

/* A sleep that goes on. */
static void off_open(struct run *r, uint16_t domain, uint64_t from, uint64_t until, long call)
{
	struct offcpu o = {.begin_ns = from * US,
			   .end_ns = until * US,
			   .reason = EBT_OFFCPU_SLEEP,
			   .syscall = (int32_t)call - 1,
			   .open = true};
	off_of(r, domain, &o);
}

static unsigned part(const struct blame_split *s, enum blame_part p)
{
	return (unsigned)(s->ns[p] / US);
}

static uint64_t sum(const uint64_t *ns)
{
	uint64_t all = 0;
	for (unsigned i = 0; i < BLAME_PARTS; i++)
		all += ns[i];
	return all;
}

static const struct blame_pause *longest(struct run *r)
{
	const struct blame_sums *s = read_sums(r);
	return s->longest.count ? s->longest.at : NULL;
}

static void test_one(void)
{
	struct run r;
	begin(&r);
	off(&r, 0, 1, 2, 1, EBT_OFFCPU_PREEMPTED, 0);
	push(&r, EBT_BEGIN, PHASE_minor, 0, 10);
	push(&r, EBT_BEGIN, PHASE_minor_local_roots, 0, 12);
	off(&r, 0, 20, 27, 2, EBT_OFFCPU_SLEEP, SYS_futex + 1);
	off(&r, 1, 20, 40, 20, EBT_OFFCPU_PREEMPTED, 0);
	off(&r, 0, 30, 41, 11, EBT_OFFCPU_PREEMPTED, 0);
	push(&r, EBT_END, PHASE_minor_local_roots, 0, 45);
	off(&r, 0, 46, 50, 1, EBT_OFFCPU_IOWAIT, 0);
	push(&r, EBT_END, PHASE_minor, 0, 60);
	off(&r, 0, 70, 80, 0, EBT_OFFCPU_SLEEP, SYS_nanosleep + 1);
	const struct blame_pause *p = longest(&r);
	ok(p && p->end_ns - p->begin_ns == 50 * US && p->row == phases_row(PHASE_minor) &&
		   p->tid == TIDS && p->domain == 0,
	   "a pause is the outermost phase that stops, of its thread");
	is(part(&p->split, BLAME_WAIT), 2 + 11 + 1, "it waited for a CPU");
	is(part(&p->split, BLAME_FUTEX), 5, "was blocked on a futex");
	is(part(&p->split, BLAME_IO), 3, "and for a device");
	is(part(&p->split, BLAME_CPU), 28, "the rest was on the CPU");
	is(sum(p->split.ns), 50 * US, "parts add up");
	ok(p->split.longest.part == BLAME_WAIT && p->split.longest.tid == 72 &&
		   p->split.longest.cpu == 3 && !strcmp(p->split.longest.comm, "runner"),
	   "the longest piece was behind the thread that ran instead");
	is(read_sums(&r)->of_row[PHASE_minor].pauses, 1, "it is counted by its phase");
	done(&r);
}

static void test_many(void)
{
	struct run r;
	begin(&r);
	off(&r, 0, 1, 2, 1, EBT_OFFCPU_PREEMPTED, 0);
	push(&r, EBT_BEGIN, PHASE_minor, 0, 10);
	for (uint64_t i = 1; i <= 1000; i++)
		off(&r, 0, 10 * i, 10 * i + 4, 4, EBT_OFFCPU_PREEMPTED, 0);
	push(&r, EBT_END, PHASE_minor, 0, 10010);
	is(part(&longest(&r)->split, BLAME_WAIT), 4000,
	   "no interval is forgotten before its pause ends");
	done(&r);
}

static void test_unknown(void)
{
	struct run r;
	begin(&r);
	push(&r, EBT_BEGIN, PHASE_minor, 0, 10);
	push(&r, EBT_END, PHASE_minor, 0, 20);
	ok(!read_sums(&r)->is_known && part(&longest(&r)->split, BLAME_UNKNOWN) == 10,
	   "without any interval nothing is known");
	push(&r, EBT_BEGIN, PHASE_minor, 0, 30);
	off(&r, 1, 45, 46, 0, EBT_OFFCPU_SLEEP, 0);
	push(&r, EBT_END, PHASE_minor, 0, 60);
	const struct blame_pause *p = longest(&r);
	is(part(&p->split, BLAME_UNKNOWN), 15, "nor what was before the first");
	is(part(&p->split, BLAME_CPU), 15, "behind it a thread without intervals ran");
	done(&r);
}

/* Domains 0 to 2 arrive at 10, 14 and 40; the last had no CPU. They leave in another order. */
static void test_barrier(void)
{
	struct run r;
	begin(&r);
	off(&r, 0, 1, 2, 1, EBT_OFFCPU_PREEMPTED, 0);
	push(&r, EBT_BEGIN, PHASE_stw_leader, 0, 9);
	push(&r, EBT_BEGIN, PHASE_stw_api_barrier, 0, 10);
	push(&r, EBT_BEGIN, PHASE_stw_handler, 1, 13);
	push(&r, EBT_BEGIN, PHASE_stw_api_barrier, 1, 14);
	off(&r, 2, 8, 37, 29, EBT_OFFCPU_PREEMPTED, 0);
	push(&r, EBT_BEGIN, PHASE_stw_handler, 2, 39);
	push(&r, EBT_BEGIN, PHASE_stw_api_barrier, 2, 40);
	push(&r, EBT_END, PHASE_stw_api_barrier, 1, 41);
	push(&r, EBT_END, PHASE_stw_api_barrier, 2, 43);
	push(&r, EBT_END, PHASE_stw_handler, 1, 50);
	/* Domain 1 is at the next one before domain 0 has left the first. */
	push(&r, EBT_BEGIN, PHASE_stw_handler, 1, 51);
	push(&r, EBT_BEGIN, PHASE_stw_api_barrier, 1, 52);
	off(&r, 0, 41, 60, 19, EBT_OFFCPU_PREEMPTED, 0);
	push(&r, EBT_END, PHASE_stw_api_barrier, 0, 61);
	push(&r, EBT_END, PHASE_stw_leader, 0, 70);
	const struct blame_pause *p = longest(&r);
	is(part(&p->split, BLAME_DOMAIN), 30, "the leader waited until the last has arrived");
	is(part(&p->split, BLAME_WAIT), 19, "what is behind that is its own");
	is(sum(p->split.ns), 61 * US, "parts add up");
	ok(p->culprit.domain == 2 && p->culprit.tid == TIDS + 2, "the last domain is named");
	is(part(&p->culprit.split, BLAME_WAIT), 27, "which had no CPU while it was waited for");
	is(part(&p->culprit.split, BLAME_CPU), 3, "and ran then");
	push(&r, EBT_END, PHASE_stw_handler, 2, 71);
	push(&r, EBT_END, PHASE_stw_api_barrier, 1, 72);
	push(&r, EBT_END, PHASE_stw_handler, 1, 73);
	is(read_sums(&r)->total.ns[BLAME_DOMAIN] / US, 30 + 26, "nobody waits for the last one");
	is(read_sums(&r)->total.pauses, 4, "all pauses are counted");
	is(sum(read_sums(&r)->total.ns), read_sums(&r)->total.pause_ns, "and add up");
	done(&r);
}

/* Many pauses at random, in which anything happens: parts add up, and the longest are kept. */
static void test_random(void)
{
	struct run r;
	uint64_t state = 5, us = 100, most[LONGEST] = {0}, all = 0;
	begin(&r);
	for (unsigned i = 0; i < 5000; i++) {
		uint16_t domain = (uint16_t)(random_next(&state) % 3);
		uint64_t from = us;
		push(&r, EBT_BEGIN, PHASE_major, domain, us += random_next(&state) % 10);
		from = us;
		for (uint64_t k = random_next(&state) % 5; k--;) {
			uint64_t a = us + random_next(&state) % 10,
				 b = a + random_next(&state) % 50;
			off(&r, domain, a, b, random_next(&state) % 60,
			    (enum ebt_offcpu_reason)(random_next(&state) % 7),
			    (long)(random_next(&state) % 400));
			us = b;
		}
		push(&r, EBT_END, PHASE_major, domain, us += random_next(&state) % 30);
		uint64_t ns = (us - from) * US;
		all += ns;
		for (unsigned k = 0; k < LONGEST; k++)
			if (ns > most[k]) {
				uint64_t other = most[k];
				most[k] = ns;
				ns = other;
			}
	}
	const struct blame_pause *p = longest(&r);
	uint32_t n = r.sums.longest.count;
	bool same = n == LONGEST;
	for (uint32_t i = 0; i < n; i++)
		same &= p[i].end_ns - p[i].begin_ns == most[i] && sum(p[i].split.ns) == most[i];
	ok(same, "the longest pauses are kept, the longest first");
	is(read_sums(&r)->total.pause_ns, all, "the sum is that of all");
	is(sum(read_sums(&r)->total.ns), all, "and of their parts");
	done(&r);
}

/* A sleep of 30 us and a wait of 10, which was recorded in pieces; then another one. */
static void test_pieces(void)
{
	static const struct {
		uint64_t from, until, wait;
		bool open;
	} pieces[] = {{10, 20, 0, true},
		      {20, 35, 0, true},
		      {35, 45, 5, true},
		      {45, 50, 5, false},
		      {50, 53, 1, false}};
	struct off_cpu o = {0};
	struct blame_split s = {.ns = {0}};
	int err = 0;
	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		struct off_cpu_interval one = {.of = {.begin_ns = pieces[i].from,
						      .end_ns = pieces[i].until,
						      .wait_ns = pieces[i].wait,
						      .open = pieces[i].open,
						      .reason = EBT_OFFCPU_SLEEP},
					       .blocked = BLAME_SLEEP};
		err |= off_cpu_add(&o, &one);
		if (i == 1)
			ok(off_cpu_last(&o)->open && off_cpu_last(&o)->end_ns == 35,
			   "an interval is open until it was recorded last");
	}
	off_cpu_split(&o, 0, 60, &s);
	ok(!err && s.ns[BLAME_SLEEP] == 32 && s.ns[BLAME_WAIT] == 11 && s.ns[BLAME_CPU] == 17,
	   "pieces of an open interval add up");
	is(s.longest.ns, 30, "and are one cause");
	off_cpu_done(&o);
}

static void test_forget(void)
{
	struct run r;
	begin(&r);
	push(&r, EBT_BEGIN, PHASE_stw_leader, 0, 9);
	push(&r, EBT_BEGIN, PHASE_stw_api_barrier, 0, 10);
	off(&r, 1, 20, 40, 20, EBT_OFFCPU_PREEMPTED, 0);
	ok(!blame_forget(r.blame, 1), "a process may end in a pause");
	push(&r, EBT_END, PHASE_stw_leader, 0, 50);
	is(read_sums(&r)->total.pauses, 0, "which is not counted then");
	done(&r);
}

static uint32_t stack_of(struct run *r, uint64_t address)
{
	struct frame f = {.address = address, .has_address = true};
	uint32_t frame = frames_put(r->session->frames, &f);
	uint32_t stack = stacks_push(r->session->stacks, 0, frame);
	frames_drop(r->session->frames, frame);
	return stack;
}

/* Of which nobody else has a reference. */
static void test_stacks(void)
{
	struct run r;
	begin(&r);
	for (uint64_t i = 1; i <= 5000; i++) {
		uint64_t us = 100000 * i;
		push(&r, EBT_BEGIN, PHASE_stw_leader, 0, us);
		push_with(&r, EBT_BEGIN, PHASE_major, 0, us + 1, stack_of(&r, 2 * i), NULL);
		push_with(&r, EBT_BEGIN, PHASE_major_sweep, 0, us + 2, stack_of(&r, 2 * i + 1),
			  NULL);
		push(&r, EBT_END, PHASE_major_sweep, 0, us + 3);
		push(&r, EBT_END, PHASE_major, 0, us + 4);
		push(&r, EBT_END, PHASE_stw_leader, 0, us + 10 + i);
		stacks_reclaim(r.session->stacks);
	}
	const struct stacks *stacks = r.session->stacks;
	const struct blame_pause *p = longest(&r);
	uint32_t n = r.sums.longest.count;
	bool right = n == LONGEST;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t frame = stacks_frame(stacks, p[i].stack);
		right &= frames_get(r.session->frames, frame)->address == 2 * (5000 - i);
	}
	ok(right, "a pause has the stack of its outermost phase that has one");
	stacks_free_unheld(r.session->stacks);
	is(stacks_count(stacks), LONGEST, "those of others are given back");
	push_with(&r, EBT_BEGIN, PHASE_major, 0, 1000000000, stack_of(&r, 1), NULL);
	ok(!blame_forget(r.blame, 1), "a process ends in a pause");
	stacks_free_unheld(r.session->stacks);
	is(stacks_count(stacks), LONGEST, "and so is its stack");
	done(&r);
}

static void sleep_at(struct run *r, uint16_t domain, uint64_t from, uint64_t until,
		     uint64_t address)
{
	struct offcpu o = {.begin_ns = from * US,
			   .end_ns = until * US,
			   .reason = EBT_OFFCPU_SLEEP,
			   .syscall = SYS_nanosleep};
	off_at(r, domain, &o, stack_of(r, address));
}

static uint64_t address_of(const struct run *r, uint32_t stack)
{
	return frames_get(r->session->frames, stacks_frame(r->session->stacks, stack))->address;
}

/* Of the stacks of blocks those of the longest ones are kept, and given back. */
static void test_blocks(void)
{
	struct run r;
	begin(&r);
	for (uint64_t i = 1; i <= 5000; i++) {
		uint64_t us = 100000 * i;
		push(&r, EBT_BEGIN, PHASE_major, 0, us);
		sleep_at(&r, 0, us + 10, us + 20, 4 * i);
		sleep_at(&r, 0, us + 30, us + 50 + i, 4 * i + 1);
		sleep_at(&r, 0, us + 6000, us + 6005, 4 * i + 2);
		push(&r, EBT_END, PHASE_major, 0, us + 10000 + i);
		sleep_at(&r, 0, us + 20000, us + 80000, 4 * i + 3);
		stacks_reclaim(r.session->stacks);
	}
	const struct blame_pause *p = longest(&r);
	bool right = r.sums.longest.count == LONGEST;
	for (uint32_t i = 0; i < LONGEST; i++)
		right &= address_of(&r, p[i].split.block_stack) == 4 * (5000 - i) + 1 &&
			 p[i].split.block_ns == (20 + 5000 - i) * US;
	ok(right, "a pause has the stack of its longest block");
	push(&r, EBT_BEGIN, PHASE_major, 0, 1000000000);
	sleep_at(&r, 0, 1000000010, 1000000020, 7);
	struct blame_pause open;
	ok(blame_open(r.blame, 1000000030ull * US, &open) && open.split.block_ns == 10 * US &&
		   !open.split.block_stack,
	   "of one that is open its length is known");
	ok(!blame_forget(r.blame, 1), "a process ends in a pause");
	stacks_free_unheld(r.session->stacks);
	is(stacks_count(r.session->stacks), LONGEST, "stacks of other blocks are given back");
	done(&r);
}

/* A domain that was waited for, and slept. */
static void test_late_block(void)
{
	struct run r;
	begin(&r);
	for (uint64_t i = 1; i <= 20; i++) {
		uint64_t us = 1000 * i;
		push(&r, EBT_BEGIN, PHASE_stw_leader, 0, us);
		for (unsigned again = 0; again < 2; again++) {
			uint64_t at = us + 100 + 300 * again;
			push(&r, EBT_BEGIN, PHASE_stw_api_barrier, 0, at + 10);
			sleep_at(&r, 1, at + 15, at + 25 + 10 * again, 2 * i + again);
			push(&r, EBT_BEGIN, PHASE_stw_handler, 1, at + 39 + 10 * again);
			push(&r, EBT_BEGIN, PHASE_stw_api_barrier, 1, at + 40 + 10 * again);
			push(&r, EBT_END, PHASE_stw_api_barrier, 1, at + 61);
			push(&r, EBT_END, PHASE_stw_handler, 1, at + 62);
			push(&r, EBT_END, PHASE_stw_api_barrier, 0, at + 63);
		}
		push(&r, EBT_END, PHASE_stw_leader, 0, us + 700 + i);
	}
	const struct blame_pause *p = longest(&r);
	ok(address_of(&r, p->culprit.split.block_stack) == 2 * 20 + 1 &&
		   p->culprit.split.block_ns == 20 * US && !p->split.block_stack,
	   "a domain that was waited for has the stack of its longest block");
	ok(!blame_forget(r.blame, 1), "the process ends");
	stacks_free_unheld(r.session->stacks);
	is(stacks_count(r.session->stacks), LONGEST, "stacks of others are given back");
	done(&r);
}

/* A program that starts threads for ever, while one of them pauses now and then. */
static void test_threads(void)
{
	struct run r;
	begin(&r);
	size_t before = 0;
	for (unsigned i = 0; i < 200000; i++) {
		uint64_t us = 10 + 10ull * i;
		if (i % 1000 == 0)
			push(&r, EBT_BEGIN, PHASE_major, 0, us);
		off(&r, (uint16_t)(i % 60000), us + 1, us + 3, 1, EBT_OFFCPU_SLEEP, 0);
		if (i % 1000 == 1)
			push(&r, EBT_END, PHASE_major, 0, us + 5);
		if (i == 5000)
			before = mallinfo2().uordblks;
	}
	ok(mallinfo2().uordblks < before + (1 << 20), "threads that have ended are forgotten");
	is(sum(read_sums(&r)->total.ns), read_sums(&r)->total.pause_ns, "pauses add up meanwhile");
	done(&r);
}

/* A pause of 100 us of domain 0, in which the kernel counted a wait for a CPU, voluntary switches
 * and 20 us of page faults; known: intervals are, and one of 10 us before its end was a wait for a
 * CPU. */
static struct blame_pause counted(bool known, uint64_t delay_us, uint64_t voluntary)
{
	struct run r;
	struct pause_counts u = {
		{[PAUSE_RUN_DELAY] = delay_us == PAUSE_UNKNOWN ? PAUSE_UNKNOWN : delay_us * US,
		 [PAUSE_VOLUNTARY] = voluntary,
		 [PAUSE_MINOR_FAULTS] = 7,
		 [PAUSE_FAULT_NS] = 20 * US}};
	begin(&r);
	if (known)
		off(&r, 0, 1, 2, 1, EBT_OFFCPU_PREEMPTED, 0);
	push(&r, EBT_BEGIN, PHASE_minor, 0, 100);
	if (known && delay_us)
		off(&r, 0, 150, 160, 10, EBT_OFFCPU_PREEMPTED, 0);
	push_with(&r, EBT_END, PHASE_minor, 0, 200, 0, &u);
	struct blame_pause p = *longest(&r);
	const struct blame_sum *total = &read_sums(&r)->total;
	ok(sum(p.split.ns) == 100 * US && total->counted == 1 &&
		   total->counts.count[PAUSE_MINOR_FAULTS] == 7 &&
		   total->never_blocked == (!voluntary && delay_us != PAUSE_UNKNOWN),
	   "the counts of a pause are those of the sum, and its parts add up");
	done(&r);
	return p;
}

static void test_counted(void)
{
	struct blame_pause p = counted(false, 30, 0);
	ok(part(&p.split, BLAME_FAULT_CPU) == 20, "page faults are a part of the time on a CPU");
	ok(part(&p.split, BLAME_WAIT) == 30 && part(&p.split, BLAME_CPU) == 50,
	   "without intervals: who never blocked was on the CPU, or waited for it");
	p = counted(false, 30, 2);
	ok(part(&p.split, BLAME_WAIT) == 30 && part(&p.split, BLAME_UNKNOWN) == 70,
	   "who did was so for an unknown time");
	p = counted(false, 500, 0);
	ok(!part(&p.split, BLAME_FAULT_CPU), "and never more than that");
	ok(part(&p.split, BLAME_WAIT) == 100, "a wait is at most as long as its pause");
	p = counted(false, PAUSE_UNKNOWN, 0);
	ok(part(&p.split, BLAME_UNKNOWN) == 100, "a wait that is not counted is not known");
	p = counted(true, 30, 0);
	ok(part(&p.split, BLAME_WAIT) == 30 && part(&p.split, BLAME_CPU) == 50,
	   "where intervals lack some of the wait, the kernel's count is the truth");
	p = counted(true, 4, 2);
	ok(part(&p.split, BLAME_WAIT) == 10 && part(&p.split, BLAME_CPU) == 70,
	   "where it lacks some, the intervals are: an idle CPU wakes up in no queue");
	p = counted(true, 0, 1);
	ok(part(&p.split, BLAME_UNKNOWN) == 100,
	   "who blocked, in no known interval, did so for an unknown time");
}

/* Domain 0 waits 60 us for domain 1 in a pause of 100 us. */
static struct blame_pause counted_barrier(uint64_t delay_us)
{
	struct run r;
	struct pause_counts u = {
		{[PAUSE_RUN_DELAY] = delay_us * US, [PAUSE_FAULT_NS] = PAUSE_UNKNOWN}};
	begin(&r);
	push(&r, EBT_BEGIN, PHASE_stw_leader, 0, 100);
	push(&r, EBT_BEGIN, PHASE_stw_api_barrier, 0, 110);
	push(&r, EBT_BEGIN, PHASE_stw_api_barrier, 1, 170);
	push(&r, EBT_END, PHASE_stw_api_barrier, 0, 171);
	push_with(&r, EBT_END, PHASE_stw_leader, 0, 200, 0, &u);
	struct blame_pause p = *longest(&r);
	is(sum(p.split.ns), 100 * US, "with a wait for another domain, too");
	done(&r);
	return p;
}

static void test_counted_barrier(void)
{
	struct blame_pause p = counted_barrier(0);
	ok(part(&p.split, BLAME_DOMAIN) == 60 && part(&p.split, BLAME_CPU) == 40,
	   "who never waited for a CPU was on it but for the wait for a domain");
	p = counted_barrier(25);
	ok(part(&p.split, BLAME_CPU) == 15 && part(&p.split, BLAME_UNKNOWN) == 25,
	   "a wait for a CPU may have been in that for a domain");
	p = counted_barrier(90);
	ok(part(&p.split, BLAME_WAIT) == 30 && part(&p.split, BLAME_UNKNOWN) == 10,
	   "but for what is longer than that");
}

/* Three phases that stop, of a pause whose begin was not seen if an end of one more follows. */
static void push_parts(struct run *r, uint64_t us)
{
	for (uint64_t i = 0; i < 3; i++) {
		push(r, EBT_BEGIN, PHASE_minor_clear, 0, us + 10 * i);
		push(r, EBT_END, PHASE_minor_clear, 0, us + 10 * i + 5);
	}
}

static void test_orphans(void)
{
	struct run r;
	begin(&r);
	push_parts(&r, 1000);
	push(&r, EBT_END, PHASE_minor, 0, 3001000);
	push(&r, EBT_BEGIN, PHASE_minor, 0, 3001200);
	push(&r, EBT_END, PHASE_minor, 0, 3001300);
	is(read_sums(&r)->total.pauses, 1, "what lies in a pause whose begin was not seen is none");
	is(read_sums(&r)->total.pause_ns, 100 * US, "it is not added up");
	const struct blame_pause *p = longest(&r);
	ok(p && p->row == phases_row(PHASE_minor), "nor listed");
	push_parts(&r, 40000000);
	push(&r, EBT_END, PHASE_minor, 0, 40000100);
	is(read_sums(&r)->total.pauses, 4, "after half a minute pauses are not held any more");
	struct ebt_event lost = {.ts = 50000000ull * US,
				 .kind = EBT_LOST,
				 .process = 1,
				 .domain = 0,
				 .tid = TIDS,
				 .cpu = EBT_NO_CPU};
	ok(!blame_events(r.blame, &lost, 1), "events are lost");
	push_parts(&r, 50000010);
	push(&r, EBT_END, PHASE_minor, 0, 50000100);
	is(read_sums(&r)->total.pauses, 4, "behind a loss they are");
	push_parts(&r, 50000200);
	lost.ts = 50000300ull * US;
	ok(!blame_events(r.blame, &lost, 1), "events are lost once more");
	push_parts(&r, 50000400);
	push(&r, EBT_END, PHASE_minor, 0, 50000500);
	is(read_sums(&r)->total.pauses, 7, "those that were held before that were pauses");
	push_parts(&r, 50000600);
	ok(!blame_forget(r.blame, 1), "a process ends");
	is(read_sums(&r)->total.pauses, 10, "those that were held until then were pauses");
	done(&r);
}

/* Rings have what was before the run. */
static void test_before_run(void)
{
	struct run r;
	begin(&r);
	r.session->run_begin = moment_at(1000 * US);
	push(&r, EBT_BEGIN, PHASE_minor, 0, 900);
	push(&r, EBT_END, PHASE_minor, 0, 990);
	push(&r, EBT_BEGIN, PHASE_minor, 0, 999);
	push(&r, EBT_END, PHASE_minor, 0, 1050);
	ok(!read_sums(&r)->total.pauses && !longest(&r),
	   "a pause that began before the run is none of it");
	push(&r, EBT_BEGIN, PHASE_minor, 0, 1060);
	push(&r, EBT_END, PHASE_minor, 0, 1070);
	ok(read_sums(&r)->total.pauses == 1 && read_sums(&r)->total.pause_ns == 10 * US &&
		   longest(&r),
	   "one that began in it is");
	done(&r);
}

/* The parts of the open pause of domain 0, which began at 100, at 200. */
static void check_open(struct run *r, unsigned cpu, unsigned sleep, unsigned unknown,
		       const char *name)
{
	struct blame_pause p;
	bool is_open = blame_open(r->blame, 200 * US, &p);
	ok(is_open && sum(p.split.ns) == 100 * US && part(&p.split, BLAME_CPU) == cpu &&
		   part(&p.split, BLAME_SLEEP) == sleep && part(&p.split, BLAME_UNKNOWN) == unknown,
	   "%s", name);
}

static void emit_open(struct run *r, uint64_t at_us, uint64_t until_us)
{
	r->session->open_at = moment_at(at_us * US);
	r->session->open_emitted = moment_at(until_us * US);
}

static void test_open(void)
{
	struct run r;
	begin(&r);
	off(&r, 1, 1, 2, 1, EBT_OFFCPU_PREEMPTED, 0);
	push(&r, EBT_BEGIN, PHASE_major, 0, 100);
	check_open(&r, 0, 0, 100, "behind its last event a thread may sleep");
	off(&r, 0, 110, 120, 0, EBT_OFFCPU_SLEEP, SYS_nanosleep + 1);
	check_open(&r, 10, 10, 80, "and behind its last switch");
	push(&r, EBT_BEGIN, PHASE_major_mark, 0, 125);
	check_open(&r, 15, 10, 75, "an event is a sign of a thread that runs");
	emit_open(&r, 190, 201);
	check_open(&r, 15, 10, 75, "open intervals that may not have come yet are no sign");
	emit_open(&r, 150, 160);
	check_open(&r, 40, 10, 50, "it ran when open intervals were emitted and it had none");
	emit_open(&r, 190, 199);
	off_open(&r, 0, 152, 192, SYS_nanosleep + 1);
	check_open(&r, 42, 50, 8, "it slept when it had one");
	done(&r);

	begin(&r);
	off(&r, 1, 1, 2, 1, EBT_OFFCPU_PREEMPTED, 0);
	push(&r, EBT_BEGIN, PHASE_major, 0, 100);
	off_open(&r, 0, 120, 150, SYS_nanosleep + 1);
	emit_open(&r, 180, 190);
	check_open(&r, 20, 30, 50, "behind one that goes on it may sleep on, whatever was emitted");
	done(&r);
}

int main(void)
{
	test_orphans();
	test_before_run();
	test_one();
	test_many();
	test_counted();
	test_counted_barrier();
	test_unknown();
	test_barrier();
	test_random();
	test_pieces();
	test_forget();
	test_stacks();
	test_blocks();
	test_late_block();
	test_threads();
	test_open();
	return tap_done();
}
