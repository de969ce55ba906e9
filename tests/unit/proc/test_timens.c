/* SPDX-License-Identifier: BSD-2-Clause */
/* Offsets of clocks: of processes in our time namespace, in another one, and about to begin one. */
#include "proc/timens.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif
#define AHEAD "monotonic 7 5\nboottime -1 0\n"

/* The parent may have ended before its death was asked for. */
static void wait_to_be_killed(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent)
		pause();
	_exit(0);
}

/* Begins a namespace for its children, and one of these; its pid goes to fd. */
static void run(int fd)
{
	int offsets = unshare(CLONE_NEWTIME) ? -1 : open("/proc/self/timens_offsets", O_WRONLY);
	bool set = offsets >= 0 && write(offsets, AHEAD, strlen(AHEAD)) > 0;
	pid_t own = getpid(), tester = getppid(), child = set ? fork() : -1;
	if (!child)
		wait_to_be_killed(own);
	if (write(fd, &child, sizeof(child)) != sizeof(child))
		_exit(1);
	wait_to_be_killed(tester);
}

int main(void)
{
	int fd[2];
	struct timens own = timens_own(), t = {1, 1};
	ok(!timens_read(getppid(), &t) && !memcmp(&t, &own, sizeof(t)),
	   "a process in our namespace has our clocks");
	is(timens_read(1 << 30, &t), -ENOENT, "one that is not there has none");
	pid_t child = -1, parent = pipe(fd) ? -1 : fork();
	if (!parent)
		run(fd[1]);
	if (parent < 0 || read(fd[0], &child, sizeof(child)) != sizeof(child))
		child = -1;
	if (child < 0) {
		printf("# no time namespace can be made here\n");
	} else {
		ok(!timens_read(child, &t) && t.monotonic_ns == own.monotonic_ns + 7000000005 &&
			   t.boottime_ns == own.boottime_ns - 1000000000,
		   "one in another namespace has other clocks");
		ok(!timens_read(parent, &t) && !memcmp(&t, &own, sizeof(t)),
		   "the one that has made it for its children still has ours");
	}
	if (parent > 1) {
		kill(parent, SIGKILL); /* its child follows */
		waitpid(parent, NULL, 0);
	}
	is(timens_read(parent, &t), -ENOENT, "one that has ended has none, either");
	tap_keeps(2);
	return tap_done();
}
