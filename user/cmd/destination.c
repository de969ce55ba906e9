/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/destination.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/plural.h"
#include "cmd/commands.h"
#include "cmd/message.h"
#include "cmd/outfile.h"
#include "codec/capture/capture.h"

/*
 * The files of a rotated output (--rotate): FILE is the newest complete one, FILE.1 the one before
 * it, and so on, with the number before the suffix: run.1.ebt. Only regular files of our own user
 * are renamed or replaced.
 */

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
static int check_name(const struct outfile *f, const char *path)
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

/* Checks that the `keep` names are free, or files that may be replaced. 0, or an exit status after
 * a line on stderr. */
static int rotation_check(const struct outfile *f, unsigned keep)
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
		err = path ? check_name(f, path) : -ENOMEM;
		if (err)
			complain_of(path ? path : f->path, err);
		free(path);
	}
	return err ? EXIT_ERROR : 0;
}

static int shift(const struct outfile *f, const char *from, const char *to)
{
	int err = check_name(f, from);
	if (!err)
		err = check_name(f, to);
	if (!err && renameat(f->dir_fd, base_of(f, from), f->dir_fd, base_of(f, to)) &&
	    errno != ENOENT)
		err = -errno;
	return err ? complain_of(to, err) : 0;
}

/*
 * Frees the name FILE: renames each file to the next number and removes the keep-th. 0 or -errno
 * after a line on stderr.
 */
static int rotation_shift(struct outfile *f, unsigned keep)
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
	f->existed = has_old && keep == 1 && !check_name(f, f->path);
	if (f->existed)
		f->old = file_id_of(&st);
	return err;
}

/*
 * The parts of an output that other runs have left or are writing (outfile.h). They are reported,
 * never changed: a recording belongs to the user that made it.
 */

#define REPORTS_MAX 4

struct search {
	const struct outfile *f;
	const struct file_id *inputs;
	unsigned input_count;
	unsigned reports;
};

/* FILE.part and FILE.part.N, the names of outfile.c. */
static bool is_part(const char *name, const char *base)
{
	size_t len = strlen(base);
	if (strncmp(name, base, len) || strncmp(name + len, ".part", 5))
		return false;
	const char *n = name + len + 5;
	return !*n || (*n == '.' && n[1] && n[1 + strspn(n + 1, "0123456789")] == '\0');
}

static void report_left(const char *path, const char *part, bool is_capture)
{
	char mark[64];
	snprintf(mark, sizeof(mark), "recovered%s", part + strlen(path) + strlen(".part"));
	char *to = outfile_marked(path, mark);
	if (to && is_capture)
		complain("'%s' was left by an earlier run; to recover it: ebtrace '%s' -o '%s'",
			 part, part, to);
	else if (to)
		complain("'%s' was left by an earlier run; to keep it: mv '%s' '%s'", part, part,
			 to);
	free(to);
}

static void report(const struct outfile *f, const char *name, int fd)
{
	char *part;
	if (asprintf(&part, "%.*s%s", (int)(f->base - f->path), f->path, name) < 0)
		return;
	uint8_t head[CAPTURE_HEAD_BYTES];
	ssize_t n = pread(fd, head, sizeof(head), 0);
	if (flock(fd, LOCK_SH | LOCK_NB))
		complain("another run is writing '%s', now in '%s'", f->path, part);
	else if (n > 0)
		report_left(f->path, part, capture_is(head, (size_t)n));
	free(part);
}

static bool is_known(const struct search *s, const struct stat *st)
{
	for (unsigned i = 0; i < s->input_count; i++)
		if (file_id_is(&s->inputs[i], st))
			return true;
	return file_id_is(&s->f->id, st);
}

static void check(struct search *s, const char *name)
{
	struct stat st;
	/* Type first: opening a device or a FIFO can have side effects. */
	if (fstatat(s->f->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
	    st.st_uid != geteuid() || is_known(s, &st))
		return;
	int fd = file_open(s->f->dir_fd, name, O_NOFOLLOW);
	if (fd < 0)
		return;
	if (s->reports++ < REPORTS_MAX)
		report(s->f, name, fd);
	close(fd);
}

/* Prints a line on stderr for each part beside the part `f`: that of an interrupted run with the
 * command that recovers it, that of an active run as such. Skips parts that are inputs now. */
static void parts_report(const struct outfile *f, const struct file_id *inputs,
			 unsigned input_count)
{
	struct search s = {.f = f, .inputs = inputs, .input_count = input_count};
	int fd = openat(f->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *e; (e = readdir(dir));)
		if (is_part(e->d_name, f->base))
			check(&s, e->d_name);
	closedir(dir);
	if (s.reports > REPORTS_MAX)
		complain("and %u more part%s of '%s'", s.reports - REPORTS_MAX,
			 plural(s.reports - REPORTS_MAX), f->path);
}

/* The input files of the command line; a missing one is reported when it is opened. */
struct input_files {
	struct file_id *ids;
	unsigned *index; /* of the option */
	unsigned count;
	bool any_private; /* one is for its owner alone, and so is what is made of it */
};

static int find_inputs(const struct opts *o, struct input_files *ret)
{
	*ret = (struct input_files){
		.ids = calloc(o->engine.file_count + 1, sizeof(*ret->ids)),
		.index = calloc(o->engine.file_count + 1, sizeof(*ret->index)),
	};
	for (unsigned i = 0; ret->ids && ret->index && i < o->engine.file_count; i++) {
		struct stat st;
		const char *path = o->engine.files[i];
		if (strcmp(path, "-") ? stat(path, &st) : fstat(STDIN_FILENO, &st))
			continue;
		if (!S_ISREG(st.st_mode))
			continue;
		ret->any_private |= !(st.st_mode & (S_IRGRP | S_IROTH));
		ret->ids[ret->count] = file_id_of(&st);
		ret->index[ret->count++] = i;
	}
	return ret->ids && ret->index ? 0 : -ENOMEM;
}

static void input_files_done(struct input_files *in)
{
	free(in->ids);
	free(in->index);
}

static bool is_input(const struct input_files *in, const struct file_id *id, unsigned *ret_index)
{
	for (unsigned i = 0; i < in->count; i++)
		if (file_id_same(&in->ids[i], id)) {
			*ret_index = in->index[i];
			return true;
		}
	return false;
}

/* Writing to an input would destroy it, or never end. */
static int refuse_input(const struct destination *d, const struct opts *o,
			const struct input_files *in)
{
	const struct outfile *f = &d->file;
	struct file_id id = {0};
	struct stat st;
	unsigned i;
	if (d->path)
		id = f->part ? f->old : f->id;
	else if (!fstat(f->fd, &st) && S_ISREG(st.st_mode))
		id = file_id_of(&st);
	if (!is_input(in, &id, &i))
		return 0;
	complain("'%s' is both input and output; write to another file", o->engine.files[i]);
	return EXIT_USAGE;
}

static int make_format_on(const struct destination *d, struct sink **ret)
{
	const struct destination_maker *m = &d->maker;
	int err = m->make(m->ctx, d->session, d->file.fd, ret);
	if (!err)
		text_set_time(*ret, d->time);
	return err;
}

static int begin_file(void *ctx)
{
	struct destination *d = ctx;
	return d->path ? outfile_begin(&d->file) : 0;
}

/* Names the file. */
static int end_file(void *ctx, int err)
{
	struct destination *d = ctx;
	if (err == -ECANCELED) {
		outfile_close(&d->file);
	} else if (d->path) {
		int moved = !err && d->rotate ? rotation_shift(&d->file, d->rotate) : 0;
		err = outfile_name(&d->file, err ? err : moved);
	} else if (err) {
		outfile_cannot_write(NULL, -err);
	}
	return err;
}

static int next_file(void *ctx, struct sink **ret)
{
	struct destination *d = ctx;
	int err = outfile_next(&d->file);
	if (!err)
		err = make_format_on(d, ret);
	if (err)
		outfile_cannot_write(d->path, -err);
	return err;
}

/* Makes the format, on the open file, and the stage before it. */
static int make_output(struct destination *d, const struct output_options *oo)
{
	struct sink *format;
	if (d->rotate) {
		int status = rotation_check(&d->file, d->rotate);
		if (status)
			return status;
	}
	int err = make_format_on(d, &format);
	if (err) {
		complain("%s", strerror(-err));
		return EXIT_ERROR;
	}
	const struct output_file file = {
		.begin = begin_file,
		.end = end_file,
		.next = d->rotate ? next_file : NULL,
		.ctx = d,
	};
	output_init(&d->output, d->session, format, oo, &file);
	return 0;
}

/* path: NULL for the maker's fd. */
static int open_at(struct destination *d, const struct opts *o, struct session *s,
		   const struct destination_maker *m, const char *path)
{
	struct input_files in;
	*d = (struct destination){
		.path = path,
		.file = {.fd = m->fd, .dir_fd = -1, .old_fd = -1},
		.session = s,
		.maker = *m,
		.time = o->time,
		.rotate = o->rotate,
	};
	int status = 0;
	if (find_inputs(o, &in)) {
		complain("%s", strerror(ENOMEM));
		status = EXIT_ERROR;
	}
	if (!status && path)
		status = outfile_open(&d->file, path, o->is_private || in.any_private);
	if (status) {
		input_files_done(&in);
		return status;
	}
	const struct output_options oo = {
		.name = path ? path : "standard output",
		.format = m->format ? m->format->name : "the report",
		.is_capture = m->format && m->format->traits & FORMAT_CAPTURE,
		/* A reader of a pipe or a part sees the output from its start. */
		.is_begun = !d->file.in_place,
		.is_live = !o->engine.file_count,
		.on_terminal = o->output && !o->engine.file_count && isatty(STDERR_FILENO),
		.max_bytes = o->max_bytes,
	};
	status = refuse_input(d, o, &in);
	if (!status)
		status = make_output(d, &oo);
	if (status && path)
		outfile_drop(&d->file);
	else if (d->file.part && log_level >= LOG_NORMAL)
		parts_report(&d->file, in.ids, in.count);
	input_files_done(&in);
	return status;
}

/* True for "-", /dev/stdout and the like; not for a terminal or /dev/null, where the order of bytes
 * does not matter. */
static bool is_stdout(const char *path)
{
	struct stat named, out;
	if (!strcmp(path, "-"))
		return true;
	return !stat(path, &named) && !fstat(STDOUT_FILENO, &out) && !S_ISCHR(out.st_mode) &&
	       named.st_dev == out.st_dev && named.st_ino == out.st_ino;
}

void destination_take_stdout(struct opts *o)
{
	const struct engine_options *e = &o->engine;
	if (!e->program || !o->output || !is_stdout(o->output))
		return;
	o->engine.takes_stdout = true;
	log_at(LOG_VERBOSE, "standard output has the data; that of '%s' goes to standard error",
	       e->program[0]);
}

int destination_refuse_mixed(const struct opts *o, const char *stream, const char *format)
{
	complain("on standard %s %s would be mixed with what '%s' prints; try: -o FILE, or -o - "
		 "(what it prints goes to standard error)",
		 stream, format, o->engine.program[0]);
	return EXIT_USAGE;
}

static int make_format(const void *ctx, struct session *s, int fd, struct sink **ret)
{
	const struct format *f = ctx;
	return f->make(s, fd, ret);
}

int destination_open(struct destination *d, const struct opts *o, struct session *s)
{
	bool to_stdout = !o->output || !strcmp(o->output, "-");
	const struct format *f = o->format ? o->format : format_of_path(o->output);
	if (f->traits & FORMAT_BINARY && to_stdout && isatty(STDOUT_FILENO)) {
		complain("%s is not for a terminal; try: -o FILE", f->name);
		return EXIT_USAGE;
	}
	const struct destination_maker m = {
		.make = make_format, .ctx = f, .fd = STDOUT_FILENO, .format = f};
	return open_at(d, o, s, &m, to_stdout ? NULL : o->output);
}

int destination_open_made(struct destination *d, const struct opts *o, struct session *s,
			  const struct destination_maker *m)
{
	bool to_stdout = o->output && !strcmp(o->output, "-");
	struct destination_maker here = *m;
	here.fd = to_stdout ? STDOUT_FILENO : m->fd;
	return open_at(d, o, s, &here, to_stdout ? NULL : o->output);
}

int destination_close(struct destination *d, int status)
{
	/* A run that failed before its first event has no output to keep. */
	if (d->file.regular && status && !session_run_totals(d->session).timed) {
		sink_free(&d->output.sink);
		outfile_drop(&d->file);
		return status;
	}
	int err = output_end(&d->output);
	if (d->path)
		outfile_close(&d->file);
	d->failed = err != 0;
	return err && !status ? EXIT_ERROR : status;
}
