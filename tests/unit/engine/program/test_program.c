/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a program that is held by ptrace while its probes are made: each stop is reported to
 * its parent, whatever that asks for, and is no end. */
#include "engine/program/program.h"
#include "proc/hold.h"
#include "tests/tap.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t start(void)
{
	pid_t pid = fork();
	if (pid < 0)
		abort();
	if (!pid) {
		pause();
		_exit(1);
	}
	return pid;
}

static bool ends(struct program *p)
{
	for (int i = 0; i < 60000 && !program_ended(p); i++)
		usleep(1000);
	return program_ended(p);
}

int main(void)
{
	struct program p = {.pid = start(), .pidfd = -1, .go_fd = -1, .failed_fd = -1};
	siginfo_t si;
	ok(!program_ended(&p), "a program that runs has not ended");
	ok(!ptrace(PTRACE_SEIZE, p.pid, NULL, NULL) && !ptrace(PTRACE_INTERRUPT, p.pid, NULL, NULL),
	   "it is held");
	while (waitid(P_PID, (id_t)p.pid, &si, WSTOPPED | WNOWAIT))
		;
	ok(!program_ended(&p), "one that is held has not ended");
	ok(!program_ended(&p) && !p.reaped, "nor is its status taken");
	is(hold_end(p.pid), 0, "it is let go");
	kill(p.pid, SIGKILL);
	ok(ends(&p), "one that was killed has");
	is(program_exit_status(&p), 128 + SIGKILL, "by that signal");

	struct program q = {.pid = start(), .go_fd = -1, .failed_fd = -1};
	q.pidfd = (int)syscall(SYS_pidfd_open, q.pid, 0);
	kill(q.pid, SIGSTOP);
	while (waitid(P_PID, (id_t)q.pid, &si, WSTOPPED | WNOWAIT))
		;
	ok(!program_ended(&q), "one that is stopped by a signal has not ended");
	kill(q.pid, SIGKILL);
	ok(ends(&q), "but behind it");
	close(q.pidfd);
	return tap_done();
}
