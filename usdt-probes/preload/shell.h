/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shell that system() and popen() of libc start by internal calls, with the environment as it is. To
 * be recorded it is told to become another one, which gets the variables and runs the command under the
 * name that the first one has.
 */
#ifndef EBT_SHELL_H
#define EBT_SHELL_H

#include <stdbool.h>
#include <stddef.h>

#include "exec.h"

struct ebt_shell {
	struct ebt_exec exec;
	char *text; /* NULL: the command is the caller's */
	size_t bytes;
};

/* The command to be run instead of this one. */
const char *ebt_shell_begin(struct ebt_shell *s, const char *command);
/* errno does not change. */
void ebt_shell_end(struct ebt_shell *s, bool started);

#endif
