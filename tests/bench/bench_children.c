// SPDX-License-Identifier: BSD-2-Clause
/*
 * What short lives cost the tracer that follows them: a program that runs under ebtrace, starts
 * CHILDREN processes one after the other and reads what its parent, the tracer, holds and has used by
 * then. Each child begins and ends a phase PHASES times, or runs PROGRAM.
 * usage: ebtrace [OPTIONS] -- bench_children FILE CHILDREN [PROGRAM [ARG...]]
 *
 * A line of FILE, at 0, 1,000, CHILDREN - 1,000 and CHILDREN children, and when all are gone:
 * "CHILDREN DESCRIPTORS RSS_KIB CPU_NS HELPERS_CPU_NS": the CPU time is of the tracer's threads, and
 * of the processes that hold its probes.
 */
#include <dirent.h>
#include <ebtrace/probes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PHASES	   10
#define THOUSAND   1000
#define SETTLES_US 500000 /* the tracer has noticed all ends */
#define TICK_NS	   (1000000000 / sysconf(_SC_CLK_TCK))

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

static void report(FILE *out, int children)
{
	pid_t tracer = getppid();
	fprintf(out, "%d %d %ld %lld %lld\n", children, count_descriptors(tracer),
		read_rss_kib(tracer), read_cpu_ns(tracer), read_helpers_ns(tracer));
}

static void live(char **program)
{
	if (*program) {
		execv(*program, program);
		_exit(127);
	}
	for (int i = 0; i < PHASES; i++) {
		ebt_begin(EBT_PHASE_minor);
		ebt_end(EBT_PHASE_minor);
	}
	exit(0);
}

int main(int argc, char **argv)
{
	FILE *out = argc > 2 ? fopen(argv[1], "we") : NULL;
	int children = out ? atoi(argv[2]) : 0, failed = 0;
	if (children < 2 * THOUSAND)
		return 2;
	usleep(SETTLES_US);
	for (int i = 0; i <= children; i++) {
		int status;
		if (!i || i == THOUSAND || i == children - THOUSAND || i == children) {
			report(out, i);
			fflush(out);
		}
		if (i == children)
			break;
		pid_t pid = fork();
		if (!pid)
			live(argv + 3);
		failed += pid < 0 || waitpid(pid, &status, 0) != pid || status;
	}
	usleep(SETTLES_US);
	report(out, children);
	return fclose(out) || failed;
}
