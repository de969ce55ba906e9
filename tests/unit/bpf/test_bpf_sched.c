// SPDX-License-Identifier: BSD-2-Clause
/* The programs of off-CPU intervals, bpf/sched.bpf.c, as a user program with helpers of our own:
 * what is recorded of any sequence of switches and wakings, and that others leave no trace. */
#include "tests/tap.h"

#include <errno.h>
#include <stddef.h>

#pragma GCC diagnostic ignored "-Wunused-function"
#include "tests/unit/bpf_helpers.h"

#define __BPF_CORE_READ_H__
#define bpf_core_field_exists(field)	    true
#define BPF_CORE_READ_BITFIELD(task, field) (task)->field

struct rq {
	uint64_t clock;
};
struct cfs_rq {
	struct rq *rq;
};
struct pt_regs___x86 {
	unsigned long orig_ax;
};
struct pt_regs___arm64 {
	int syscallno;
};
struct thread;

struct task_struct {
	uint32_t __state;
	int on_cpu, pid, tgid;
	unsigned in_iowait : 1;
	_Alignas(8) char comm[16];
	struct {
		struct cfs_rq *cfs_rq;
	} se;
	struct {
		uint64_t run_delay, last_arrival, last_queued;
	} sched_info;
	void *bpf_storage; /* a struct thread */
	void *stack;
	long syscall;
};

#define PROCESS 700
#define SLOT	5u

static uint64_t time_ns = 1000;
static struct task_struct *current;
static struct pt_regs___x86 x86_regs;
static struct pt_regs___arm64 arm_regs;

static uint64_t bpf_ktime_get_ns(void)
{
	return time_ns;
}

static struct task_struct *bpf_get_current_task_btf(void)
{
	return current;
}

static void *bpf_task_pt_regs(struct task_struct *task)
{
	x86_regs.orig_ax = (unsigned long)task->syscall;
	arm_regs.syscallno = (int)task->syscall;
#if defined(__TARGET_ARCH_arm64)
	return &arm_regs;
#else
	return &x86_regs;
#endif
}

static void *bpf_map_lookup_elem(void *map, const uint32_t *key);
static void *bpf_task_storage_get(void *map, struct task_struct *task, void *value, uint64_t flags);
#define BPF_LOCAL_STORAGE_GET_F_CREATE 1

/* In place of bpf/sample.bpf.h: a stack is the thread and the time at which it was taken. */
#define EBT_SAMPLE_BPF_H
#include "bpf/channel.bpf.h"
struct registers {
	uint64_t sp;
};
struct sample_c {
	uint64_t tid, ts;
};
struct sample_ocaml {
	uint64_t tid, ts, frames[16];
};
struct place {
	uint16_t where, domain;
};
#define OCAML_DOMAIN 4

static void read_user_registers(struct task_struct *task, struct registers *ret)
{
	ret->sp = (uint64_t)task->pid;
}

static struct ebt_ocaml_runtime *sample_find(uint32_t of, struct task_struct *task,
					     const struct registers *regs, struct place *ret)
{
	static struct ebt_ocaml_runtime runtime;
	(void)of;
	(void)regs;
	ret->where = EBT_SAMPLE_OCAML;
	ret->domain = OCAML_DOMAIN;
	return strcmp(task->comm, "ocaml") ? NULL : &runtime;
}

static void sample_put_c(struct ebt_sample_record *rec, struct sample_c *b,
			 const struct registers *regs, uint16_t domain)
{
	*b = (struct sample_c){regs->sp, time_ns};
	rec->domain = domain;
	rec->head.site = EBT_SAMPLE_C;
	rec->head.size = sizeof(*b);
}

static void sample_put_ocaml(struct ebt_sample_record *rec, struct sample_ocaml *b,
			     const struct registers *regs, const struct ebt_ocaml_runtime *r,
			     const struct place *p)
{
	(void)r;
	b->tid = regs->sp;
	b->ts = time_ns;
	rec->domain = p->domain;
	rec->head.site = p->where;
	rec->head.size = offsetof(struct sample_ocaml, frames);
}

static uint32_t freed[4];
static unsigned frees;

static long bpf_map_push_elem(void *map, const uint32_t *value, uint64_t flags)
{
	(void)map;
	(void)flags;
	freed[frees++] = *value;
	return 0;
}

static long bpf_map_pop_elem(void *map, uint32_t *ret)
{
	(void)map;
	if (!frees)
		return -ENOENT;
	*ret = freed[--frees];
	return 0;
}

static long bpf_ringbuf_output(void *map, const void *data, uint64_t size, uint64_t flags)
{
	void *to = bpf_ringbuf_reserve(map, size, flags);
	if (!to)
		return -EAGAIN;
	memcpy(to, data, size);
	bpf_ringbuf_submit(to, flags);
	return 0;
}

#define const /* the test sets them, where the tracer does it before it loads the programs */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wint-conversion"
#pragma GCC diagnostic ignored "-Wunused-variable"
#include "bpf/sched.bpf.c"
#pragma GCC diagnostic pop
#undef const

#define ROOMS 2
static struct room rooms[ROOMS];
static struct cpu_waiters waiters;
static uint32_t slot = SLOT;
static bool is_traced = true;

static void *bpf_map_lookup_elem(void *map, const uint32_t *key)
{
	if (map == &ebt_cpu_waiters)
		return *key == CPU ? &waiters : NULL;
	if (map == &ebt_offcpu_rooms)
		return *key < ROOMS ? &rooms[*key] : NULL;
	return is_traced && *key == PROCESS ? &slot : NULL;
}

#define THREADS 32
static struct sched_thread storage[THREADS];
static unsigned stored;

static void *bpf_task_storage_get(void *map, struct task_struct *task, void *value, uint64_t flags)
{
	(void)map;
	(void)value;
	if (!task->bpf_storage && flags && stored < THREADS)
		task->bpf_storage = &storage[stored++];
	return task->bpf_storage;
}

/* ---- a machine with one CPU ---- */

static struct rq queue;
static struct cfs_rq cfs = {&queue};
static struct task_struct idle = {.comm = "swapper/3", .se = {&cfs}};

static struct task_struct make(int pid, int tgid, const char *comm)
{
	struct task_struct t = {.pid = pid, .tgid = tgid, .se = {&cfs}, .syscall = -1};
	strncpy(t.comm, comm, sizeof(t.comm) - 1);
	return t;
}

static void reset(void)
{
	memset(storage, 0, sizeof(storage));
	memset(&waiters, 0, sizeof(waiters));
	memset(rooms, 0, sizeof(rooms));
	stored = frees = ebt_offcpu_used = ebt_offcpu_stacks = 0;
	ebt_offcpu_min_ns = ebt_offcpu_stack_min_ns = 0;
	ebt_offcpu_in_pauses = 0;
	kernel.records = 0;
	kernel.full = false;
}

static struct task_struct parent = {.pid = 1, .tgid = 1};

static void born(struct task_struct *task)
{
	uint64_t args[] = {(uintptr_t)&parent, (uintptr_t)task};
	ebt_offcpu_fork(args);
}

/* At time t; the kernel updates its accounts behind the program. */
static void switch_to(uint64_t t, struct task_struct *prev, struct task_struct *next, bool preempt,
		      uint32_t state)
{
	uint64_t args[] = {preempt, (uintptr_t)prev, (uintptr_t)next, state};
	time_ns = t;
	queue.clock = t + 50; /* another clock */
	ebt_offcpu_switch(args);
	if (preempt || !state)
		prev->sched_info.last_queued = queue.clock;
	if (next->sched_info.last_queued)
		next->sched_info.run_delay += queue.clock - next->sched_info.last_queued;
	next->sched_info.last_queued = 0;
	next->sched_info.last_arrival = queue.clock;
}

/* By the waker itself, in a system call on its own stack. */
static void wake(uint64_t t, struct task_struct *waker, struct task_struct *task)
{
	if (!waker->stack)
		waker->stack = (char *)__builtin_frame_address(0) - (16 << 10);
	if (waker != &idle && waker->syscall < 0)
		waker->syscall = 1;
	uint64_t args[] = {(uintptr_t)task};
	time_ns = t;
	current = waker;
	ebt_offcpu_waking(args);
	task->sched_info.last_queued = t + 50;
}

static const struct ebt_offcpu_record *last(void)
{
	return (const struct ebt_offcpu_record *)kernel.rec;
}

static void check_interval(const char *name, uint64_t from, uint64_t woken, uint64_t ts,
			   uint64_t delay)
{
	const struct ebt_offcpu_record *r = last();
	bool good = kernel.records == 1 && kernel.reserved == sizeof(*r) && r->from == from &&
		    r->woken == woken && r->ts == ts && r->run_delay == delay;
	ok(good, "%s", name);
	if (!good && kernel.records)
		diag("%d records, from %llu woken %llu ts %llu delay %llu", kernel.records,
		     (unsigned long long)r->from, (unsigned long long)r->woken,
		     (unsigned long long)r->ts, (unsigned long long)r->run_delay);
	kernel.records = 0;
}

/* ---- tests ---- */

static void test_sleep(void)
{
	struct task_struct a = make(701, PROCESS, "sleeper"), b = make(9, 9, "waker");
	reset();
	born(&a);
	a.syscall = 202;
	switch_to(1000, &idle, &a, false, 0);
	is(kernel.records, 0, "a thread that runs for the first time has no interval");
	switch_to(2000, &a, &b, false, 1);
	wake(2500, &b, &a);
	switch_to(2600, &b, &a, false, 1);
	const struct ebt_offcpu_record *r = last();
	is(r->head.type, EBT_RECORD_OFFCPU, "the record's type");
	is(r->head.site, EBT_OFFCPU_SLEEP, "a thread that waits in a system call sleeps");
	is(r->syscall, 202, "in which one");
	is(r->waker, 9, "who woke it");
	is_str(r->waker_comm, "waker", "its name");
	ok(r->runner == 9 && r->runner_cpu == CPU, "who ran before it, and where");
	is(r->head.tid, 701, "whose interval it is, though another thread is current");
	is(r->head.slot, SLOT, "its process's slot");
	is(r->pid, PROCESS, "and pid");
	ok(!r->open && r->head.cpu == CPU && !r->head.size, "it has ended, on this CPU");
	is(kernel.flags, BPF_RB_NO_WAKEUP, "nobody is woken for it");
	check_interval("from, woken, until, run delay", 2000, 2500, 2600, 100);
	switch_to(3000, &a, &idle, false, 1);
	wake(3400, &idle, &a);
	switch_to(3401, &idle, &a, false, 0);
	is(last()->runner, 0, "an idle CPU has no runner");
	is_str(last()->waker_comm, "swapper/3",
	       "an interrupt wakes in the name of whom it interrupts");
	check_interval("the next interval", 3000, 3400, 3401, 1);
}

static void test_early_waking(void)
{
	struct task_struct a = make(701, PROCESS, "a"), b = make(9, 9, "waker");
	reset();
	born(&a);
	a.syscall = 7;
	switch_to(1000, &idle, &a, false, 0);
	wake(1900, &b, &a);
	a.sched_info.last_queued = 0;
	switch_to(2000, &a, &idle, false, 1);
	switch_to(2300, &idle, &a, false, 0);
	is(last()->waker, 9, "a waking before the switch is that of the sleep");
	check_interval("which it ends at its begin", 2000, 2000, 2300, 0);
}

static void test_interrupts(void)
{
	struct task_struct a = make(701, PROCESS, "a"), b = make(9, 9, "b");
	char *mine = (char *)__builtin_frame_address(0) - (16 << 10);
	static const struct {
		const char *name;
		bool elsewhere;
		long syscall;
		uint32_t interrupt;
	} rows[] = {
		{"a thread that wakes another in a system call", false, 1, 0},
		{"an interrupt of a system call, on a stack of its own", true, 1, 1},
		{"an interrupt of a program, on the thread's stack", false, -1, 1},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t args[] = {(uintptr_t)&a};
		reset();
		a.bpf_storage = NULL;
		born(&a);
		switch_to(1000, &idle, &a, false, 0);
		switch_to(2000, &a, &b, false, 1);
		b.stack = rows[i].elsewhere ? mine - (1 << 20) : mine;
		b.syscall = rows[i].syscall;
		time_ns = 2500;
		current = &b;
		ebt_offcpu_waking(args);
		switch_to(2600, &b, &a, false, 1);
		ok(kernel.records == 1 && last()->waker == 9 &&
			   last()->interrupt == rows[i].interrupt,
		   "%s", rows[i].name);
	}
}

static void test_preempted(void)
{
	struct task_struct a = make(701, PROCESS, "a"), b = make(9, 9, "short"),
			   c = make(10, 10, "long");
	reset();
	born(&a);
	a.syscall = 24;
	switch_to(1000, &idle, &a, false, 0);
	switch_to(2000, &a, &b, true, 1);
	switch_to(2100, &b, &c, false, 1);
	switch_to(2900, &c, &b, false, 1);
	switch_to(3000, &b, &a, false, 1);
	const struct ebt_offcpu_record *r = last();
	is(r->head.site, EBT_OFFCPU_PREEMPTED, "a preempted thread, whatever its state is");
	ok(r->syscall == -1 && !r->waker && !*r->waker_comm,
	   "nobody woke it, it waited in no system call");
	is(r->runner, 10, "who ran the longest in its place");
	is_str(r->runner_comm, "long", "its name");
	is(r->runner_cpu, CPU, "and on which CPU");
	is(waiters.any_used, 0, "its place among the waiters is free");
	check_interval("it could run all the time", 2000, 2000, 3000, 1000);
	switch_to(4000, &a, &b, false, 0);
	switch_to(4500, &b, &a, false, 1);
	is(last()->head.site, EBT_OFFCPU_PREEMPTED, "one that yields could have run on");
	check_interval("until it runs again", 4000, 4000, 4500, 500);
}

static void test_many_waiters(void)
{
	struct task_struct t[CPU_WAITERS + 2], hog = make(9, 9, "hog");
	reset();
	for (int i = 0; i < CPU_WAITERS + 2; i++) {
		t[i] = make(701 + i, PROCESS, "t");
		born(&t[i]);
	}
	switch_to(1000, &idle, &t[0], false, 0);
	for (int i = 1; i < CPU_WAITERS + 2; i++)
		switch_to(1000 + 10u * (unsigned)i, &t[i - 1], &t[i], true, 0);
	switch_to(2000, &t[CPU_WAITERS + 1], &hog, true, 0);
	switch_to(5000, &hog, &t[0], true, 0);
	is(last()->runner, 9, "of many waiters the first has the longest runner");
	for (int i = 1; i < CPU_WAITERS + 2; i++)
		switch_to(5000 + 10u * (unsigned)i, &t[i - 1], &t[i], false, 1);
	is(kernel.records, CPU_WAITERS + 2,
	   "each has its interval, also beyond the places for runners");
	is(waiters.any_used, 0, "no place is kept");
}

static void test_reasons(void)
{
	static const struct {
		const char *name;
		uint32_t state;
		bool iowait;
		long syscall;
		uint32_t reason;
	} rows[] = {
		{"uninterruptible", 2, false, 74, EBT_OFFCPU_UNINTERRUPTIBLE},
		{"killable", 0x102, false, 74, EBT_OFFCPU_UNINTERRUPTIBLE},
		{"waits for a device", 2, true, 74, EBT_OFFCPU_IOWAIT},
		{"waits for a page", 2, true, -1, EBT_OFFCPU_FAULT},
		{"interruptible", 1, false, 0, EBT_OFFCPU_SLEEP},
		{"stopped by a signal", 4, false, -1, EBT_OFFCPU_STOPPED},
		{"stopped by a debugger", 8, false, 1, EBT_OFFCPU_STOPPED},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct task_struct a = make(701, PROCESS, "a");
		reset();
		born(&a);
		a.in_iowait = rows[i].iowait;
		a.syscall = rows[i].syscall;
		switch_to(1000, &idle, &a, false, 0);
		switch_to(2000, &a, &idle, false, rows[i].state);
		a.syscall = 99;
		switch_to(3000, &idle, &a, false, 0);
		ok(kernel.records == 1 && last()->head.site == rows[i].reason &&
			   last()->syscall == rows[i].syscall,
		   "%s", rows[i].name);
	}
}

static void test_bystanders(void)
{
	struct task_struct a = make(801, 800, "a"), b = make(802, 800, "b");
	reset();
	born(&a);
	born(&b);
	switch_to(1000, &a, &b, false, 1);
	wake(1500, &b, &a);
	switch_to(2000, &b, &a, true, 0);
	ok(!kernel.records && !stored && !waiters.any_used, "others leave no trace");
	struct task_struct t = make(701, PROCESS, "t");
	born(&t);
	switch_to(3000, &a, &t, false, 1);
	switch_to(4000, &t, &a, true, 0);
	switch_to(5000, &a, &t, false, 1);
	is(kernel.records, 1, "the thread has its interval between them");
}

static void test_unseen_switch(void)
{
	struct task_struct a = make(701, PROCESS, "a"), b = make(9, 9, "b");
	reset();
	born(&a);
	a.syscall = 35;
	switch_to(1000, &idle, &a, false, 0);
	switch_to(2000, &a, &b, false, 1);
	wake(2500, &b, &a);
	/* It is switched in at 2600, and no tracepoint says so. */
	a.sched_info.run_delay += 100;
	a.sched_info.last_arrival = 2650;
	a.sched_info.last_queued = 0;
	switch_to(4000, &a, &b, false, 1);
	check_interval("a switch in that was not seen is recorded at the next one out", 2000, 2500,
		       2600, 100);
	wake(4100, &b, &a);
	switch_to(4200, &b, &a, false, 1);
	check_interval("and the interval behind it as usual", 4000, 4100, 4200, 100);
}

static void test_end(void)
{
	struct task_struct a = make(701, PROCESS, "a");
	uint64_t exit[] = {(uintptr_t)&a};
	reset();
	born(&a);
	switch_to(1000, &idle, &a, false, 0);
	ebt_offcpu_exit(exit);
	switch_to(2000, &a, &idle, true, 0);
	switch_to(3000, &idle, &a, false, 0);
	switch_to(4000, &a, &idle, false, 0x80);
	is(kernel.records, 0, "a thread that has ended has no more intervals");
}

static void test_flush(void)
{
	struct task_struct a = make(701, PROCESS, "a"), b = make(702, PROCESS, "b");
	uint64_t of_a[] = {0, (uintptr_t)&a}, of_b[] = {0, (uintptr_t)&b}, none[] = {0, 0};
	reset();
	a.syscall = 202;
	a.__state = 1;
	time_ns = 1000;
	ebt_offcpu_begin(of_a);
	b.on_cpu = 1;
	ebt_offcpu_begin(of_b);
	ebt_offcpu_begin(none);
	is(stored, 2, "threads of a process that runs already are known");
	time_ns = 2000;
	ebt_offcpu_flush(of_b);
	ebt_offcpu_flush(none);
	is(kernel.records, 0, "one that runs has no open interval");
	ebt_offcpu_flush(of_a);
	ok(last()->open && !last()->waker && last()->syscall == 202 &&
		   last()->head.cpu == EBT_NO_CPU,
	   "one that sleeps has, from when it became known");
	check_interval("nobody has woken it", 1000, 0, 2000, 0);
	wake(2400, &b, &a);
	switch_to(2500, &idle, &a, false, 0);
	ok(!last()->open, "then it ends");
	check_interval("where it was cut the rest begins", 2000, 2400, 2500, 100);
	ebt_offcpu_begin(of_a);
	is(storage[0].from, 0, "a thread that is known is left alone");
	switch_to(3000, &a, &idle, false, 1);
	a.on_cpu = 1;
	time_ns = 3100;
	ebt_offcpu_flush(of_a);
	is(kernel.records, 0, "nor is one reported that is just leaving its CPU");
	a.on_cpu = 0;
	ebt_offcpu_flush(of_a);
	ok(last()->open && !last()->waker && !*last()->waker_comm,
	   "who woke it before is not who has not woken it yet");
	/* It ran in between, which was not seen. */
	a.sched_info.run_delay += 70;
	time_ns = 3200;
	ebt_offcpu_flush(of_a);
	is(last()->run_delay, 70, "the kernel's account has grown during an open interval");
	time_ns = 3300;
	ebt_offcpu_flush(of_a);
	is(last()->run_delay, 0, "the next one does not have that again");
	kernel.records = 0;
	switch_to(4000, &idle, &b, false, 0);
	switch_to(5000, &b, &idle, false, 0x80);
	b.on_cpu = 0;
	ebt_offcpu_flush(of_b);
	is(kernel.records, 0, "a thread that has ended has none that is open");
}

static void test_full(void)
{
	struct task_struct a = make(701, PROCESS, "a"), b = make(9, 9, "b");
	reset();
	born(&a);
	switch_to(1000, &idle, &a, false, 0);
	switch_to(2000, &a, &b, true, 0);
	kernel.full = true;
	uint64_t before = ebt_dropped.nowhere;
	switch_to(3000, &b, &a, false, 1);
	ok(ebt_dropped.nowhere == before + 1 && !waiters.any_used,
	   "without room it is counted as lost, and nothing is kept");
}

static void test_threads(void)
{
	struct task_struct a = make(701, PROCESS, "a"), other = make(801, 800, "other"),
			   mine = {.tgid = PROCESS}, its = {.tgid = 800};
	uint64_t thread[] = {(uintptr_t)&mine, (uintptr_t)&a};
	uint64_t alien[] = {(uintptr_t)&its, (uintptr_t)&other};
	const struct ebt_thread_record *r = (const struct ebt_thread_record *)kernel.rec;
	reset();
	born(&a);
	ebt_offcpu_fork(alien);
	is(kernel.records, 0,
	   "neither a process nor another one's thread is recorded as it begins");
	ebt_offcpu_fork(thread);
	ok(r->head.type == EBT_RECORD_THREAD && r->head.slot == SLOT && r->ts == time_ns,
	   "a thread is");
	uint64_t before = ebt_dropped.nowhere;
	kernel.full = true;
	ebt_offcpu_fork(thread);
	is(ebt_dropped.nowhere, before + 1, "without room that is a loss");
}

/* The record's stack: 0: none. */
static uint64_t stack_tid(void)
{
	const struct ebt_offcpu_record *r = last();
	const struct ebt_sample_record *sample = (const void *)(r + 1);
	const struct sample_c *c = (const void *)(sample + 1);
	if (!r->head.size)
		return 0;
	bool whole = r->head.size == sizeof(*sample) + sample->head.size;
	return whole && c->ts == r->from ? c->tid : UINT64_MAX;
}

static void test_stacks(void)
{
	struct task_struct a = make(701, PROCESS, "a"), b = make(702, PROCESS, "ocaml"),
			   other = make(9, 9, "hog");
	reset();
	ebt_offcpu_stacks = ROOMS;
	ebt_offcpu_min_ns = ebt_offcpu_stack_min_ns = 1000;
	born(&a);
	born(&b);
	switch_to(1000, &idle, &a, false, 0);
	switch_to(2000, &a, &b, false, 1);
	switch_to(3500, &b, &a, false, 1);
	ok(kernel.records == 1 && last()->from == 2000 && last()->ts == 3500,
	   "a block is recorded");
	is(stack_tid(), 701, "with the stack at its begin");
	kernel.records = 0;
	switch_to(4000, &a, &b, true, 0);
	is(kernel.records, 0, "a shorter one is not");
	switch_to(4100, &b, &a, false, 1);
	is(kernel.records + waiters.any_used, 0, "and nothing waits for the end of it");
	switch_to(5000, &a, &other, true, 0);
	switch_to(8100, &other, &b, false, 1);
	const struct ebt_sample_record *sample = (const void *)(last() + 1);
	ok(stack_tid() == 702 && sample->head.site == EBT_SAMPLE_OCAML &&
		   sample->domain == OCAML_DOMAIN,
	   "a stack of OCaml has its domain");
	kernel.full = true;
	uint64_t lost = ebt_dropped.nowhere;
	switch_to(9000, &b, &a, false, 1);
	is((unsigned)(ebt_dropped.nowhere - lost), 1, "one for which there is no room is counted");
}

static void test_rooms(void)
{
	struct task_struct t[4], hog = make(9, 9, "hog");
	uint64_t exit[] = {(uintptr_t)&t[0]}, begin[] = {0, (uintptr_t)&t[3]};
	reset();
	ebt_offcpu_stacks = ROOMS;
	for (int i = 0; i < 3; i++) {
		t[i] = make(701 + i, PROCESS, "t");
		born(&t[i]);
	}
	switch_to(1000, &idle, &t[0], false, 0);
	switch_to(1100, &t[0], &t[1], false, 1);
	switch_to(1200, &t[1], &t[2], false, 1);
	switch_to(2000, &t[2], &hog, false, 1);
	switch_to(3000, &hog, &t[2], false, 1);
	ok(kernel.records == 1 && !stack_tid() && last()->from == 2000,
	   "where all rooms are in use a thread has its intervals without stacks");
	switch_to(4000, &t[2], &t[0], false, 1);
	is(stack_tid(), 701, "the others have them");
	ebt_offcpu_exit(exit);
	t[3] = make(704, PROCESS, "t");
	t[3].__state = 1;
	time_ns = 7000;
	ebt_offcpu_begin(begin);
	switch_to(8000, &t[0], &t[3], false, STATE_DEAD);
	ok(last()->head.tid == 704 && !stack_tid(),
	   "a thread that waits when it is found has none, not that of the last one there");
	switch_to(9000, &t[3], &hog, false, 1);
	switch_to(9500, &hog, &t[3], false, 1);
	is(stack_tid(), 704, "from then on it has the room of one that has ended");
}

static void test_open_stacks(void)
{
	struct task_struct a = make(701, PROCESS, "a");
	uint64_t of_a[] = {0, (uintptr_t)&a};
	reset();
	ebt_offcpu_stacks = ROOMS;
	ebt_offcpu_min_ns = ebt_offcpu_stack_min_ns = 1000;
	born(&a);
	switch_to(1000, &idle, &a, false, 0);
	switch_to(2000, &a, &idle, false, 1);
	kernel.records = 0;
	time_ns = 2900;
	ebt_offcpu_flush(of_a);
	is(kernel.records, 0, "an open block that is too short is not recorded");
	time_ns = 3000;
	ebt_offcpu_flush(of_a);
	ok(kernel.records == 1 && last()->open && last()->ts == 3000 && stack_tid() == 701,
	   "one that is long enough is, with its stack");
	rooms[0].changes |= 1;
	time_ns = 5000;
	ebt_offcpu_flush(of_a);
	ok(kernel.records == 2 && !stack_tid(), "but not one that is being written");
	reset();
}

/* Of what is recorded the blocks in pauses have their stacks, if they are long. */
static void test_pauses(void)
{
	struct task_struct a = make(701, PROCESS, "a");
	reset();
	ebt_offcpu_stacks = ROOMS;
	ebt_offcpu_stack_min_ns = 1000;
	ebt_offcpu_in_pauses = 1;
	threads_enter_pause(&a);
	ok(!a.bpf_storage, "a pause of a thread that is not known is not noted");
	threads_leave_pause(&a);
	born(&a);
	threads_leave_pause(&a);
	switch_to(1000, &idle, &a, false, 0);
	switch_to(2000, &a, &idle, false, 1);
	switch_to(4000, &idle, &a, false, 0);
	ok(kernel.records == 1 && !stack_tid() && !storage[0].room,
	   "outside of a pause a block has no stack, nor does its thread take room for one");
	threads_enter_pause(&a);
	threads_enter_pause(&a);
	threads_leave_pause(&a);
	switch_to(5000, &a, &idle, false, 1);
	switch_to(6000, &idle, &a, false, 0);
	is(stack_tid(), 701, "in one that a second program has counted, too, it has");
	switch_to(7000, &a, &idle, false, 1);
	switch_to(7999, &idle, &a, false, 0);
	ok(kernel.records == 3 && !stack_tid(), "if it is long enough; a short one is recorded");
	threads_leave_pause(&a);
	switch_to(8000, &a, &idle, false, 1);
	switch_to(9999, &idle, &a, false, 0);
	ok(kernel.records == 4 && !stack_tid(),
	   "behind the pause a block has none, not the one that was kept last");
	reset();
}

int main(void)
{
	test_threads();
	test_sleep();
	test_early_waking();
	test_interrupts();
	test_preempted();
	test_many_waiters();
	test_reasons();
	test_bystanders();
	test_unseen_switch();
	test_end();
	test_flush();
	test_stacks();
	test_rooms();
	test_open_stacks();
	test_pauses();
	test_full();
	return tap_done();
}
