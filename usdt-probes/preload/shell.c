/* SPDX-License-Identifier: BSD-2-Clause */
#include "shell.h"

#include <alloca.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../shared/pages.h"

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

const char *ebt_shell_begin(struct ebt_shell *s, const char *command)
{
	*s = (struct ebt_shell){.exec = ebt_exec_begin(AT_FDCWD, SHELL, true)};
	if (command && s->exec.is_recordable)
		write_command(s, command);
	return s->text ? s->text : command;
}

void ebt_shell_end(struct ebt_shell *s, bool started)
{
	ebt_pages_put(s->text, s->bytes);
	if (!started)
		ebt_exec_failed(&s->exec);
}
