// SPDX-License-Identifier: BSD-2-Clause
/*
 * What processes and threads cost the tracer that follows them: a program that runs under ebtrace,
 * starts them, and reads what its parent, the tracer, holds and has used by then. Each begins and
 * ends a phase PHASES times; a child in turn may run PROGRAM instead. usage: ebtrace [OPTIONS] --
 * bench_children FILE turns|together|threads COUNT [PROGRAM [ARG...]]
 *
 * A line of FILE: "COUNT DESCRIPTORS RSS_KIB CPU_NS HELPERS_CPU_NS WALL_NS": the CPU time is of the
 * tracer's threads, and of the processes that hold its probes. In turns there is a line at 0,
 * 1,000, COUNT - 1,000 and COUNT children, and when all are gone; else one at 0, when all live, and
 * when all are gone.
 */
#include <dirent.h>
#include <ebtrace/probes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PHASES	      10
#define THOUSAND      1000
#define SETTLES_US    500000
#define SETTLES_TRIES 20
#define TICK_NS	      (1000000000 / sysconf(_SC_CLK_TCK))

static int count_descriptors(pid_t pid)
{
	char path[64];
	int n = 0;
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));)
		n += *e->d_name != '.';
	if (d)
		closedir(d);
	return n;
}

static long read_rss_kib(pid_t pid)
{
	char path[64], line[128];
	long kib = -1;
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	FILE *f = fopen(path, "r");
	while (f && kib < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "VmRSS: %ld", &kib);
	if (f)
		fclose(f);
	return kib;
}

static long long read_cpu_ns(pid_t pid)
{
	char path[300];
	long long sum = 0, ns;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));) {
		snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", pid, e->d_name);
		FILE *f = *e->d_name == '.' ? NULL : fopen(path, "r");
		if (f && fscanf(f, "%lld", &ns) == 1)
			sum += ns;
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return sum;
}

/* Of a process and those that it has waited for, in ticks of 10 ms. */
static long long read_family_ns(pid_t pid)
{
	char path[64], stat[1024] = "";
	long long t[4] = {0};
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *f = fopen(path, "r");
	if (f && fgets(stat, sizeof(stat), f) && strrchr(stat, ')'))
		sscanf(strrchr(stat, ')') + 1,
		       " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld", &t[0],
		       &t[1], &t[2], &t[3]);
	if (f)
		fclose(f);
	return (t[0] + t[1] + t[2] + t[3]) * TICK_NS;
}

static long long read_helpers_ns(pid_t tracer)
{
	char path[64];
	int child;
	long long sum = 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", tracer, tracer);
	FILE *f = fopen(path, "r");
	while (f && fscanf(f, "%d", &child) == 1)
		sum += child == getpid() ? 0 : read_family_ns(child);
	if (f)
		fclose(f);
	return sum;
}

static void report(FILE *out, int count)
{
	pid_t tracer = getppid();
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	fprintf(out, "%d %d %ld %lld %lld %lld\n", count, count_descriptors(tracer),
		read_rss_kib(tracer), read_cpu_ns(tracer), read_helpers_ns(tracer),
		t.tv_sec * 1000000000ll + t.tv_nsec);
	fflush(out);
}

static void work(void)
{
	for (int i = 0; i < PHASES; i++) {
		ebt_begin(EBT_PHASE_minor);
		ebt_end(EBT_PHASE_minor);
	}
}

static int run_in_turns(FILE *out, int count, char **program)
{
	int failed = 0;
	for (int i = 0; i < count; i++) {
		int status;
		if (!i || i == THOUSAND || i == count - THOUSAND)
			report(out, i);
		pid_t pid = fork();
		if (!pid && *program) {
			execv(*program, program);
			_exit(127);
		} else if (!pid) {
			work();
			exit(0);
		}
		failed += pid < 0 || waitpid(pid, &status, 0) != pid || status;
	}
	report(out, count);
	return failed;
}

static int run_together(FILE *out, int count)
{
	int done[2], end[2], failed = 0, status;
	char byte = 0;
	if (pipe(done) || pipe(end))
		return 1;
	report(out, 0);
	for (int i = 0; i < count && !failed; i++) {
		pid_t pid = fork();
		failed = pid < 0;
		if (pid)
			continue;
		close(end[1]);
		work();
		exit(write(done[1], "", 1) != 1 || read(end[0], &byte, 1));
	}
	for (int i = 0; i < count && !failed; i++)
		failed = read(done[0], &byte, 1) != 1;
	usleep(SETTLES_US);
	report(out, count);
	close(end[1]);
	while (wait(&status) > 0)
		failed += status != 0;
	return failed;
}

static pthread_barrier_t all_done, all_end;

static void *run_thread(void *unused)
{
	work();
	pthread_barrier_wait(&all_done);
	pthread_barrier_wait(&all_end);
	return unused;
}

static int run_threads(FILE *out, int count)
{
	pthread_attr_t small;
	pthread_t *thread = calloc((size_t)count, sizeof(*thread));
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	pthread_barrier_init(&all_done, NULL, (unsigned)count + 1);
	pthread_barrier_init(&all_end, NULL, (unsigned)count + 1);
	report(out, 0);
	for (int i = 0; i < count; i++)
		if (!thread || pthread_create(&thread[i], &small, run_thread, NULL))
			return 1;
	pthread_barrier_wait(&all_done);
	usleep(SETTLES_US);
	report(out, count);
	pthread_barrier_wait(&all_end);
	for (int i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
	free(thread);
	return 0;
}

/* Until the tracer has noticed all ends. */
static void settle(int descriptors)
{
	for (int i = 0; i < SETTLES_TRIES; i++) {
		usleep(SETTLES_US);
		if (count_descriptors(getppid()) <= descriptors)
			return;
	}
}

int main(int argc, char **argv)
{
	FILE *out = argc > 3 ? fopen(argv[1], "we") : NULL;
	int count = out ? atoi(argv[3]) : 0, failed;
	if (count < 1)
		return 2;
	usleep(SETTLES_US);
	int before = count_descriptors(getppid());
	if (!strcmp(argv[2], "turns"))
		failed = run_in_turns(out, count, argv + 4);
	else if (!strcmp(argv[2], "together"))
		failed = run_together(out, count);
	else
		failed = run_threads(out, count);
	settle(before);
	report(out, count);
	return fclose(out) || failed;
}
