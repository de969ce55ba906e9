// SPDX-License-Identifier: BSD-2-Clause
/*
 * Runs a command and says what it cost: "WALL_S CPU_S PEAK_RSS_KIB" to the file named first.
 * usage: bench_usage FILE COMMAND [ARG...]. CPU time and RSS are of the command and of what it has
 * waited for, so a traced child is to be started beside, not below. No command: no output.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	struct timespec a, b;
	struct rusage u;
	int status;

	if (argc < 3)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &a);
	pid_t pid = fork();
	if (!pid) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &u) < 0)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &b);
	FILE *f = fopen(argv[1], "w");
	if (!f)
		return 1;
	fprintf(f, "%.3f %.3f %ld\n",
		(double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9,
		seconds(u.ru_utime) + seconds(u.ru_stime), u.ru_maxrss);
	return fclose(f) || !WIFEXITED(status) ? 1 : WEXITSTATUS(status);
}
