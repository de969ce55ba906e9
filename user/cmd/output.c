/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/output.h"

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

#include "base/clock.h"
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
 * never changed: a recording belongs to the user who made it.
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
static int refuse_input(const struct output *out, const struct opts *o,
			const struct input_files *in)
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
	complain("'%s' is both input and output; write to another file", o->engine.files[i]);
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

static int make_inner(struct output *out)
{
	const struct output_maker *m = &out->maker;
	int err = m->make(m->ctx, out->session, out->file.fd, &out->inner);
	if (!err)
		text_set_time(out->inner, out->time);
	return err;
}

/* The reader of a pipe took no more. */
static void report_given_up(const struct output *out)
{
	complain("%s took nothing more after the signal: %" PRIu64
		 " bytes that were ready, and what "
		 "follows, are not written",
		 out->path ? out->path : "standard output", sink_given_up(out->inner));
}

/* Ends the sink and names the file. 0 or the first error, which has been reported. */
static int end_file(struct output *out)
{
	int err = sink_end(out->inner);
	bool given_up = err == -ECANCELED;
	if (given_up)
		report_given_up(out);
	sink_free(out->inner);
	out->inner = NULL;
	err = err == -EPIPE ? 0 : err;
	if (given_up) {
		outfile_close(&out->file);
	} else if (out->path) {
		int moved = !err && out->rotate ? rotation_shift(&out->file, out->rotate) : 0;
		err = outfile_name(&out->file, err ? err : moved);
	} else if (err) {
		outfile_cannot_write(NULL, -err);
	}
	return err;
}

/* The file has its size: opens the next one, which is readable alone, or ends the recording. */
static int change_file(struct output *out)
{
	if (!out->rotate) {
		if (log_level >= LOG_NORMAL)
			complain("'%s' has its --max-size: later events are not recorded",
				 out->path ? out->path : "standard output");
		return -EPIPE;
	}
	out->failed = true;
	int err = end_file(out);
	if (err)
		return err;
	session_next_output(out->session);
	err = outfile_next(&out->file);
	if (!err)
		err = make_inner(out);
	if (err)
		outfile_cannot_write(out->path, -err);
	out->failed = err != 0;
	return err;
}

static int front_events(struct sink *k, const struct ebt_event *ev, size_t n)
{
	struct output *out = of_sink(k);
	if (!out->err && !out->begun)
		out->err = begin(out);
	if (out->err)
		return out->err;
	uint64_t before = out->is_live ? now_ns() : 0;
	int err = sink_events(out->inner, ev, n);
	if (out->is_live)
		pace_format(&out->pace, now_ns() - before);
	if (!err && out->max_bytes && sink_bytes(out->inner) >= out->max_bytes)
		err = out->err = change_file(out);
	return err;
}

static int front_advance(struct sink *k, uint64_t horizon_ns)
{
	const struct output *out = of_sink(k);
	return out->begun && !out->err ? sink_advance(out->inner, horizon_ns) : out->err;
}

static int front_tick(struct sink *k, uint64_t now)
{
	const struct output *out = of_sink(k);
	if (!out->begun || out->err)
		return out->err;
	int err = sink_tick(out->inner, now);
	k->wants_open |= out->inner->wants_open;
	out->inner->wants_open = false;
	return err;
}

static int front_forget(struct sink *k, uint32_t process)
{
	const struct output *out = of_sink(k);
	return out->begun && !out->err ? sink_forget(out->inner, process) : out->err;
}

/* An existing file keeps its content until there is new content. */
static int front_flush(struct sink *k)
{
	const struct output *out = of_sink(k);
	return out->begun && !out->err ? sink_flush(out->inner) : out->err;
}

static bool has_lost(const struct output *out)
{
	struct totals t = session_run_totals(out->session);
	return t.lost_events || t.lost_words;
}

static void report_limit(const struct pace *p, const char *format, bool is_capture)
{
	const struct pace_times *t = &p->busy;
	double all = (double)pace_sum(t) / 100;
	const char *instead = is_capture ? "record less (-e GLOB)"
					 : "record a capture (-o FILE.ebt) and convert it later";
	switch (pace_limit(p)) {
	case PACE_OUTPUT:
		complain("the output cannot keep up: %.0f %% of the busy time is spent waiting for "
			 "its disk or "
			 "reader; %s",
			 (double)t->output_ns / all,
			 is_capture ? "write to a faster one, or record less (-e GLOB)" : instead);
		break;
	case PACE_CPU:
		complain("ebtrace cannot keep up: it waits for a CPU in %.0f %% of its busy time; "
			 "free a CPU, or run it with a higher priority (nice)",
			 (double)t->cpu_wait_ns / all);
		break;
	case PACE_FORMAT:
		complain("the format cannot keep up: writing %s takes %.0f %% of the busy time; %s",
			 format, (double)t->format_ns / all, instead);
		break;
	case PACE_READING:
		complain(
			"the rings are written faster than ebtrace reads them, which takes %.0f %% "
			"of its busy time; larger rings absorb bursts",
			(double)(t->run_ns - t->format_ns) / all);
		break;
	case PACE_NONE:
		break;
	}
}

void output_report_limit(const struct output *out)
{
	if (log_level >= LOG_NORMAL && has_lost(out))
		report_limit(&out->pace, out->format, out->is_capture);
}

static bool front_ready(struct sink *k)
{
	struct output *out = of_sink(k);
	bool ready = !out->inner || sink_ready(out->inner);
	pace_ready(&out->pace, ready);
	if (out->on_terminal && has_lost(out) && pace_limit(&out->pace)) {
		output_report_limit(out);
		out->on_terminal = false;
	}
	return ready;
}

static int front_end(struct sink *k)
{
	struct output *out = of_sink(k);
	int err = out->inner ? begin(out) : 0;
	return err || !out->inner ? err : sink_end(out->inner);
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
	.events = front_events,
	.advance = front_advance,
	.tick = front_tick,
	.forget = front_forget,
	.flush = front_flush,
	.ready = front_ready,
	.end = front_end,
	.cancel = front_cancel,
	.free = front_free,
};

/* Makes the sink behind the front, on the open file. */
static int open_inner(struct output *out)
{
	if (out->rotate) {
		int status = rotation_check(&out->file, out->rotate);
		if (status)
			return status;
	}
	int err = make_inner(out);
	pace_begin(&out->pace);
	/* A reader of a pipe or a part sees the output from its start. */
	out->begun = !out->file.in_place;
	if (err)
		complain("%s", strerror(-err));
	return err ? EXIT_ERROR : 0;
}

/* path: NULL for the maker's fd. */
static int open_sink(struct output *out, const struct opts *o, struct session *s,
		     const struct output_maker *m, const char *path)
{
	struct input_files in;
	*out = (struct output){
		/* A file of limited size ends after the event that reaches the limit. */
		.sink = {.ops = &front_ops, .batch_max = o->max_bytes ? 1 : 0},
		.path = path,
		.file = {.fd = m->fd, .dir_fd = -1, .old_fd = -1},
		.session = s,
		.maker = *m,
		.time = o->time,
		.max_bytes = o->max_bytes,
		.rotate = o->rotate,
		.format = "the report",
		.is_live = !o->engine.file_count,
		.on_terminal = o->output && !o->engine.file_count && isatty(STDERR_FILENO),
	};
	int status = 0;
	if (find_inputs(o, &in)) {
		complain("%s", strerror(ENOMEM));
		status = EXIT_ERROR;
	}
	if (!status && path)
		status = outfile_open(&out->file, path, o->is_private || in.any_private);
	if (status) {
		input_files_done(&in);
		return status;
	}
	status = refuse_input(out, o, &in);
	if (!status)
		status = open_inner(out);
	if (status && path)
		outfile_drop(&out->file);
	else if (out->file.part && log_level >= LOG_NORMAL)
		parts_report(&out->file, in.ids, in.count);
	input_files_done(&in);
	return status;
}

/* Of "-", /dev/stdout and the like; never of a terminal or /dev/null, which have no order of bytes to
 * keep. */
static bool is_stdout(const char *path)
{
	struct stat named, out;
	if (!strcmp(path, "-"))
		return true;
	return !stat(path, &named) && !fstat(STDOUT_FILENO, &out) && !S_ISCHR(out.st_mode) &&
	       named.st_dev == out.st_dev && named.st_ino == out.st_ino;
}

void output_take_stdout(struct opts *o)
{
	const struct engine_options *e = &o->engine;
	if (!e->program || !o->output || !is_stdout(o->output))
		return;
	o->engine.takes_stdout = true;
	log_at(LOG_VERBOSE, "standard output has the data; that of '%s' goes to standard error",
	       e->program[0]);
}

int output_refuse_mixed(const struct opts *o, const char *stream, const char *format)
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

int output_open(struct output *out, const struct opts *o, struct session *s)
{
	bool to_stdout = !o->output || !strcmp(o->output, "-");
	const struct format *f = o->format ? o->format : format_of_path(o->output);
	if (f->traits & FORMAT_BINARY && to_stdout && isatty(STDOUT_FILENO)) {
		complain("%s is not for a terminal; try: -o FILE", f->name);
		return EXIT_USAGE;
	}
	struct output_maker m = {.make = make_format, .ctx = f, .fd = STDOUT_FILENO};
	int status = open_sink(out, o, s, &m, to_stdout ? NULL : o->output);
	out->format = f->name;
	out->is_capture = f->traits & FORMAT_CAPTURE;
	return status;
}

int output_open_made(struct output *out, const struct opts *o, struct session *s,
		     const struct output_maker *m)
{
	bool to_stdout = o->output && !strcmp(o->output, "-");
	struct output_maker here = *m;
	here.fd = to_stdout ? STDOUT_FILENO : m->fd;
	return open_sink(out, o, s, &here, to_stdout ? NULL : o->output);
}

int output_close(struct output *out, const struct session *s, int status)
{
	int err = out->failed ? out->err : 0;
	/* A run that failed before its first event has no output to keep. */
	if (out->file.regular && status && !session_run_totals(s).timed) {
		sink_free(&out->sink);
		outfile_drop(&out->file);
		return status;
	}
	if (out->inner) {
		int begun = begin(out);
		err = begun ? begun : end_file(out);
	}
	if (out->path)
		outfile_close(&out->file);
	out->failed = err != 0;
	return err && !status ? EXIT_ERROR : status;
}
