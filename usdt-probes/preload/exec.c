/* SPDX-License-Identifier: BSD-2-Clause */
#include "exec.h"

#include <ebtrace/loadable.h>
#include <ebtrace/recorder.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../shared/confined.h"
#include "environment.h"
#include "recorder.h"

#define PATH_BYTES   1024 /* of a program that is searched for */
#define DEFAULT_PATH "/bin:/usr/bin"
#define SHELL	     "/bin/sh" /* runs what is no program, for the functions that search */

static bool is_loadable(int fd)
{
	char linker[EBT_LOADABLE_LINKER_BYTES];
	return ebt_loadable_check(fd, linker) == EBT_LOADABLE && ebt_environment_is_usable();
}

/* Without a look at the program. */
static struct ebt_exec begin(bool in_child)
{
	struct ebt_recorder_state *s = ebt_recorder_state();
	struct ebt_exec x = {.is_child = in_child};
	if (!s)
		return x;
	ebt_recorder_check_filters();
	x.is_child |= !ebt_recorder_is_process();
	if (!x.is_child)
		ebt_recorder_flush();
	x.counter = x.is_child ? &s->children : &s->execs;
	__atomic_add_fetch(x.counter, 1, __ATOMIC_RELAXED);
	return x;
}

static bool is_wanted(const struct ebt_exec *x)
{
	return x->counter && !ebt_confined() && (!x->is_child || ebt_recorder_has_children());
}

struct ebt_exec ebt_exec_open(int fd)
{
	int err = errno;
	struct ebt_exec x = begin(false);
	x.is_recordable = is_wanted(&x) && is_loadable(fd);
	errno = err;
	return x;
}

struct ebt_exec ebt_exec_begin(int dir, const char *path, bool in_child)
{
	int err = errno;
	struct ebt_exec x = begin(in_child);
	int fd = path && is_wanted(&x) ? ebt_loadable_open(dir, path) : -1;
	if (fd >= 0) {
		x.is_recordable = is_loadable(fd);
		close(fd);
	}
	errno = err;
	return x;
}

/* As execvp() looks for it. False: it is not found. */
static bool search(const char *name, char ret[PATH_BYTES])
{
	const char *list = getenv("PATH");
	size_t bytes = strlen(name);
	for (const char *p = list ? list : DEFAULT_PATH;; p++) {
		size_t n = strcspn(p, ":");
		if (n + 1 + bytes < PATH_BYTES) {
			char *end = mempcpy(ret, p, n);
			if (n)
				*end++ = '/';
			memcpy(end, name, bytes + 1);
			if (!access(ret, X_OK))
				return true;
		}
		p += n;
		if (!*p)
			return false;
	}
}

static int open_or_shell(const char *path)
{
	char linker[EBT_LOADABLE_LINKER_BYTES];
	int fd = ebt_loadable_open(AT_FDCWD, path);
	if (fd < 0 || ebt_loadable_check(fd, linker) != EBT_LOADABLE_NO_PROGRAM)
		return fd;
	close(fd);
	return ebt_loadable_open(AT_FDCWD, SHELL);
}

struct ebt_exec ebt_exec_search(const char *name, bool in_child)
{
	int err = errno, fd = -1;
	struct ebt_exec x = begin(in_child);
	char path[PATH_BYTES];
	if (name && is_wanted(&x))
		fd = strchr(name, '/')	  ? open_or_shell(name)
		     : search(name, path) ? open_or_shell(path)
					  : -1;
	if (fd >= 0) {
		x.is_recordable = is_loadable(fd);
		close(fd);
	}
	errno = err;
	return x;
}

size_t ebt_exec_bytes(const struct ebt_exec *x, char *const envp[])
{
	return x->is_recordable ? ebt_environment_bytes(envp) : 0;
}

char *const *ebt_exec_environment(const struct ebt_exec *x, void *memory, char *const envp[])
{
	return memory ? ebt_environment_make(memory, envp, x->is_child) : envp;
}

void ebt_exec_failed(const struct ebt_exec *x)
{
	if (x->counter)
		__atomic_sub_fetch(x->counter, 1, __ATOMIC_RELAXED);
}
