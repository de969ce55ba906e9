/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts a program in each way that there is, or in those that its first argument names, and prints
 * how each ends. Forks also without another program; "become" is an exec() of itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char *program;
static char *argv_of_program[2];

static int wait_for(pid_t pid)
{
	int status = -1;
	if (pid > 0)
		waitpid(pid, &status, 0);
	return status;
}

static void by_execve(void)
{
	execve(program, argv_of_program, environ);
}
static void by_execv(void)
{
	execv(program, argv_of_program);
}
static void by_execvp(void)
{
	execvp(program, argv_of_program);
}
static void by_execvpe(void)
{
	execvpe(program, argv_of_program, environ);
}
static void by_execl(void)
{
	execl(program, program, NULL);
}
static void by_execlp(void)
{
	execlp(program, program, NULL);
}
static void by_execle(void)
{
	execle(program, program, NULL, environ);
}
static void by_fexecve(void)
{
	fexecve(open(program, O_RDONLY | O_CLOEXEC), argv_of_program, environ);
}
static void by_execveat(void)
{
	execveat(AT_FDCWD, program, argv_of_program, environ, 0);
}
static void by_syscall(void)
{
	syscall(SYS_execve, program, argv_of_program, environ);
}
/* No function of libc makes this system call. */
static void by_instruction(void)
{
#ifdef __x86_64__
	long ret;
	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(SYS_execve), "D"(program), "S"(argv_of_program), "d"(environ)
			 : "rcx", "r11", "memory");
#endif
}
static void by_nothing(void)
{
	void *volatile kept = malloc(777);
	exit(kept ? 3 : 4);
}

static const struct {
	const char *name;
	void (*run)(void);
} execs[] = {
	{"execve", by_execve},
	{"execv", by_execv},
	{"execvp", by_execvp},
	{"execvpe", by_execvpe},
	{"execl", by_execl},
	{"execlp", by_execlp},
	{"execle", by_execle},
	{"fexecve", by_fexecve},
	{"execveat", by_execveat},
	{"syscall", by_syscall},
	{"instruction", by_instruction},
	{"fork alone", by_nothing},
};

static int in_fork(void (*run)(void))
{
	pid_t pid = fork();
	if (pid)
		return wait_for(pid);
	run();
	_exit(99);
}

static int in_vfork(void)
{
	pid_t pid = vfork();
	if (pid)
		return wait_for(pid);
	execve(program, argv_of_program, environ);
	_exit(99);
}

static int in_spawn(bool search)
{
	pid_t pid = 0;
	int err = (search ? posix_spawnp : posix_spawn)(&pid, program, NULL, NULL, argv_of_program,
							environ);
	return err ? -err : wait_for(pid);
}

static int in_popen(void)
{
	char line[256];
	FILE *f = popen(program, "r");
	while (f && fgets(line, sizeof(line), f))
		fputs(line, stdout);
	return f ? pclose(f) : -1;
}

static void print(const char *name, int status)
{
	printf("%s: %d\n", name, status);
}

static bool is_chosen(const char *way, const char *name)
{
	return !strcmp(way, "all") ? strcmp(name, "instruction") != 0 : !strcmp(way, name);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	const char *way = argv[1];
	program = argv[2];
	argv_of_program[0] = program;
	setvbuf(stdout, NULL, _IONBF, 0);
	for (size_t i = 0; i < sizeof(execs) / sizeof(*execs); i++)
		if (is_chosen(way, execs[i].name))
			print(execs[i].name, in_fork(execs[i].run));
	if (is_chosen(way, "vfork"))
		print("vfork", in_vfork());
	if (is_chosen(way, "posix_spawn"))
		print("posix_spawn", in_spawn(false));
	if (is_chosen(way, "posix_spawnp"))
		print("posix_spawnp", in_spawn(true));
	if (is_chosen(way, "system"))
		print("system", system(program));
	if (is_chosen(way, "popen"))
		print("popen", in_popen());
	if (!strcmp(way, "become"))
		by_execve();
	if (!strcmp(way, "become by instruction"))
		by_instruction();
	return 0;
}
