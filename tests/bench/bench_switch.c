/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel does, alone: fault (new pages are touched), yield (two threads of one CPU switch
 * to each other), wake (the same, but each sleeps until the other wakes it). Arguments: which, and
 * a file, into which goes what one switch or fault takes, in ns: the median of several runs, which
 * are short: a tracer has time to read between them.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RUNS   60
#define ROUNDS 2000

static _Atomic uint32_t turn;
static bool sleeps;

/* CPU time: both threads always run or switch, and what others run meanwhile is not theirs. */
static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static long switches(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return u.ru_nvcsw + u.ru_nivcsw;
}

static void futex(int op, uint32_t value)
{
	syscall(SYS_futex, &turn, op, value, NULL, NULL, 0);
}

/* Takes turns: odd, even. */
static void play(uint32_t mine)
{
	for (int i = 0; i < ROUNDS; i++) {
		for (uint32_t now; ((now = atomic_load(&turn)) & 1) != mine;) {
			if (sleeps)
				futex(FUTEX_WAIT_PRIVATE, now);
			else
				sched_yield();
		}
		atomic_fetch_add(&turn, 1);
		if (sleeps)
			futex(FUTEX_WAKE_PRIVATE, 1);
	}
}

static void *other(void *arg)
{
	play(1);
	return arg;
}

/* ns of a switch. */
static double run_switches(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, other, NULL);
	double begin = now_ns();
	long before = switches();
	play(0);
	pthread_join(thread, NULL);
	return (now_ns() - begin) / (double)(switches() - before);
}

/* ns of a fault. */
static double run_faults(void)
{
	const size_t bytes = ROUNDS * 4096ul;
	char *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		exit(1);
	madvise(map, bytes, MADV_NOHUGEPAGE);
	double begin = now_ns();
	for (size_t at = 0; at < bytes; at += 4096)
		((volatile char *)map)[at] = 1;
	double ns = (now_ns() - begin) / ROUNDS;
	munmap(map, bytes);
	return ns;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	double ns[RUNS];
	if (argc != 3 || (strcmp(argv[1], "yield") != 0 && strcmp(argv[1], "wake") != 0 &&
			  strcmp(argv[1], "fault") != 0))
		return 2;
	double (*run)(void) = strcmp(argv[1], "fault") != 0 ? run_switches : run_faults;
	sleeps = !strcmp(argv[1], "wake");
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		return 1;
	for (int i = 0; i < RUNS; i++) {
		ns[i] = run();
		usleep(5000);
	}
	qsort(ns, RUNS, sizeof(*ns), compare);
	FILE *f = fopen(argv[2], "we");
	if (!f || fprintf(f, "%.1f\n", ns[RUNS / 2]) < 0 || fclose(f))
		return 1;
	return 0;
}
