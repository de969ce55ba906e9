/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls that run another program. Each reads the program's file first; one that is to be
 * recorded gets the variables of the recorder in its environment, any other one the environment as
 * it is. popen() and system() of libc start their shell by internal calls: with --children a shell
 * that gets the variables runs the command, under the name that the other one would have.
 */
#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../shared/pages.h"
#include "exec.h"
#include "real.h"

/*
 * system() and popen() of libc start a shell by internal calls, with the environment as it is. To
 * record it, the command is replaced by one that executes another shell, with the variables, which
 * runs the command under the name of the first shell.
 */

struct ebt_shell {
	struct ebt_exec exec;
	char *text; /* NULL: the command is the caller's */
	size_t bytes;
};

#define SHELL	       "/bin/sh"
#define ARGUMENT_BYTES (128u << 10) /* the kernel's limit of a string */

extern char **environ;

/* As one word of the shell. */
static char *quote(char *to, const char *s)
{
	*to++ = '\'';
	for (; *s; s++)
		if (*s == '\'')
			to = stpcpy(to, "'\\''");
		else
			*to++ = *s;
	*to++ = '\'';
	return to;
}

static char *put_variable(char *to, const char *variable)
{
	size_t name = strcspn(variable, "=") + 1;
	to = quote(mempcpy(to, variable, name), variable + name);
	*to++ = ' ';
	return to;
}

static char *preload_of_user(void)
{
	for (char **e = environ; e && *e; e++)
		if (!strncmp(*e, "LD_PRELOAD=", strlen("LD_PRELOAD=")))
			return *e;
	return NULL;
}

static void write_command(struct ebt_shell *s, const char *command)
{
	char *own[] = {preload_of_user(), NULL};
	char *const *envp =
		ebt_exec_environment(&s->exec, alloca(ebt_exec_bytes(&s->exec, own)), own);
	size_t bytes = strlen(command) * 4 + sizeof(" exec " SHELL " -c '' sh");
	for (char *const *e = envp; *e; e++)
		bytes += strlen(*e) * 4 + sizeof("'' ");
	if (bytes > 4 * ARGUMENT_BYTES)
		return;
	s->text = ebt_pages_get(s->bytes = bytes);
	if (!s->text)
		return;
	char *p = s->text;
	for (char *const *e = envp; *e; e++)
		p = put_variable(p, *e);
	p = quote(stpcpy(p, "exec " SHELL " -c "), command);
	p = stpcpy(p, " sh");
	if (p - s->text < (ptrdiff_t)ARGUMENT_BYTES)
		return;
	ebt_pages_put(s->text, s->bytes);
	s->text = NULL;
}

/* The command to be run instead of this one. */
static const char *ebt_shell_begin(struct ebt_shell *s, const char *command)
{
	*s = (struct ebt_shell){.exec = ebt_exec_begin(AT_FDCWD, SHELL, true)};
	if (command && s->exec.is_recordable)
		write_command(s, command);
	return s->text ? s->text : command;
}

/* errno does not change. */
static void ebt_shell_end(struct ebt_shell *s, bool started)
{
	ebt_pages_put(s->text, s->bytes);
	if (!started)
		ebt_exec_failed(&s->exec);
}

#define EXPORT __attribute__((visibility("default")))

extern char **environ;

/* A call with one environment or another. */
typedef int run_fn(const void *call, char *const envp[]);

/* In the caller's frame, as there is no other memory. `again` without the variables, if these made
 * the environment too long. */
static int run_with(const struct ebt_exec *x, run_fn *run, const void *call, char *const envp[])
{
	size_t bytes = ebt_exec_bytes(x, envp);
	void *memory = bytes ? alloca(bytes) : NULL;
	int ret = run(call, ebt_exec_environment(x, memory, envp));
	if (memory && (ret == E2BIG || (ret == -1 && errno == E2BIG)))
		ret = run(call, envp);
	if (ret)
		ebt_exec_failed(x);
	return ret;
}

struct exec_call {
	int fd, flags;
	const char *path;
	char *const *argv;
};

static int run_execve(const void *call, char *const envp[])
{
	const struct exec_call *c = call;
	return ebt_real_ready()->execve(c->path, c->argv, envp);
}

static int run_execvpe(const void *call, char *const envp[])
{
	const struct exec_call *c = call;
	return ebt_real_ready()->execvpe(c->path, c->argv, envp);
}

static int run_fexecve(const void *call, char *const envp[])
{
	const struct exec_call *c = call;
	return ebt_real_ready()->fexecve(c->fd, c->argv, envp);
}

static int run_execveat(const void *call, char *const envp[])
{
	const struct exec_call *c = call;
	return ebt_real_ready()->execveat(c->fd, c->path, c->argv, envp, c->flags);
}

static int exec_path(const char *path, char *const argv[], char *const envp[])
{
	struct exec_call c = {.path = path, .argv = argv};
	struct ebt_exec x = ebt_exec_begin(AT_FDCWD, path, false);
	return run_with(&x, run_execve, &c, envp);
}

static int exec_search(const char *file, char *const argv[], char *const envp[])
{
	struct exec_call c = {.path = file, .argv = argv};
	struct ebt_exec x = ebt_exec_search(file, false);
	return run_with(&x, run_execvpe, &c, envp);
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	return exec_path(path, argv, envp);
}

EXPORT int execv(const char *path, char *const argv[])
{
	return exec_path(path, argv, environ);
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	return exec_search(file, argv, envp);
}

EXPORT int execvp(const char *file, char *const argv[])
{
	return exec_search(file, argv, environ);
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	struct exec_call c = {.fd = fd, .argv = argv};
	struct ebt_exec x = ebt_exec_open(fd);
	return run_with(&x, run_fexecve, &c, envp);
}

EXPORT int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags)
{
	struct exec_call c = {.fd = dir, .flags = flags, .path = path, .argv = argv};
	struct ebt_exec x = *path ? ebt_exec_begin(dir, path, false) : ebt_exec_open(dir);
	return run_with(&x, run_execveat, &c, envp);
}

/* Collects the variable arguments of an exec call up to NULL; the first is a named parameter. */
static size_t count_arguments(const char *first, va_list ap)
{
	size_t n = 0;
	for (const char *a = first; a; a = va_arg(ap, char *))
		n++;
	return n;
}

/* What is variadic cannot be a function's: its frame has the arguments. */
#define EXEC_LIST(exec, path, first, has_environment)                                  \
	{                                                                              \
		va_list ap;                                                            \
		va_start(ap, first);                                                   \
		size_t n = count_arguments(first, ap);                                 \
		va_end(ap);                                                            \
		char **argv = alloca((n + 1) * sizeof(*argv));                         \
		argv[0] = (char *)first;                                               \
		va_start(ap, first);                                                   \
		for (size_t i = 1; i <= n; i++)                                        \
			argv[i] = va_arg(ap, char *);                                  \
		char *const *envp = (has_environment) ? va_arg(ap, char **) : environ; \
		va_end(ap);                                                            \
		return exec(path, argv, envp);                                         \
	}

EXPORT int execl(const char *path, const char *first, ...) EXEC_LIST(exec_path, path, first, false)

	EXPORT int execlp(const char *file, const char *first, ...)
		EXEC_LIST(exec_search, file, first, false)

			EXPORT int execle(const char *path, const char *first, ...)
				EXEC_LIST(exec_path, path, first, true)

	/* posix_spawn() or posix_spawnp(). */
	typedef int spawn(pid_t *, const char *, const posix_spawn_file_actions_t *,
			  const posix_spawnattr_t *, char *const[], char *const[]);

struct spawn_call {
	spawn *spawn;
	pid_t *pid;
	const char *path;
	const posix_spawn_file_actions_t *actions;
	const posix_spawnattr_t *attributes;
	char *const *argv;
};

static int run_spawn(const void *call, char *const envp[])
{
	const struct spawn_call *c = call;
	return c->spawn(c->pid, c->path, c->actions, c->attributes, c->argv, envp);
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	struct spawn_call c = {ebt_real_ready()->posix_spawn, pid, path, actions, attributes, argv};
	struct ebt_exec x = ebt_exec_begin(AT_FDCWD, path, true);
	return run_with(&x, run_spawn, &c, envp);
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	struct spawn_call c = {
		ebt_real_ready()->posix_spawnp, pid, file, actions, attributes, argv};
	struct ebt_exec x = ebt_exec_search(file, true);
	return run_with(&x, run_spawn, &c, envp);
}

EXPORT int system(const char *command)
{
	struct ebt_shell shell;
	if (!command)
		return ebt_real_ready()->system(NULL);
	int status = ebt_real_ready()->system(ebt_shell_begin(&shell, command));
	ebt_shell_end(&shell, status != -1);
	return status;
}

EXPORT FILE *popen(const char *command, const char *type)
{
	struct ebt_shell shell;
	FILE *f = ebt_real_ready()->popen(ebt_shell_begin(&shell, command), type);
	ebt_shell_end(&shell, f);
	return f;
}
