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

/* Where a link leads to that names no file yet only the kernel can tell: it makes one there. */
static char *end_of_link(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return NULL;
	close(fd);
	char *end = realpath(path, NULL);
	if (end)
		unlink(end);
	return end;
}

static char *whole_of(const char *path)
{
	struct stat st;
	char *whole = realpath(path, NULL);
	if (whole || errno != ENOENT)
		return whole;
	return lstat(path, &st) ? strdup(path) : end_of_link(path);
}

/* The file keeps its mode, its owner and, through a link, its place. */
static int open_part(struct output *out)
{
	struct stat st;
	bool old = !stat(out->path, &st);
	/* A file that may not be written is not replaced either. */
	if (old && faccessat(AT_FDCWD, out->path, W_OK, AT_EACCESS))
		return cannot_write(out->path, errno);
	out->whole = *out->path ? whole_of(out->path) : NULL;
	if (!out->whole)
		return cannot_write(out->path, *out->path ? errno : ENOENT);
	if (asprintf(&out->part, "%s.part", out->whole) < 0) {
		out->part = NULL;
		return cannot_write(out->path, ENOMEM);
	}
	if (unlink(out->part) && errno != ENOENT)
		return cannot_write(out->part, errno);
	mode_t mode = old ? st.st_mode & 0777 : 0666;
	out->fd = open(out->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (out->fd < 0)
		return cannot_write(errno == EACCES ? out->part : out->path, errno);
	/* Only root can give a file away; whoever else replaces one has it then. */
	if (old && !fchown(out->fd, st.st_uid, st.st_gid))
		fchmod(out->fd, mode);
	if (fstat(out->fd, &st))
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

static int open_sink(struct output *out, struct session *s, const struct output_maker *m)
{
	int status = open_fd(out);
	if (status) {
		close_fd(out);
		return status;
	}
	int err = m->make(m->ctx, s, out->fd, &out->sink);
	if (!err)
		return 0;
	complain("%s", strerror(-err));
	if (out->part)
		unlink(out->part);
	close_fd(out);
	return EXIT_ERROR;
}

static int make_format(const void *ctx, struct session *s, int fd, struct sink **ret)
{
	const struct format *f = ctx;
	return f->make(s, fd, ret);
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
	struct output_maker m = {.make = make_format, .ctx = f};
	return open_sink(out, s, &m);
}

int output_open_made(struct output *out, const struct opts *o, struct session *s,
		     const struct output_maker *m)
{
	bool to_stdout = o->output && !strcmp(o->output, "-");
	*out = (struct output){.path = to_stdout ? NULL : o->output,
			       .fd = to_stdout ? STDOUT_FILENO : m->fd};
	return open_sink(out, s, m);
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
	if (status && !s->totals.first_ns) {
		unlink(out->part);
		return 0;
	}
	int unnamed = !err && rename(out->part, out->whole) ? -errno : 0;
	if (unnamed)
		cannot_write(out->path, -unnamed);
	if (err || unnamed)
		complain("what was written is in '%s'", out->part);
	return unnamed;
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
		err = err ? err : unnamed;
	}
	close_fd(out);
	out->failed = err != 0;
	return err && !status ? EXIT_ERROR : status;
}
