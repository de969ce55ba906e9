/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/input/inputs.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "engine/foreign_file.h"
#include "engine/input/capture.h"
#include "engine/input/memtrace.h"
#include "engine/input/pagetrace.h"
#include "engine/input/ring.h"

#define COPY_MAX_BYTES (4ull << 30)
#define READ_BYTES     65536
#define IDLE_NS	       1000000000

/* The kinds of inputs. A file that none recognises is opened as a ring file: its header may not
 * have been written yet. */
static const struct input_kind *const kinds[] = {&input_ring, &input_capture, &input_memtrace,
						 &input_pagetrace};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

struct input_source {
	unsigned kind; /* index */
	struct source *source;
};

struct inputs {
	const struct engine *engine;
	struct loop *loop;
	struct input **input;	 /* the loop refers to them: each keeps its address */
	unsigned count, waiting; /* waiting: not ready yet */
	struct input_source *sources;
	unsigned source_count;
	enum engine_end failed; /* of reading a pipe */
};

int inputs_new(const struct engine *e, struct loop *l, struct inputs **ret)
{
	struct inputs *ins = calloc(1, sizeof(*ins));
	if (!ins)
		return -ENOMEM;
	ins->engine = e;
	ins->loop = l;
	*ret = ins;
	return 0;
}

static void input_free(struct input *in)
{
	loop_remove(in->inputs->loop, &in->watch);
	if (in->fd >= 0)
		close(in->fd);
	if (in->copy_fd >= 0)
		close(in->copy_fd);
	free(in);
}

void inputs_free(struct inputs *ins)
{
	if (!ins)
		return;
	for (unsigned i = 0; i < ins->count; i++)
		input_free(ins->input[i]);
	for (unsigned i = 0; i < ins->source_count; i++)
		source_free(ins->sources[i].source);
	free(ins->input);
	free(ins->sources);
	free(ins);
}

static void recognise(struct input *in, const void *head, size_t bytes)
{
	unsigned i = 0;
	while (i < KINDS && !kinds[i]->recognise(head, bytes))
		i++;
	in->recognised = i < KINDS;
	in->kind = kinds[in->recognised ? i : 0];
	in->foreign = in->recognised ? NULL : foreign_file(head, bytes);
}

static enum engine_end cannot_open(const struct input *in, int err)
{
	const struct messages *r = &in->inputs->engine->session->messages;
	if (in->foreign)
		messages_error(r, in->is_stdin ? "%s %s" : "'%s' %s", in->name, in->foreign);
	else if (in->is_stdin)
		messages_error(r, "cannot read standard input: %s", strerror(-err));
	else
		messages_error(r, "cannot open '%s': %s", in->name, file_strerror(err));
	return ENGINE_FAILED;
}

static void set_ready(struct input *in)
{
	loop_remove(in->inputs->loop, &in->watch);
	in->ready = true;
	in->inputs->waiting--;
}

/* Reads the available bytes of the head; the kind is known when all are read, or at the end. */
static int read_head(struct input *in)
{
	ssize_t n = read(in->fd, in->head + in->head_bytes, sizeof(in->head) - in->head_bytes);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : -errno;
	in->head_bytes += (size_t)n;
	if (n && in->head_bytes < sizeof(in->head))
		return 0;
	recognise(in, in->head, in->head_bytes);
	if (in->foreign)
		return -EBADMSG;
	if (!in->kind->at_offsets) {
		set_ready(in);
		return 0;
	}
	in->copy_fd = memfd_create("ebtrace-copy", MFD_CLOEXEC);
	if (in->copy_fd < 0)
		return -errno;
	in->copied_bytes = in->head_bytes;
	return file_write(in->copy_fd, in->head, in->head_bytes);
}

static int copy(struct input *in)
{
	char buf[READ_BYTES];
	ssize_t n = read(in->fd, buf, sizeof(buf));
	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : -errno;
	if (!n) {
		set_ready(in);
		close(in->fd);
		in->fd = in->copy_fd;
		in->copy_fd = -1;
		return 0;
	}
	in->copied_bytes += (uint64_t)n;
	if (in->copied_bytes > COPY_MAX_BYTES)
		return -EFBIG;
	return file_write(in->copy_fd, buf, (size_t)n);
}

static int read_more(struct input *in)
{
	return in->kind ? copy(in) : read_head(in);
}

/* A pipe that is not ready has bytes, or has ended. */
static int on_readable(void *ctx)
{
	struct input *in = ctx;
	int err = read_more(in);
	if (err) {
		loop_remove(in->inputs->loop, &in->watch);
		in->inputs->failed = cannot_open(in, err);
	}
	return 0;
}

/* The source that reads it is polled after each wait. */
static int on_more(void *ctx)
{
	(void)ctx;
	return 0;
}

static int open_path(const char *path)
{
	int fd = file_open(AT_FDCWD, path, 0);
	if (fd >= 0)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fd;
}

/* A pipe is read when the loop finds it readable. 0 or -errno. */
static int watch_pipe(struct input *in)
{
	in->is_pipe = true;
	in->watch = (struct loop_fd){.fd = in->fd, .fn = on_readable, .ctx = in};
	int err = loop_add(in->inputs->loop, &in->watch, LOOP_LEVEL);
	if (err != -EPERM)
		return err;
	/* /dev/null and its like are always readable. */
	in->is_pipe = false;
	for (err = 0; !err && !in->ready;)
		err = read_more(in);
	return err;
}

/* 0 or -errno. */
static int begin_reading(struct input *in, mode_t mode)
{
	/* A device may have no end. */
	if (S_ISFIFO(mode) || S_ISSOCK(mode) || (in->is_stdin && S_ISCHR(mode)))
		return watch_pipe(in);
	uint8_t head[INPUT_HEAD_BYTES];
	ssize_t n = 0;
	if (in->is_regular)
		n = pread(in->fd, head, sizeof(head), lseek(in->fd, 0, SEEK_CUR));
	if (n < 0)
		return -errno;
	recognise(in, head, (size_t)n);
	if (in->foreign)
		return -EBADMSG;
	set_ready(in);
	return 0;
}

/* True if it is a program, which holds no events; reported. */
static bool refuse_program(const struct input *in, const char *path)
{
	const struct engine *e = in->inputs->engine;
	char head[4] = "";
	ssize_t n = pread(in->fd, head, sizeof(head), lseek(in->fd, 0, SEEK_CUR));
	bool is_script = n >= 2 && !memcmp(head, "#!", 2);
	if (!is_script && (n != sizeof(head) || memcmp(head, ELFMAG, SELFMAG)))
		return false;
	messages_error(&e->session->messages,
		       "'%s' is a program and holds no events; to run and trace it: %s -- %s%s",
		       path, engine_trace_command(e->options), strchr(path, '/') ? "" : "./", path);
	return true;
}

/* An input before this one that is the same file, or standard input again; NULL: there is none. */
static const struct input *find_same(const struct input *in)
{
	const struct inputs *ins = in->inputs;
	for (unsigned i = 0; ins->input[i] != in; i++) {
		const struct input *other = ins->input[i];
		bool is_file =
			in->is_regular && other->is_regular && file_id_same(&in->id, &other->id);
		if ((in->is_stdin && other->is_stdin) ||
		    (is_file && !in->is_stdin && !other->is_stdin))
			return other;
	}
	return NULL;
}

/* Drops the last input if it is the same as an earlier one: its events would be read twice. */
static bool drop_same(struct inputs *ins, struct input *in)
{
	const struct input *same = find_same(in);
	if (!same)
		return false;
	messages_at(&ins->engine->session->messages, LOG_NORMAL, "%s%s%s is read once, as %s",
		    in->is_stdin ? "" : "'", in->name, in->is_stdin ? "" : "'", same->name);
	close(in->fd);
	free(in);
	ins->count--;
	ins->waiting--;
	return true;
}

/* What it is. 0 or -errno. */
static int open_input(struct input *in, struct stat *ret)
{
	in->fd = in->is_stdin ? dup(STDIN_FILENO) : open_path(in->path);
	if (in->fd < 0)
		return in->is_stdin ? -errno : in->fd;
	if (fstat(in->fd, ret))
		return -errno;
	in->is_regular = S_ISREG(ret->st_mode);
	in->id = file_id_of(ret);
	return 0;
}

enum engine_end inputs_add(struct inputs *ins, const char *path)
{
	struct input *in = array_more(ins->input, ins->count) ? calloc(1, sizeof(*in)) : NULL;
	if (!in) {
		messages_error(&ins->engine->session->messages, "cannot start: %s",
			       strerror(ENOMEM));
		return ENGINE_FAILED;
	}
	ins->input[ins->count++] = in;
	ins->waiting++;
	in->inputs = ins;
	in->path = path;
	in->is_stdin = !strcmp(path, "-");
	in->name = in->is_stdin ? "standard input" : path;
	in->copy_fd = -1;
	struct stat st;
	int err = open_input(in, &st);
	if (!err && drop_same(ins, in))
		return ENGINE_OK;
	in->alone = ins->count == 1;
	ins->input[0]->alone = in->alone;
	err = err ? err : begin_reading(in, st.st_mode);
	if (err)
		return cannot_open(in, err);
	bool refused = !in->is_stdin && in->kind == kinds[0] && refuse_program(in, path);
	return refused ? ENGINE_MISUSED : ENGINE_OK;
}

/* Whether all inputs can be opened, or one has failed. */
static bool is_ready(const struct inputs *ins)
{
	return !ins->waiting || ins->failed;
}

static int64_t wait(void *ctx)
{
	struct inputs *ins = ctx;
	if (is_ready(ins))
		loop_stop(ins->loop);
	return IDLE_NS;
}

int inputs_wait(struct inputs *ins)
{
	return loop_run(ins->loop, wait, ins);
}

static struct source *last_source(const struct inputs *ins, unsigned kind)
{
	for (unsigned i = ins->source_count; i; i--)
		if (ins->sources[i - 1].kind == kind)
			return ins->sources[i - 1].source;
	return NULL;
}

/* Stores the source of an input unless an earlier input has it. */
static enum engine_end keep(struct inputs *ins, unsigned kind, struct source *source)
{
	if (!source || source == last_source(ins, kind))
		return ENGINE_OK;
	if (!array_more(ins->sources, ins->source_count)) {
		source_free(source);
		return ENGINE_FAILED;
	}
	ins->sources[ins->source_count++] = (struct input_source){kind, source};
	return ENGINE_OK;
}

static enum engine_end open_one(struct inputs *ins, struct input *in)
{
	unsigned kind = 0;
	while (kinds[kind] != in->kind)
		kind++;
	struct source *source = last_source(ins, kind);
	enum engine_end end = in->kind->open(ins->engine, in, &source);
	enum engine_end kept = keep(ins, kind, source);
	int fd = in->fd;
	in->fd = -1;
	in->source = kept ? NULL : source;
	if (end || kept || !in->is_pipe || in->kind->at_offsets)
		return end ? end : kept;
	in->watch = (struct loop_fd){.fd = fd, .fn = on_more, .ctx = in};
	return loop_add(ins->loop, &in->watch, LOOP_EDGE) ? ENGINE_FAILED : ENGINE_OK;
}

/* Inputs that all have the times of one clock are read in these. */
static void choose_clock(struct inputs *ins)
{
	unsigned same = 0;
	while (same < ins->count && ins->input[same]->kind &&
	       ins->input[same]->kind->clock == ins->input[0]->kind->clock)
		same++;
	if (ins->count && same == ins->count)
		ins->engine->session->timebase.clock = ins->input[0]->kind->clock;
}

enum engine_end inputs_open(struct inputs *ins)
{
	enum engine_end end = ins->failed;
	if (!end)
		choose_clock(ins);
	for (unsigned i = 0; !end && i < ins->count; i++)
		end = open_one(ins, ins->input[i]);
	return end;
}

enum engine_end inputs_add_process(struct inputs *ins, pid_t pid)
{
	struct source *source = last_source(ins, 0);
	enum engine_end end = input_ring_process(ins->engine, pid, &source);
	enum engine_end kept = keep(ins, 0, source);
	return end ? end : kept;
}

struct input *inputs_at(struct inputs *ins, unsigned i)
{
	return i < ins->count ? ins->input[i] : NULL;
}

int inputs_pump(struct inputs *ins, struct pump *p)
{
	int err = 0;
	for (unsigned i = 0; !err && i < ins->source_count; i++)
		err = pump_add_source(p, ins->sources[i].source);
	return err;
}

unsigned inputs_origins(const struct inputs *ins)
{
	unsigned origins = 0;
	for (unsigned i = 0; i < ins->source_count; i++)
		origins |= kinds[ins->sources[i].kind]->origin;
	return origins ? origins : kinds[0]->origin;
}

bool inputs_have_ring(const struct inputs *ins)
{
	for (unsigned i = 0; i < ins->count; i++)
		if (ins->input[i]->kind == &input_ring)
			return true;
	return false;
}

bool inputs_have_pipe(const struct inputs *ins)
{
	for (unsigned i = 0; i < ins->count; i++)
		if (ins->input[i]->is_pipe)
			return true;
	return false;
}

enum engine_end inputs_damage(const struct inputs *ins)
{
	enum engine_end end = ENGINE_OK;
	for (unsigned kind = 0; kind < KINDS; kind++)
		for (unsigned i = 0; i < ins->source_count; i++)
			if (ins->sources[i].kind == kind &&
			    !kinds[kind]->damage(&ins->engine->session->messages,
						 ins->sources[i].source))
				end = ENGINE_FAILED;
	return end;
}
