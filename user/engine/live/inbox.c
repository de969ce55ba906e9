/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/live/inbox.h"

#include <dirent.h>
#include <ebtrace/ring.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "engine/program/recording.h"
#include "proc/memory_reader.h"
#include "proc/ringfile.h"

static bool no_descriptor(int err)
{
	return err == EMFILE || err == ENFILE || err == ENOMEM;
}

bool inbox_is_user(const struct inbox *in, uid_t uid)
{
	return in->own || map_get(&in->users, uid);
}

static int open_one(struct inbox *in, int dir, const char *name, struct stat *st)
{
	int fd = file_open(dir, name, O_NOFOLLOW);
	in->starved |= fd < 0 && no_descriptor(-fd);
	if (fd >= 0 && !fstat(fd, st) && S_ISREG(st->st_mode))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

void inbox_begin_round(struct inbox *in)
{
	if (!in->deferred)
		map_done(&in->waits);
	in->round++;
}

bool inbox_defer(struct inbox *in, int fd)
{
	struct ring_id id;
	uint64_t *found = ring_id_read(fd, NULL, &id) ? map_put(&in->waits, id.ino) : NULL;
	if (!found)
		return false;
	if (!*found)
		*found = in->round;
	bool defer = *found == in->round;
	in->deferred |= defer;
	if (!defer)
		map_delete(&in->waits, id.ino);
	return defer;
}

int inbox_scan(struct inbox *in, const struct inbox_reader *reader)
{
	in->starved = in->deferred = false;
	DIR *d = *in->path ? opendir(in->path) : NULL;
	in->starved = *in->path && !d && no_descriptor(errno);
	struct dirent *e;
	int err = 0;
	while (d && !err && (e = readdir(d))) {
		struct stat st;
		struct ring_id id;
		pid_t pid = ringfile_name_pid(e->d_name);
		/* By its name, then by its identity: most are not new, and need not be opened. */
		if (!pid || !reader->may_be_new(pid, reader->ctx) ||
		    !ring_id_read(dirfd(d), e->d_name, &id) || !id.regular ||
		    !inbox_is_user(in, id.owner) || known_rings_find(&in->others, &id) ||
		    reader->is_known(&id, reader->ctx))
			continue;
		int fd = open_one(in, dirfd(d), e->d_name, &st);
		if (fd >= 0)
			err = reader->read(fd, e->d_name, pid, &st, reader->ctx);
	}
	if (d)
		closedir(d);
	return err;
}

static bool may_be_other(pid_t pid, void *ctx)
{
	(void)pid;
	(void)ctx;
	return true;
}

static bool is_noted(const struct ring_id *id, void *ctx)
{
	(void)id;
	(void)ctx;
	return false;
}

static int note_other(int fd, const char *name, pid_t pid, const struct stat *st, void *ctx)
{
	(void)name;
	(void)pid;
	(void)st;
	inbox_refuse(ctx, fd);
	close(fd);
	return 0;
}

void inbox_open(struct inbox *in, const char *path, bool own)
{
	snprintf(in->path, sizeof(in->path), "%s", path);
	if (own) {
		in->own = true;
		return;
	}
	in->own = true; /* for this scan: it notes the files of all users */
	inbox_scan(in, &(struct inbox_reader){may_be_other, is_noted, note_other, in});
	in->own = false;
}

void inbox_done(struct inbox *in)
{
	known_rings_done(&in->others);
	map_done(&in->users);
	map_done(&in->waits);
}

void inbox_add_user(struct inbox *in, uid_t uid)
{
	map_put(&in->users, uid); /* without memory his files are not read */
}

int inbox_is_ours(const struct inbox *in, struct memory_reader *memory, pid_t pid)
{
	char run[64];
	if (in->own)
		return 1;
	ssize_t n = memory_reader_getenv(memory, pid, EBT_RING_RUN, run, sizeof(run));
	if (n < 0 && no_descriptor((int)-n))
		return (int)n;
	return n > 0 && !strcmp(run, recording_run());
}

void inbox_refuse(struct inbox *in, int fd)
{
	known_rings_add(&in->others, fd);
}
