/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * offcpu FILE STEP...: does not run, for a known reason in each step, and prints of each
 *	step tid begin_ns end_ns switches wait_ns off_ns syscall waker voluntary involuntary
 *	minor major
 * by CLOCK_MONOTONIC, getrusage, /proc/self/task/TID/schedstat and the thread's CPU time: what the
 * kernel has counted from begin to end. syscall, waker: -1 where there is none. `stop` stops it.
 * In tests/prog/blamed each step is a pause, too, in tests/prog/spanned a span.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/prog/work.h"

#define ROUNDS	    40
#define FILE_BYTES  (16u << 20)
#define TOUCH_BYTES (1u << 20)
#define SPIN_NS	    200000000ull
#define PREEMPTIONS 250

struct counters {
	uint64_t ns, switches, wait_ns, cpu_ns;
	struct rusage usage;
};

#ifdef BLAMED
#include <ebtrace/probes.h>
#define begin_pause() ebt_begin(EBT_PHASE_major)
#define end_pause()   ebt_end(EBT_PHASE_major)
#elif defined(SPANNED)
#include <ebtrace/probes.h>
#define begin_pause() ebt_span_begin(ebt_register("step", EBT_USER_SPAN))
#define end_pause()   ebt_span_end(ebt_register("step", EBT_USER_SPAN))
#else
#define begin_pause() (void)0
#define end_pause()   (void)0
#endif

static const char *path;

static void count(struct counters *c)
{
	char name[64];
	unsigned long long ran = 0, waited = 0;
	snprintf(name, sizeof(name), "/proc/self/task/%d/schedstat", (int)gettid());
	FILE *f = fopen(name, "re");
	if (!f || fscanf(f, "%llu %llu", &ran, &waited) != 2)
		exit(1);
	fclose(f);
	getrusage(RUSAGE_THREAD, &c->usage);
	c->wait_ns = waited;
	c->switches = (uint64_t)(c->usage.ru_nvcsw + c->usage.ru_nivcsw);
	c->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	c->ns = clock_ns(CLOCK_MONOTONIC);
}

/* A moment at which the counters are those, as no switch came between them and the clock. */
static void read_counters(struct counters *ret)
{
	struct counters after;
	do {
		count(ret);
		count(&after);
	} while (after.switches != ret->switches || after.wait_ns != ret->wait_ns);
}

static void begin_step(struct counters *ret)
{
	read_counters(ret);
	begin_pause();
}

static void end_step(struct counters *ret)
{
	end_pause();
	read_counters(ret);
}

static void print_step(const char *step, const struct counters *a, const struct counters *b,
		       long syscall, int waker)
{
	const struct rusage *u = &a->usage, *v = &b->usage;
	/* In one call: other threads print, too. */
	printf("%s %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
	       " %ld %d %ld %ld %ld %ld\n",
	       step, (int)gettid(), a->ns, b->ns, b->switches - a->switches,
	       b->wait_ns - a->wait_ns, b->ns - a->ns - (b->cpu_ns - a->cpu_ns), syscall, waker,
	       v->ru_nvcsw - u->ru_nvcsw, v->ru_nivcsw - u->ru_nivcsw, v->ru_minflt - u->ru_minflt,
	       v->ru_majflt - u->ru_majflt);
	fflush(stdout);
}

/* ---- steps ---- */

static void nap(long ns)
{
	struct timespec t = {ns / 1000000000, ns % 1000000000};
	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static void do_sleep(void)
{
	struct counters a, b;
	begin_step(&a);
	for (int i = 0; i < ROUNDS; i++)
		nap(2000000);
	end_step(&b);
	print_step("sleep", &a, &b, SYS_clock_nanosleep, -1);
}

static _Atomic uint32_t word;
static int holder;

static void *wait_for_word(void *arg)
{
	struct counters a, b;
	(void)arg;
	prctl(PR_SET_NAME, "waiter");
	begin_step(&a);
	for (uint32_t i = 0; i < ROUNDS; i++)
		while (atomic_load(&word) == i)
			syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, i, NULL, NULL, 0);
	end_step(&b);
	print_step("futex", &a, &b, SYS_futex, holder);
	return NULL;
}

/* The word is held for 3 ms at a time, by running: so the waker is the holder. */
static void do_futex(void)
{
	pthread_t waiter;
	holder = (int)gettid();
	pthread_create(&waiter, NULL, wait_for_word, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		for (uint64_t until = clock_ns(CLOCK_MONOTONIC) + 3000000;
		     clock_ns(CLOCK_MONOTONIC) < until;)
			;
		atomic_fetch_add(&word, 1);
		syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	pthread_join(waiter, NULL);
}

static void pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void spin(uint64_t ns)
{
	uint64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		;
}

/* Whether this thread has not run for a third of the time since then. */
static bool is_preempted(const struct counters *since)
{
	uint64_t ns = clock_ns(CLOCK_MONOTONIC) - since->ns;
	uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - since->cpu_ns;
	return ns > cpu_ns + ns / 3;
}

static long involuntary_switches(void)
{
	struct rusage usage;
	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw;
}

/* A child process runs on the same CPU. On a guest that its host has not run for a while, it runs
 * after that. */
static void do_preempt(void)
{
	struct counters a, b;
	cpu_set_t was;
	int cpu = sched_getcpu();
	sched_getaffinity(0, sizeof(was), &was);
	pin(cpu);
	pid_t hog = fork();
	if (!hog) {
		prctl(PR_SET_NAME, "hog");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			spin(SPIN_NS);
	}
	begin_step(&a);
	spin(SPIN_NS);
	for (int i = 0; i < 100 && !is_preempted(&a); i++)
		spin(SPIN_NS);
	end_step(&b);
	print_step("preempt", &a, &b, -1, -1);
	kill(hog, SIGKILL);
	waitpid(hog, NULL, 0);
	sched_setaffinity(0, sizeof(was), &was);
}

/* Woken from another CPU some 3,500 times a second, a child preempts this thread. */
static void do_pinged(void)
{
	struct counters a, b;
	cpu_set_t was;
	int cpu = sched_getcpu(), ping[2];
	char byte = 0;
	sched_getaffinity(0, sizeof(was), &was);
	if (pipe(ping))
		exit(1);
	pin(cpu);
	struct sched_param p = {.sched_priority = 1};
	pid_t pinged = fork();
	if (!pinged) {
		prctl(PR_SET_NAME, "pinged");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (sched_setscheduler(0, SCHED_FIFO, &p))
			_exit(1);
		while (read(ping[0], &byte, 1) == 1)
			;
		_exit(0);
	}
	pid_t pinger = fork();
	if (!pinger) {
		prctl(PR_SET_NAME, "pinger");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_TIMERSLACK, 1ul);
		pin(!cpu);
		/* What else runs there does not delay it. */
		if (sched_setscheduler(0, SCHED_FIFO, &p))
			_exit(1);
		while (write(ping[1], &byte, 1) == 1)
			nap(285000 - 60000);
		_exit(0);
	}
	nap(20000000);
	begin_step(&a);
	/* On a machine that is slow they are fewer in a time: then it takes longer. */
	spin(SPIN_NS);
	for (int i = 0; i < 100 && involuntary_switches() < a.usage.ru_nivcsw + PREEMPTIONS; i++)
		spin(SPIN_NS);
	end_step(&b);
	print_step("pinged", &a, &b, -1, -1);
	kill(pinger, SIGKILL);
	kill(pinged, SIGKILL);
	while (wait(NULL) > 0)
		;
	sched_setaffinity(0, sizeof(was), &was);
}

static void do_fsync(void)
{
	struct counters a, b;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	begin_step(&a);
	for (int i = 0; i < ROUNDS; i++)
		if (pwrite(fd, &i, sizeof(i), i * 4096) < 0 || fsync(fd))
			exit(1);
	end_step(&b);
	print_step("fsync", &a, &b, SYS_fsync, -1);
	close(fd);
}

static void do_fault(void)
{
	struct counters a, b;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	static char block[1 << 20];
	memset(block, 1, sizeof(block));
	for (unsigned at = 0; at < FILE_BYTES; at += sizeof(block))
		if (pwrite(fd, block, sizeof(block), at) < 0)
			exit(1);
	fsync(fd);
	char *map = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	madvise(map, FILE_BYTES, MADV_RANDOM);
	posix_fadvise(fd, 0, FILE_BYTES, POSIX_FADV_DONTNEED);
	volatile unsigned sum = 0;
	begin_step(&a);
	for (unsigned at = 0; at < FILE_BYTES; at += 16 * 4096)
		sum += (unsigned)map[at];
	end_step(&b);
	print_step("fault", &a, &b, -1, -1);
	munmap(map, FILE_BYTES);
	close(fd);
}

/* What was given back is touched again. */
static void do_touch(void)
{
	struct counters a, b;
	char *map =
		mmap(NULL, TOUCH_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(map, TOUCH_BYTES, MADV_NOHUGEPAGE);
	begin_step(&a);
	for (int i = 0; i < ROUNDS; i++) {
		for (unsigned at = 0; at < TOUCH_BYTES; at += 4096)
			((volatile char *)map)[at] = 1;
		madvise(map, TOUCH_BYTES, MADV_DONTNEED);
	}
	end_step(&b);
	print_step("touch", &a, &b, -1, -1);
	munmap(map, TOUCH_BYTES);
}

#ifdef BLAMED
/* Each fault fails, and a signal's handler maps the page: it has no end, and what the
 * handler does is no fault. */
static char *guarded;

static void unguard(int signal)
{
	(void)signal;
	mprotect(guarded, 4096, PROT_READ | PROT_WRITE);
	nap(2000000);
	spin(2000000);
}

static void do_guard(void)
{
	struct counters a, b;
	struct sigaction on_fault = {.sa_handler = unguard}, was;
	guarded = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &on_fault, &was);
	begin_step(&a);
	for (int i = 0; i < ROUNDS; i++) {
		mprotect(guarded, 4096, PROT_NONE);
		*(volatile char *)guarded = 1;
	}
	end_step(&b);
	sigaction(SIGSEGV, &was, NULL);
	print_step("guard", &a, &b, SYS_clock_nanosleep, -1);
	munmap(guarded, 4096);
}
#endif

static void *sleep_long(void *arg)
{
	prctl(PR_SET_NAME, "sleeper");
	printf("sleeper %d\n", (int)gettid());
	fflush(stdout);
	pause();
	return arg;
}

/* A thread that sleeps from here on to the end. */
static void do_sleeper(void)
{
	pthread_t sleeper;
	pthread_create(&sleeper, NULL, sleep_long, NULL);
	nap(20000000);
}

static void do_child(void)
{
	pid_t child = fork();
	if (!child) {
		do_sleep();
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void do_stop(void)
{
	kill(getpid(), SIGSTOP);
}

#ifdef BLAMED
static pthread_barrier_t barrier;
static atomic_int waiting;

/* From when the two others wait on, asleep or by what it does. */
static void be_late(long ns, void (*spend)(long ns))
{
	while (atomic_load(&waiting) < 2)
		spend(1000000);
	spend(ns);
}

static void be_busy(long ns)
{
	spin((uint64_t)ns);
}

/* arg: how long it is held up before it arrives, asleep; negative: by what it does. */
static void *collect(void *arg)
{
	struct counters a, b;
	long held_ns = *(const long *)arg;
	ebt_begin(EBT_PHASE_domain_condition_wait);
	pthread_barrier_wait(&barrier);
	ebt_end(EBT_PHASE_domain_condition_wait);
	begin_step(&a);
	if (held_ns > 0)
		be_late(held_ns, nap);
	else if (held_ns)
		be_late(-held_ns, be_busy);
	ebt_begin(EBT_PHASE_stw_api_barrier);
	atomic_fetch_add(&waiting, !held_ns);
	pthread_barrier_wait(&barrier);
	ebt_end(EBT_PHASE_stw_api_barrier);
	end_step(&b);
	print_step(held_ns ? "held" : "barrier", &a, &b, -1, -1);
	return NULL;
}

/* One long interval. */
static void do_hold(void)
{
	begin_pause();
	nap(2000000000);
	end_pause();
}

/* Three collect; one of them is held up. */
static void hold_up(const long held_ns[3])
{
	pthread_t thread[3];
	pthread_barrier_init(&barrier, NULL, 3);
	atomic_store(&waiting, 0);
	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, collect, (void *)&held_ns[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
}

static void do_barrier(void)
{
	hold_up((const long[]){0, 0, 60000000});
}

static void do_busy(void)
{
	hold_up((const long[]){0, 0, -60000000});
}
#endif

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fn)(void);
	} steps[] = {
		{"sleep", do_sleep},	 {"futex", do_futex}, {"preempt", do_preempt},
		{"fsync", do_fsync},	 {"fault", do_fault}, {"pinged", do_pinged},
		{"sleeper", do_sleeper}, {"child", do_child}, {"stop", do_stop},
		{"touch", do_touch},
#ifdef BLAMED
		{"barrier", do_barrier}, {"busy", do_busy},   {"hold", do_hold},
		{"guard", do_guard},
#endif
	};
	if (argc < 3)
		return 2;
	path = argv[1];
	for (int i = 2; i < argc; i++)
		for (size_t s = 0; s < sizeof(steps) / sizeof(*steps); s++)
			if (!strcmp(argv[i], steps[s].name))
				steps[s].fn();
	return 0;
}
