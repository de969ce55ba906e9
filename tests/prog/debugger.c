/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a program as a debugger does, stopped behind exec() first and at each system call then, and
 * prints the status with which it ended. */
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	(void)argc;
	pid_t pid = fork();
	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(126);
		execv(argv[1], argv + 1);
		_exit(127);
	}
	int status, stops = 0;
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && ++stops)
		if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL))
			break;
	printf("debugged to its end: %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	return stops < 10;
}
