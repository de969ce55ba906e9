// SPDX-License-Identifier: BSD-2-Clause
#include "alloc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_id.h"
#include "fork_mark.h"
#include "signals.h"

/* Programs expect the lowest numbers for their own files. */
#define LOWEST_FD 100

static int file_fd = -1;
static struct ebt_file_id file_id;
static uint64_t file_bytes; /* where the next write goes */
static uint64_t good_bytes; /* before the first write that failed */
static int file_err;

bool ebt_alloc_file_is_open(void)
{
	return __atomic_load_n(&ebt_fork_page[EBT_FORK_TRACE_STATE], __ATOMIC_ACQUIRE) !=
	       EBT_TRACE_NONE;
}

/* Only now: closing any descriptor of a file gives up the locks of the process on it. */
static int lock_and_empty(int fd)
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
	file_id = ebt_file_id_of(&st);
	return 0;
}

int ebt_alloc_file_open(const char *path)
{
	if (ebt_alloc_file_is_open())
		return -EALREADY;
	ebt_alloc_file_forget();
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
	int err = lock_and_empty(fd);
	if (err) {
		close(fd);
		return err;
	}
	file_fd = fd;
	file_bytes = 0;
	good_bytes = UINT64_MAX;
	file_err = 0;
	__atomic_store_n(&ebt_fork_page[EBT_FORK_TRACE_STATE], EBT_TRACE_OPEN, __ATOMIC_RELEASE);
	return 0;
}

/* The signals are blocked. */
static int put(const char *bytes, size_t size, uint64_t at)
{
	if (!ebt_alloc_file_is_open())
		return -ECHILD;
	if (!ebt_file_id_has(&file_id, file_fd))
		return -EBADF; /* closed by the program, and perhaps used again */
	int err = ebt_file_check_size(at + size);
	if (err)
		return err;
	while (size) {
		ssize_t n = pwrite(file_fd, bytes, size, (off_t)at);
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

static void fail(uint64_t at, int err)
{
	int none = 0;
	uint64_t good = __atomic_load_n(&good_bytes, __ATOMIC_RELAXED);
	while (at < good && !__atomic_compare_exchange_n(&good_bytes, &good, at, false,
							 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	__atomic_compare_exchange_n(&file_err, &none, err, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
}

int ebt_alloc_file_write(const void *bytes, size_t size)
{
	sigset_t mask;
	int err = __atomic_load_n(&file_err, __ATOMIC_RELAXED);
	if (err)
		return err;
	uint64_t at = __atomic_fetch_add(&file_bytes, size, __ATOMIC_RELAXED);
	/* No handler forks between the test that the file is ours and the write. */
	ebt_signals_block(&mask);
	err = put(bytes, size, at);
	ebt_signals_restore(&mask);
	if (err)
		fail(at, err);
	return err;
}

int ebt_alloc_file_close(void)
{
	int err = file_err;
	__atomic_store_n(&ebt_fork_page[EBT_FORK_TRACE_STATE], EBT_TRACE_NONE, __ATOMIC_RELEASE);
	if (!ebt_file_id_has(&file_id, file_fd)) {
		file_fd = -1;
		return err ? err : -EBADF;
	}
	if (good_bytes != UINT64_MAX && ftruncate(file_fd, (off_t)good_bytes) < 0 && !err)
		err = -errno;
	if (close(file_fd) < 0 && !err)
		err = -errno;
	file_fd = -1;
	return err;
}

void ebt_alloc_file_forget(void)
{
	if (file_fd >= 0 && !ebt_alloc_file_is_open() && ebt_file_id_has(&file_id, file_fd))
		close(file_fd);
	file_fd = -1;
}
