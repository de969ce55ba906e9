/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "../shared/confined.h"
#include "../shared/pages.h"
#include "filters.h"

#define FIRST_BYTES  (64u << 10) /* of the first window; each is as large as all before, */
#define WINDOW_BYTES (1u << 20)	 /* or so large */
#define ROOM_SHARE   10		 /* of a file system, one in so many bytes is left free */
#define STATE_BYTES  4096

/* Blocks for `bytes` more. */
static int allocate(int fd, uint64_t offset, uint64_t bytes)
{
	int err = ebt_file_check_size(offset + bytes);
	return err ? err : -posix_fallocate(fd, (off_t)offset, (off_t)bytes);
}

/* What the trace fills may be memory that everybody shares. */
static int check_room(int fd, uint64_t bytes)
{
	struct statvfs v;
	if (fstatvfs(fd, &v) || !v.f_blocks)
		return 0;
	uint64_t left = bytes / v.f_frsize + v.f_blocks / ROOM_SHARE;
	return v.f_bavail < left ? -ENOSPC : 0;
}

static int map_window(struct ebt_trace_file *f, int fd, uint64_t offset, uint64_t bytes)
{
	int err = check_room(fd, bytes);
	if (!err)
		err = allocate(fd, offset, bytes);
	uint8_t *window = err ? NULL : ebt_pages_map(fd, offset, bytes);
	if (!window)
		return err ? err : -ENOMEM;
	ebt_pages_put(f->window, f->window_bytes);
	f->window = window;
	f->window_start = offset;
	f->window_bytes = bytes;
	return 0;
}

static int make_state(struct ebt_trace_file *f, const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int err = allocate(fd, 0, STATE_BYTES);
	f->state = err ? NULL : ebt_pages_map(fd, 0, STATE_BYTES);
	close(fd);
	return f->state ? 0 : err ? err : -ENOMEM;
}

static int make_named(struct ebt_trace_file *f, const char *dir, unsigned n)
{
	char state[PATH_MAX];
	struct stat st;
	if (snprintf(f->path, sizeof(f->path), "%s/%u.ctf", dir, n) >= (int)sizeof(f->path) ||
	    snprintf(state, sizeof(state), "%s/%u.state", dir, n) >= (int)sizeof(state))
		return -ENAMETOOLONG;
	int fd = open(f->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int err = fstat(fd, &st) ? -errno : 0;
	f->id = ebt_file_id_of(&st);
	if (!err)
		err = make_state(f, state);
	if (!err)
		err = map_window(f, fd, 0, FIRST_BYTES);
	close(fd);
	return err;
}

int ebt_trace_file_make(struct ebt_trace_file *f, const char *dir)
{
	int err = -EEXIST;
	*f = (struct ebt_trace_file){.filters = ebt_filters_read()};
	for (unsigned n = 0; err == -EEXIST && n < EBT_RECORDER_PROGRAMS; n++)
		err = make_named(f, dir, n);
	if (err && f->state)
		f->state->err = -err;
	return err;
}

static int open_window(struct ebt_trace_file *f, uint64_t offset, uint64_t bytes)
{
	/* By a system call that the recorder did not see. */
	if (!ebt_confined() && ebt_filters_read() > f->filters)
		ebt_confine(NULL, 0);
	int fd = ebt_file_id_open(&f->id, f->path);
	if (fd < 0)
		return fd;
	int err = map_window(f, fd, offset, bytes);
	close(fd);
	return err;
}

static uint64_t next_bytes(const struct ebt_trace_file *f)
{
	return f->bytes < WINDOW_BYTES ? f->bytes : WINDOW_BYTES;
}

int ebt_trace_file_reserve(struct ebt_trace_file *f, uint64_t bytes)
{
	uint64_t end = f->window_start + f->window_bytes;
	return end >= f->bytes + bytes ? 0 : open_window(f, f->window_start, WINDOW_BYTES + bytes);
}

int ebt_trace_file_write(struct ebt_trace_file *f, const void *packet, size_t bytes)
{
	const uint8_t *p = packet;
	while (bytes) {
		uint64_t at = f->bytes - f->window_start;
		int err = f->err;
		if (!err && at >= f->window_bytes)
			err = open_window(f, f->bytes, next_bytes(f));
		if (err)
			return f->err = err;
		at = f->bytes - f->window_start;
		uint64_t room = f->window_bytes - at;
		size_t n = room < bytes ? room : bytes;
		memcpy(f->window + at, p, n);
		f->bytes += n;
		p += n;
		bytes -= n;
	}
	/* Whoever reads the state of a killed program finds the bytes. */
	__atomic_store_n(&f->state->bytes, f->bytes, __ATOMIC_RELEASE);
	return 0;
}

void ebt_trace_file_leave(struct ebt_trace_file *f)
{
	ebt_pages_put(f->window, f->window_bytes);
	ebt_pages_put(f->state, STATE_BYTES);
}

void ebt_trace_file_end(struct ebt_trace_file *f)
{
	int fd = ebt_file_id_open(&f->id, f->path);
	if (fd < 0)
		return;
	/* It is complete with the zeros, too. */
	int unused = ftruncate(fd, (off_t)f->bytes);
	(void)unused;
	close(fd);
}
