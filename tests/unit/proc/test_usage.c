/* SPDX-License-Identifier: BSD-2-Clause */
/* What /proc tells of a process against what the kernel tells itself. */
#include "proc/usage.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/tap.h"

static uint64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void burn(uint64_t ns)
{
	uint64_t end = cpu_ns() + ns;
	while (cpu_ns() < end)
		;
}

/* A child that has waited for one of its own, which has computed. What the kernel says of that one
 * goes to `to`. */
static void wait_for_own(int to)
{
	struct rusage ru;
	pid_t own = fork();
	if (!own) {
		uint64_t end = cpu_ns() + 150000000;
		/* Few of the calls that read the clock: the time is the program's own. */
		for (volatile uint64_t i = 1; i % 100000 || cpu_ns() < end; i++)
			;
		burn(50000000);
		_exit(0);
	}
	waitpid(own, NULL, 0);
	getrusage(RUSAGE_CHILDREN, &ru);
	if (write(to, &ru, sizeof(ru)) != sizeof(ru))
		_exit(1);
	pause();
}

static uint64_t ns_of(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

static void test_waited(void)
{
	struct process_stat stat = {0};
	struct rusage ru = {0};
	int fd[2];
	if (pipe(fd))
		abort();
	pid_t child = fork();
	if (!child) {
		wait_for_own(fd[1]);
		_exit(1);
	}
	bool is_read = read(fd[0], &ru, sizeof(ru)) == sizeof(ru);
	is(process_read_stat(child, &stat), 0, "a process that has waited for a child is read");
	uint64_t user = ns_of(ru.ru_utime), all = user + ns_of(ru.ru_stime);
	uint64_t waited = usage_waited_ns(&stat);
	ok(is_read && user > 60000000 && waited <= all && waited + 20000000 >= all,
	   "it has the child's CPU time, of both kinds, to a tick");
	ok(usage_start_ns(&stat) > 0, "and the time of its own start");
	kill_child(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(fd[0]);
	close(fd[1]);
}

int main(void)
{
	struct usage u = {0}, later;
	struct timespec boot;
	burn(30000000);
	uint64_t before = cpu_ns();
	is(usage_read(getpid(), &u), 0, "a process reads its own");
	uint64_t after = cpu_ns(), told = u.user_ns + u.system_ns;
	ok(told >= before && told <= after, "its CPU time is what its clock says");
	clock_gettime(CLOCK_BOOTTIME, &boot);
	uint64_t now = (uint64_t)boot.tv_sec * 1000000000u + (uint64_t)boot.tv_nsec;
	ok(u.start_boot_ns && u.start_boot_ns <= now, "it began before now");
	size_t more = 32u << 20;
	char *p = mmap(NULL, more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(p, 1, more);
	munmap(p, more);
	is(usage_read(getpid(), &later), 0, "again");
	ok(later.peak_rss_bytes >= more && later.peak_rss_bytes >= u.peak_rss_bytes + more / 2,
	   "its peak of memory is remembered");
	ok(later.user_ns + later.system_ns >= told, "its CPU time only grows");
	struct rusage ru;
	getrusage(RUSAGE_SELF, &ru);
	uint64_t peak = (uint64_t)ru.ru_maxrss * 1024;
	ok(later.peak_rss_bytes <= peak && later.peak_rss_bytes + (512u << 10) > peak,
	   "the peak is the kernel's, in bytes");

	pid_t child = fork();
	if (!child) {
		burn(20000000);
		_exit(0);
	}
	siginfo_t si;
	waitid(P_PID, (id_t)child, &si, WEXITED | WNOWAIT);
	is(usage_read(child, &u), 0, "a zombie's is still there");
	ok(u.user_ns + u.system_ns >= 20000000, "with its CPU time");
	ok(!u.has_peak_rss, "but without its memory");
	waitpid(child, NULL, 0);
	u.user_ns = 7;
	is(usage_read(child, &u), -ESRCH, "what is gone is gone");
	is(u.user_ns, 7, "and changes nothing");
	test_waited();
	return tap_done();
}
