// SPDX-License-Identifier: BSD-2-Clause
#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace_lock.h"

/* Programs expect the lowest numbers for their own files. */
#define LOWEST_FD 100

/* Only now: closing any descriptor of a file gives up the locks of the process on it. */
static int lock_and_empty(struct ebt_output_file *f, int fd)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (lockf(fd, F_TLOCK, 0) < 0)
		return errno == EACCES ? -EAGAIN : -errno;
	if (ftruncate(fd, 0) < 0)
		return -errno;
	f->id = ebt_file_id_of(&st);
	return 0;
}

int ebt_output_file_open(struct ebt_output_file *f, const char *path)
{
	if (ebt_output_file_is_open(f))
		return -EALREADY;
	ebt_output_file_forget(f);
	/* O_NONBLOCK: a fifo without a reader would be waited for. */
	int low = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		       0600);
	if (low < 0)
		return -errno;
	int fd = fcntl(low, F_DUPFD_CLOEXEC, LOWEST_FD);
	if (fd < 0)
		fd = low; /* a limit below that */
	else
		close(low);
	int err = lock_and_empty(f, fd);
	if (err) {
		close(fd);
		return err;
	}
	f->fd = fd;
	f->bytes = 0;
	f->writing = 0;
	f->err = 0;
	__atomic_store_n(f->state, EBT_TRACE_OPEN, __ATOMIC_RELEASE);
	return 0;
}

/* The signals are blocked. */
static int put(struct ebt_output_file *f, const char *bytes, size_t size, uint64_t at)
{
	if (!ebt_output_file_is_open(f))
		return -ECHILD;
	if (!ebt_file_id_has(&f->id, f->fd))
		return -EBADF; /* closed by the program, and perhaps used again */
	int err = ebt_file_check_size(at + size);
	if (err)
		return err;
	while (size) {
		ssize_t n = pwrite(f->fd, bytes, size, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		bytes += n;
		size -= (size_t)n;
		at += (uint64_t)n;
	}
	return 0;
}

int ebt_output_file_write(struct ebt_output_file *f, const void *bytes, size_t size)
{
	sigset_t mask;
	int err = __atomic_load_n(&f->err, __ATOMIC_RELAXED);
	/* No handler forks between the test that the file is ours and the write. */
	if (!err)
		err = ebt_trace_lock(&f->writing, &mask);
	if (err)
		return err;
	err = f->err ? f->err : put(f, bytes, size, f->bytes);
	if (!err)
		f->bytes += size;
	else
		__atomic_store_n(&f->err, err, __ATOMIC_RELAXED);
	ebt_trace_unlock(&f->writing, &mask);
	return err;
}

int ebt_output_file_close(struct ebt_output_file *f)
{
	int err = f->err;
	__atomic_store_n(f->state, EBT_TRACE_NONE, __ATOMIC_RELEASE);
	if (!ebt_file_id_has(&f->id, f->fd)) {
		f->fd = -1;
		return err ? err : -EBADF;
	}
	if (err)
		(void)!ftruncate(f->fd, (off_t)f->bytes);
	if (close(f->fd) < 0 && !err)
		err = -errno;
	f->fd = -1;
	return err;
}

void ebt_output_file_forget(struct ebt_output_file *f)
{
	if (f->fd >= 0 && !ebt_output_file_is_open(f) && ebt_file_id_has(&f->id, f->fd))
		close(f->fd);
	f->fd = -1;
}
