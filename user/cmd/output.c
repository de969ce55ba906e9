/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/open.h"

static bool is_special(const char *path)
{
	struct stat st;
	return !stat(path, &st) && !S_ISREG(st.st_mode);
}

static int cannot_write(const char *path, int err)
{
	complain("cannot write '%s': %s", path ? path : "standard output", strerror(err));
	return EXIT_ERROR;
}

/* The file keeps its mode and, through a link, its place. */
static int open_part(struct output *out)
{
	out->whole = realpath(out->path, NULL);
	if (!out->whole)
		out->whole = strdup(out->path);
	if (!out->whole || asprintf(&out->part, "%s.part", out->whole) < 0)
		out->part = NULL;
	if (!out->part)
		return cannot_write(out->path, ENOMEM);
	struct stat st;
	mode_t mode = stat(out->path, &st) ? 0666 : st.st_mode & 0777;
	if (unlink(out->part) && errno != ENOENT)
		return cannot_write(out->part, errno);
	out->fd = open(out->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (out->fd < 0 || fstat(out->fd, &st))
		return cannot_write(out->path, errno);
	out->dev = st.st_dev;
	out->ino = st.st_ino;
	return 0;
}

static int open_fd(struct output *out)
{
	if (!out->path)
		return 0;
	if (!is_special(out->path))
		return open_part(out);
	out->fd = open(out->path, O_WRONLY | O_CLOEXEC);
	return out->fd < 0 ? cannot_write(out->path, errno) : 0;
}

static void close_fd(struct output *out)
{
	if (out->path && out->fd >= 0)
		close(out->fd);
	free(out->whole);
	free(out->part);
}

int output_open(struct output *out, const struct opts *o, struct session *s)
{
	bool to_stdout = !o->output || !strcmp(o->output, "-");
	*out = (struct output){.path = to_stdout ? NULL : o->output, .fd = STDOUT_FILENO};
	const struct format *f = o->format   ? o->format
				 : to_stdout ? format_named("text")
					     : format_of_path(o->output);
	if (f->binary && to_stdout && isatty(STDOUT_FILENO)) {
		complain("%s is not for a terminal; try: -o FILE", f->name);
		return EXIT_USAGE;
	}
	int status = open_fd(out);
	if (status) {
		close_fd(out);
		return status;
	}
	int err = f->make(s, out->fd, &out->sink);
	if (!err)
		return 0;
	complain("%s", strerror(-err));
	if (out->part)
		unlink(out->part);
	close_fd(out);
	return EXIT_ERROR;
}

static bool is_ours(const struct output *out)
{
	struct stat st;
	return !stat(out->part, &st) && st.st_dev == out->dev && st.st_ino == out->ino;
}

/* Of a run that was refused before its first event there is nothing to keep. */
static int name_part(struct output *out, const struct session *s, int err, int status)
{
	if (!is_ours(out)) {
		complain("'%s' is lost: somebody else removed or replaced '%s'", out->path,
			 out->part);
		return -ESTALE;
	}
	if (status && !s->totals.first_ns)
		return unlink(out->part) ? -errno : 0;
	if (err) {
		complain("what was written is in '%s'", out->part);
		return 0;
	}
	return rename(out->part, out->whole) ? -errno : 0;
}

int output_close(struct output *out, const struct session *s, int status)
{
	int err = sink_end(out->sink);
	sink_free(out->sink);
	err = err == -EPIPE ? 0 : err;
	if (out->path && close(out->fd) && !err)
		err = -errno;
	out->fd = -1;
	if (err)
		cannot_write(out->path, -err);
	if (out->part) {
		int unnamed = name_part(out, s, err, status);
		if (unnamed && unnamed != -ESTALE)
			cannot_write(out->path, -unnamed);
		err = err ? err : unnamed;
	}
	close_fd(out);
	return err && !status ? EXIT_ERROR : status;
}
