// SPDX-License-Identifier: BSD-2-Clause
#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "trace_lock.h"

/* Programs expect the lowest numbers for their own files. */
#define LOWEST_FD 100

#define ROOM_MS	     10000 /* that a reader may leave a stream full */
#define AGAIN_MAX    1000  /* writes in turn that find no room after all */
#define STREAM_LOCKS 3	   /* waits for the lock, some seconds each: longer than ROOM_MS */

/* The number in a name that stands for a descriptor of this process; -1: another name. */
static int descriptor_of(const char *path)
{
	static const char *const dirs[] = {"/dev/fd/", "/proc/self/fd/"};
	if (!strcmp(path, "/dev/stdout"))
		return STDOUT_FILENO;
	if (!strcmp(path, "/dev/stderr"))
		return STDERR_FILENO;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		size_t n = strlen(dirs[i]);
		char *end;
		if (strncmp(path, dirs[i], n) || path[n] < '0' || path[n] > '9')
			continue;
		long fd = strtol(path + n, &end, 10);
		return !*end && fd <= INT_MAX ? (int)fd : -1;
	}
	return -1;
}

/* Closes `low`, unless the limit of descriptors is below the new one. */
static int move_up(int low)
{
	int fd = fcntl(low, F_DUPFD_CLOEXEC, LOWEST_FD);
	if (fd < 0)
		return low;
	close(low);
	return fd;
}

/* A duplicate, so that what the program writes itself comes in between, not over it. */
static int duplicate(int own)
{
	int flags = fcntl(own, F_GETFL);
	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	int fd = fcntl(own, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : move_up(fd);
}

static int open_path(const char *path)
{
	/* O_NONBLOCK: a FIFO without a reader is an error. */
	int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		      0600);
	return fd < 0 ? -errno : move_up(fd);
}

static int lock_and_empty(int fd)
{
	if (lockf(fd, F_TLOCK, 0) < 0)
		return errno == EACCES ? -EAGAIN : -errno;
	return ftruncate(fd, 0) < 0 ? -errno : 0;
}

/* Only now: closing any descriptor of a file gives up the locks of the process on it. */
static int accept_file(struct ebt_output_file *f, int fd, bool is_own)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	f->id = ebt_file_id_of(&st);
	f->is_stream = is_own || !S_ISREG(st.st_mode);
	if (!f->is_stream)
		return lock_and_empty(fd);
	bool is_known = S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) ||
			(S_ISCHR(st.st_mode) && !isatty(fd));
	return is_known ? 0 : -EINVAL;
}

int ebt_output_file_open(struct ebt_output_file *f, const char *path)
{
	if (ebt_output_file_is_open(f))
		return -EALREADY;
	ebt_output_file_forget(f);
	int own = descriptor_of(path);
	int fd = own >= 0 ? duplicate(own) : open_path(path);
	if (fd < 0)
		return fd;
	int err = accept_file(f, fd, own >= 0);
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

static int put_at(int fd, const char *bytes, size_t size, uint64_t at)
{
	int err = ebt_file_check_size(at + size);
	if (err)
		return err;
	while (size) {
		ssize_t n = pwrite(fd, bytes, size, (off_t)at);
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

/* A descriptor that the program uses too may block: where poll() finds room, it is for PIPE_BUF. */
static int stream_bytes(int fd, const char *bytes, size_t size)
{
	struct pollfd room = {.fd = fd, .events = POLLOUT};
	for (int again = 0; size && again < AGAIN_MAX;) {
		int n = poll(&room, 1, ROOM_MS);
		ssize_t done = n > 0 ? write(fd, bytes, size < PIPE_BUF ? size : PIPE_BUF) : n;
		if (!n)
			return -ETIMEDOUT;
		if (done < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		again = done > 0 ? 0 : again + 1;
		bytes += done > 0 ? done : 0;
		size -= done > 0 ? (size_t)done : 0;
	}
	return size ? -ETIMEDOUT : 0;
}

/* A reader that has gone, and a limit of the file's size, are errors; the program gets no
 * signal. */
static int put_stream(int fd, const char *bytes, size_t size)
{
	static const int fatal[] = {SIGPIPE, SIGXFSZ};
	sigset_t before;
	sigpending(&before);
	int err = stream_bytes(fd, bytes, size);
	for (size_t i = 0; err && i < sizeof(fatal) / sizeof(*fatal); i++) {
		sigset_t sent;
		sigemptyset(&sent);
		sigaddset(&sent, fatal[i]);
		if (!sigismember(&before, fatal[i]))
			sigtimedwait(&sent, NULL, &(struct timespec){0});
	}
	return err;
}

/* The signals are blocked. */
static int put(struct ebt_output_file *f, const char *bytes, size_t size, uint64_t at)
{
	if (!ebt_output_file_is_open(f))
		return -ECHILD;
	if (!ebt_file_id_has(&f->id, f->fd))
		return -EBADF; /* closed by the program, and perhaps used again */
	return f->is_stream ? put_stream(f->fd, bytes, size) : put_at(f->fd, bytes, size, at);
}

/* Whoever streams may wait longer for its reader than others wait for the lock. */
static int lock_for_writing(struct ebt_output_file *f, sigset_t *mask)
{
	int err = ebt_trace_lock(&f->writing, mask);
	for (int i = 0; err == -EBUSY && f->is_stream && i < STREAM_LOCKS; i++)
		err = ebt_trace_lock(&f->writing, mask);
	return err;
}

int ebt_output_file_write(struct ebt_output_file *f, const void *bytes, size_t size)
{
	sigset_t mask;
	int err = __atomic_load_n(&f->err, __ATOMIC_RELAXED);
	/* No handler forks between the test that the file is ours and the write. */
	if (!err)
		err = lock_for_writing(f, &mask);
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
	if (err && !f->is_stream)
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
