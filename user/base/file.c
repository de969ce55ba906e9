/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define LOAD_FIRST 4096 /* most files of /proc fit */

int file_open(int dir, const char *path, int flags)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
	if (fd >= 0)
		return fd;
	return errno == EWOULDBLOCK ? -EBUSY : -errno;
}

/* The kernel returns the lowest free number. */
bool file_is_last(int fd)
{
	struct rlimit files;
	return !getrlimit(RLIMIT_NOFILE, &files) && (rlim_t)fd + FILE_SPARE >= files.rlim_cur;
}

const char *file_strerror(int err)
{
	return err == -EBUSY ? "another program holds a lease on it" : strerror(-err);
}

/* True to retry a failed call; waits until the descriptor is ready for it. */
static bool again(int fd, short events)
{
	if (errno == EAGAIN)
		poll(&(struct pollfd){.fd = fd, .events = events}, 1, -1);
	return errno == EAGAIN || errno == EINTR;
}

/* At an offset, or at the descriptor's. */
static ssize_t read_whole(int fd, char *to, size_t n, const uint64_t *offset)
{
	size_t got = 0;
	while (got < n) {
		ssize_t one = offset ? pread(fd, to + got, n - got, (off_t)(*offset + got))
				     : read(fd, to + got, n - got);
		if (!one)
			break;
		if (one > 0)
			got += (size_t)one;
		else if (!again(fd, POLLIN))
			return -errno;
	}
	return (ssize_t)got;
}

ssize_t file_read(int fd, void *to, size_t n)
{
	return read_whole(fd, to, n, NULL);
}

ssize_t file_read_at(int fd, void *to, size_t n, uint64_t offset)
{
	return read_whole(fd, to, n, &offset);
}

ssize_t file_read_path(const char *path, void *to, size_t n)
{
	int fd = file_open(AT_FDCWD, path, 0);
	if (fd < 0)
		return fd;
	ssize_t got = file_read(fd, to, n);
	close(fd);
	return got;
}

ssize_t file_read_text(const char *path, char *ret, size_t cap)
{
	ssize_t n = file_read_path(path, ret, cap - 1);
	ret[n > 0 ? n : 0] = '\0';
	return n;
}

/* Reads until the file ends or is one byte larger than the limit. */
static int load(int fd, size_t limit, char **data, size_t *len)
{
	for (size_t cap = LOAD_FIRST;; cap *= 2) {
		cap = cap <= limit ? cap : limit + 1;
		char *grown = realloc(*data, cap + 1);
		if (!grown)
			return -ENOMEM;
		*data = grown;
		ssize_t n = file_read(fd, grown + *len, cap - *len);
		if (n < 0)
			return (int)n;
		*len += (size_t)n;
		grown[*len] = '\0';
		if (*len > limit)
			return -EFBIG;
		if (*len < cap)
			return 0;
	}
}

int file_load(const char *path, size_t limit, char **ret, size_t *ret_len)
{
	int fd = file_open(AT_FDCWD, path, 0);
	if (fd < 0)
		return fd;
	char *data = NULL;
	size_t len = 0;
	int err = load(fd, limit, &data, &len);
	close(fd);
	if (err) {
		free(data);
		return err;
	}
	*ret = data;
	*ret_len = len;
	return 0;
}

int file_write(int fd, const void *data, size_t n)
{
	const char *from = data;
	while (n) {
		ssize_t one = write(fd, from, n);
		if (one < 0) {
			if (!again(fd, POLLOUT))
				return -errno;
			continue;
		}
		from += one;
		n -= (size_t)one;
	}
	return 0;
}
