/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc/usage.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The whole of a small file as a string. 0 or -errno. */
static int read_file(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	ssize_t n = read(fd, text, size - 1);
	int err = n < 0 ? -errno : 0;
	close(fd);
	text[n < 0 ? 0 : n] = 0;
	return err;
}

static uint64_t ticks_ns(uint64_t ticks)
{
	long per_s = sysconf(_SC_CLK_TCK);
	return ticks * (1000000000u / (uint64_t)(per_s > 0 ? per_s : 100));
}

/* The kernel's clock of the process is exact; how it divides is told in ticks. */
static void make_exact(pid_t pid, struct usage *u)
{
	clockid_t clock;
	struct timespec t;
	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return;
	uint64_t total = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	uint64_t ticks = u->user_ns + u->system_ns;
	double share = ticks ? (double)u->user_ns / (double)ticks : 1;
	u->user_ns = (uint64_t)((double)total * share);
	u->system_ns = total > u->user_ns ? total - u->user_ns : 0;
}

int usage_read(pid_t pid, struct usage *ret)
{
	char text[4096];
	struct usage u = {0};
	int err = read_file(pid, "stat", text, sizeof(text));
	if (err)
		return err;
	/* Fields count from behind the name, which may hold anything: 3 is the state. */
	const char *p = strrchr(text, ')');
	uint64_t user, system, start;
	if (!p || sscanf(p + 1,
			 " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
			 " %*d %*d %*d %*d %*d %*d %" SCNu64,
			 &user, &system, &start) != 3)
		return -EBADMSG;
	u.user_ns = ticks_ns(user);
	u.system_ns = ticks_ns(system);
	make_exact(pid, &u);
	u.start_boot_ns = ticks_ns(start);
	if (!read_file(pid, "status", text, sizeof(text)) && (p = strstr(text, "\nVmHWM:")))
		u.peak_rss_bytes = strtoull(p + 7, NULL, 10) * 1024;
	*ret = u;
	return 0;
}
