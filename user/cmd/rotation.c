/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/rotation.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/message.h"

/* n 0: the file itself. */
static char *path_of(const struct outfile *f, unsigned n)
{
	char mark[16];
	snprintf(mark, sizeof(mark), "%u", n);
	return n ? outfile_marked(f->path, mark) : strdup(f->path);
}

static const char *base_of(const struct outfile *f, const char *path)
{
	return path + (f->base - f->path);
}

/* 0 if the name is free or has a regular file of our user, which may be renamed. */
static int check(const struct outfile *f, const char *path)
{
	struct stat st;
	gid_t group;
	if (fstatat(f->dir_fd, base_of(f, path), &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	bool ours = st.st_uid == geteuid() || st.st_uid == outfile_owner(&group);
	return S_ISREG(st.st_mode) && ours ? 0 : -EEXIST;
}

static int complain_of(const char *path, int err)
{
	complain("cannot keep an older file as '%s': %s", path, strerror(-err));
	return err;
}

int rotation_check(const struct outfile *f, unsigned keep)
{
	int err = 0;
	if (!f->part) {
		complain("'%s' is written in place, so older files cannot be kept beside it "
			 "(--rotate)",
			 f->path);
		return EXIT_USAGE;
	}
	for (unsigned n = 1; !err && n < keep; n++) {
		char *path = path_of(f, n);
		err = path ? check(f, path) : -ENOMEM;
		if (err)
			complain_of(path ? path : f->path, err);
		free(path);
	}
	return err ? EXIT_ERROR : 0;
}

static int shift(const struct outfile *f, const char *from, const char *to)
{
	int err = check(f, from);
	if (!err)
		err = check(f, to);
	if (!err && renameat(f->dir_fd, base_of(f, from), f->dir_fd, base_of(f, to)) &&
	    errno != ENOENT)
		err = -errno;
	return err ? complain_of(to, err) : 0;
}

int rotation_shift(struct outfile *f, unsigned keep)
{
	int err = 0;
	/* From the last number down, so that each name is free when a file is renamed to it. */
	for (unsigned n = keep - 1; !err && n; n--) {
		char *from = path_of(f, n - 1), *to = path_of(f, n);
		err = from && to ? shift(f, from, to) : -ENOMEM;
		free(from);
		free(to);
	}
	struct stat st;
	bool has_old = !fstatat(f->dir_fd, f->base, &st, AT_SYMLINK_NOFOLLOW);
	/* With one file to keep, the old one is replaced, whichever run wrote it. */
	f->existed = has_old && keep == 1 && !check(f, f->path);
	if (f->existed)
		f->old = file_id_of(&st);
	return err;
}
