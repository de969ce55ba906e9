/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc/executable.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_program(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISREG(st.st_mode) &&
	       !faccessat(AT_FDCWD, path, X_OK, AT_EACCESS);
}

bool executable_find(const char *name, char *ret, size_t cap)
{
	if (strchr(name, '/'))
		return snprintf(ret, cap, "%s", name) < (int)cap && is_program(ret);
	char standard[256] = "";
	const char *path = getenv("PATH");
	if (!path) {
		confstr(_CS_PATH, standard, sizeof(standard));
		path = standard;
	}
	for (const char *end;; path = end + 1) {
		end = strchrnul(path, ':');
		int n = snprintf(ret, cap, "%.*s%s%s", (int)(end - path), path,
				 end > path ? "/" : "", name);
		if (n < (int)cap && is_program(ret))
			return true;
		if (!*end)
			break;
	}
	return false;
}
