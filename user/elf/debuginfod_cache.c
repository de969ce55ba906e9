/* SPDX-License-Identifier: BSD-2-Clause */
#include "elf/debuginfod_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/regular.h"

#define FILE_NAME  "debuginfo"
#define COPY_BYTES ((size_t)16 << 20)

static int open_in(const char *folder, const char *below, const char *hex)
{
	char path[PATH_MAX];
	int n = folder && *folder == '/'
			? snprintf(path, sizeof(path), "%s%s/%s/" FILE_NAME, folder, below, hex)
			: -1;
	int fd = n > 0 && n < (int)sizeof(path) ? regular_open(path, 0, 0) : -1;
	return fd < 0 ? -1 : fd;
}

/* As libdebuginfod does; its old folder is not looked into. */
int debuginfod_cache_open(const char *hex)
{
	const char *named = secure_getenv("DEBUGINFOD_CACHE_PATH");
	const char *cache = secure_getenv("XDG_CACHE_HOME");
	if (named && *named)
		return open_in(named, "", hex);
	if (cache && *cache)
		return open_in(cache, "/debuginfod_client", hex);
	return open_in(secure_getenv("HOME"), "/.cache/debuginfod_client", hex);
}

static int open_folder(int dir, const char *name, int flags)
{
	if (mkdirat(dir, name, 0700) && errno != EEXIST)
		return -errno;
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
	return fd < 0 ? -errno : fd;
}

static int copy(int from, int to)
{
	off_t at = 0;
	ssize_t n;
	while ((n = sendfile(to, from, &at, COPY_BYTES)) > 0)
		;
	return n < 0 ? -errno : 0;
}

/* Nobody sees a part of it. */
static int add(int dir, int from)
{
	char name[32];
	snprintf(name, sizeof(name), FILE_NAME ".%d", getpid());
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
	if (fd < 0)
		return -errno;
	int err = copy(from, fd);
	if (close(fd) && !err)
		err = -errno;
	if (!err && renameat(dir, name, dir, FILE_NAME))
		err = -errno;
	if (err)
		unlinkat(dir, name, 0);
	return err;
}

int debuginfod_cache_add(const char *hex, int fd)
{
	const char *named = secure_getenv("DEBUGINFOD_CACHE_PATH");
	if (!named || *named != '/')
		return 0;
	int folder = open_folder(AT_FDCWD, named, 0);
	if (folder < 0)
		return folder;
	int dir = open_folder(folder, hex, O_NOFOLLOW);
	int err = dir < 0 ? dir : add(dir, fd);
	if (dir >= 0)
		close(dir);
	close(folder);
	return err;
}
