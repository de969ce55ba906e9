/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/leftovers.h"
#include "cmd/open.h"

/* The inputs as the command line has them; what cannot be found is told when it is opened. */
struct inputs {
	struct file_id ids[OPTS_MAX];
	unsigned index[OPTS_MAX]; /* of the option */
	unsigned count;
};

static void find_inputs(const struct opts *o, struct inputs *ret)
{
	ret->count = 0;
	for (unsigned i = 0; i < o->file_count; i++) {
		struct stat st;
		bool is_stdin = !strcmp(o->files[i], "-");
		if (is_stdin ? fstat(STDIN_FILENO, &st) : stat(o->files[i], &st))
			continue;
		if (!S_ISREG(st.st_mode))
			continue;
		ret->ids[ret->count] = file_id_of(&st);
		ret->index[ret->count++] = i;
	}
}

static bool is_input(const struct inputs *in, const struct file_id *id, unsigned *ret_index)
{
	for (unsigned i = 0; i < in->count; i++)
		if (in->ids[i].dev == id->dev && in->ids[i].ino == id->ino) {
			*ret_index = in->index[i];
			return true;
		}
	return false;
}

/* Of a file that is written while it is read nothing is left, or it never ends. */
static int refuse_input(const struct output *out, const struct opts *o, const struct inputs *in)
{
	const struct outfile *f = &out->file;
	struct file_id id = {0};
	struct stat st;
	unsigned i;
	if (out->path)
		id = f->part ? f->old : f->id;
	else if (!fstat(f->fd, &st) && S_ISREG(st.st_mode))
		id = file_id_of(&st);
	if (!is_input(in, &id, &i))
		return 0;
	complain("'%s' is both input and output; write to another file", o->files[i]);
	return EXIT_USAGE;
}

static int begin(struct output *out)
{
	int err = out->begun || !out->path ? 0 : outfile_begin(&out->file);
	out->begun |= !err;
	return err;
}

static struct output *of_sink(struct sink *k)
{
	return (struct output *)k;
}

static int front_event(struct sink *k, const struct ebt_event *ev)
{
	struct output *out = of_sink(k);
	int err = out->begun ? 0 : begin(out);
	return err ? err : sink_event(out->inner, ev);
}

static int front_advance(struct sink *k, uint64_t now_ns)
{
	return of_sink(k)->begun ? sink_advance(of_sink(k)->inner, now_ns) : 0;
}

/* What is in the file stays there until there is something to put in its place. */
static int front_flush(struct sink *k)
{
	return of_sink(k)->begun ? sink_flush(of_sink(k)->inner) : 0;
}

static bool front_ready(struct sink *k)
{
	return sink_ready(of_sink(k)->inner);
}

static int front_end(struct sink *k)
{
	int err = begin(of_sink(k));
	return err ? err : sink_end(of_sink(k)->inner);
}

static void front_cancel(struct sink *k)
{
	sink_cancel(of_sink(k)->inner);
}

static void front_free(struct sink *k)
{
	sink_free(of_sink(k)->inner);
	of_sink(k)->inner = NULL;
}

static const struct sink_ops front_ops = {
	.event = front_event,
	.advance = front_advance,
	.flush = front_flush,
	.ready = front_ready,
	.end = front_end,
	.cancel = front_cancel,
	.free = front_free,
};

/* The sink behind the front, on the file that is open. */
static int open_inner(struct output *out, struct session *s, const struct output_maker *m)
{
	int err = m->make(m->ctx, s, out->file.fd, &out->inner);
	/* Who waits for it on a pipe or a part sees it grow from the begin. */
	out->begun = !out->file.in_place;
	if (err)
		complain("%s", strerror(-err));
	return err ? EXIT_ERROR : 0;
}

/* `fd`: of standard output or error, where there is no path. */
static int open_sink(struct output *out, const struct opts *o, struct session *s,
		     const struct output_maker *m, const char *path, int fd)
{
	struct inputs in;
	*out = (struct output){.sink.ops = &front_ops, .path = path, .file = {.fd = fd}};
	if (path) {
		int status = outfile_open(&out->file, path);
		if (status)
			return status;
	}
	find_inputs(o, &in);
	int status = refuse_input(out, o, &in);
	if (!status)
		status = open_inner(out, s, m);
	if (status && path)
		outfile_drop(&out->file);
	else if (out->file.part && log_level >= LOG_NORMAL)
		leftovers_tell(&out->file, in.ids, in.count);
	return status;
}

static int make_format(const void *ctx, struct session *s, int fd, struct sink **ret)
{
	const struct format *f = ctx;
	return f->make(s, fd, ret);
}

int output_open(struct output *out, const struct opts *o, struct session *s)
{
	bool to_stdout = !o->output || !strcmp(o->output, "-");
	const struct format *f = o->format   ? o->format
				 : to_stdout ? format_named("text")
					     : format_of_path(o->output);
	if (f->binary && to_stdout && isatty(STDOUT_FILENO)) {
		complain("%s is not for a terminal; try: -o FILE", f->name);
		return EXIT_USAGE;
	}
	struct output_maker m = {.make = make_format, .ctx = f};
	return open_sink(out, o, s, &m, to_stdout ? NULL : o->output, STDOUT_FILENO);
}

int output_open_made(struct output *out, const struct opts *o, struct session *s,
		     const struct output_maker *m)
{
	bool to_stdout = o->output && !strcmp(o->output, "-");
	return open_sink(out, o, s, m, to_stdout ? NULL : o->output,
			 to_stdout ? STDOUT_FILENO : m->fd);
}

int output_close(struct output *out, const struct session *s, int status)
{
	/* Of a run that was refused before its first event there is nothing to keep. */
	if (out->file.regular && status && !s->totals.first_ns) {
		sink_free(&out->sink);
		outfile_drop(&out->file);
		return status;
	}
	int err = sink_end(&out->sink);
	sink_free(&out->sink);
	err = err == -EPIPE ? 0 : err;
	if (out->path)
		err = outfile_name(&out->file, err);
	else if (err)
		outfile_cannot_write(NULL, -err);
	out->failed = err != 0;
	return err && !status ? EXIT_ERROR : status;
}
