/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program, run in a child of its own for each command line that is read: of thousands of runs
 * most of the time goes to exec and to the dynamic linker. Reads from stdin, each with a zero byte
 * behind it: the file to which stdout is appended, how many arguments come, and these. What the run
 * writes to stderr is in the file `err`, anew; its stdin is empty. Prints its exit status, as a
 * shell has it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_ARGS 64

int __real_main(int argc, char **argv);
int __wrap_main(int argc, char **argv);

static int run(int argc, char **argv, const char *out)
{
	int status;
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		int fd[3] = {open("/dev/null", O_RDONLY),
			     open(out, O_WRONLY | O_CREAT | O_APPEND, 0644),
			     open("err", O_WRONLY | O_CREAT | O_TRUNC, 0644)};
		for (int i = 0; i < 3; i++) {
			if (fd[i] < 0 || dup2(fd[i], i) < 0)
				abort();
			close(fd[i]);
		}
		exit(__real_main(argc, argv));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int __wrap_main(int argc, char **argv)
{
	static char *text[2 + MAX_ARGS];
	static size_t room[2 + MAX_ARGS];
	char *args[MAX_ARGS + 2] = {argv[0]};
	(void)argc;
	while (getdelim(&text[0], &room[0], 0, stdin) > 0) {
		int n = getdelim(&text[1], &room[1], 0, stdin) > 0 ? atoi(text[1]) : -1;
		if (n < 0 || n > MAX_ARGS)
			abort();
		for (int i = 0; i < n; i++) {
			if (getdelim(&text[2 + i], &room[2 + i], 0, stdin) <= 0)
				abort();
			args[1 + i] = text[2 + i];
		}
		args[1 + n] = NULL;
		printf("%d\n", run(1 + n, args, text[0]));
		fflush(stdout);
	}
	return 0;
}
