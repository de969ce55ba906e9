/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/record/record.h"

#include <ebtrace/memtrace.h>
#include <ebtrace/recorder.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "engine/loop.h"
#include "proc/executable.h"
#include "proc/preload.h"
#include "proc/process.h"

#define LIBRARY	      "libebtrace-preload.so"
#define MEMTRACE_FILE "0.ctf"
#define WANT_BYTES    (256u << 20) /* of space for traces */
#define LEAST_BYTES   (8u << 20)
#define PROGRESS_NS   500000000ull
#define COPY_BYTES    65536

/* Only files that no other user can change are put into programs. */
static int check_library(const char *folder, char *path)
{
	struct stat st;
	int dir = rundir_open_base(folder);
	if (dir < 0)
		return dir;
	int err = fstatat(dir, LIBRARY, &st, 0) ? -errno : 0;
	close(dir);
	if (err)
		return err;
	if (!S_ISREG(st.st_mode) || st.st_mode & (S_IWGRP | S_IWOTH) ||
	    (st.st_uid && st.st_uid != geteuid()))
		return -EPERM;
	/* LD_PRELOAD has no quotes, and expands $LIB. */
	if (snprintf(path, PATH_MAX, "%s/" LIBRARY, folder) >= PATH_MAX || strpbrk(path, " :$"))
		return -EINVAL;
	return 0;
}

/* Beside our own program, where both are built; else in EBT_PRELOAD_DIR, which is relative to the
 * program's folder, so that an installed tree can be moved. */
static int find_library(char ret[PATH_MAX])
{
	char path[PATH_MAX], folder[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
	if (n < 0)
		return -errno;
	folder[n] = 0;
	*strrchr(folder, '/') = 0;
	int err = check_library(folder, ret);
	if (err != -ENOENT)
		return err;
	if (snprintf(path, sizeof(path), "%s/" EBT_PRELOAD_DIR, folder) >= PATH_MAX)
		return -ENAMETOOLONG;
	return realpath(path, folder) ? check_library(folder, ret) : -errno;
}

static enum engine_end prepare_library(struct mem_record *r)
{
	int err = find_library(r->library);
	if (!err)
		return ENGINE_OK;
	messages_error(r->messages, "cannot use " LIBRARY ": %s",
		       err == -EPERM	? "others can replace it"
		       : err == -EINVAL ? "the dynamic linker takes no path with ' ', ':' or '$'"
					: strerror(-err));
	return ENGINE_FAILED;
}

static enum engine_end check_program(struct mem_record *r)
{
	char path[PATH_MAX], why[PRELOAD_REASON_BYTES];
	const char *name = r->options->program[0];
	if (!executable_find(name, path, sizeof(path)))
		return ENGINE_OK; /* exec() reports why */
	r->by_memtrace = preload_has_memtrace(path);
	const char *refused = r->by_memtrace ? NULL : preload_refused(path, why);
	if (!refused)
		return r->by_memtrace ? ENGINE_OK : prepare_library(r);
	messages_error(r->messages, "cannot record '%s': %s", name, refused);
	return ENGINE_NOTHING;
}

/* The number of our own seccomp filters. The program inherits them, and they allow what the
 * recorder calls. */
static unsigned count_filters(void)
{
	char text[4096];
	process_read_text(getpid(), "status", text, sizeof(text));
	const char *mode = strstr(text, "\nSeccomp:"),
		   *filters = strstr(text, "\nSeccomp_filters:");
	if (filters)
		return (unsigned)strtoul(strchr(filters, ':') + 1, NULL, 10);
	return mode && strtoul(strchr(mode, ':') + 1, NULL, 10);
}

/* In the program's process. */
static void extend_environment(void *ctx)
{
	const struct mem_record *r = ctx;
	char value[2 * PATH_MAX + 64], rate[32];
	snprintf(rate, sizeof(rate), "%.9g",
		 r->options->rate ? r->options->rate : EBT_MEMTRACE_RATE);
	if (r->by_memtrace) {
		snprintf(value, sizeof(value), "%s/" MEMTRACE_FILE, r->dir.path);
		setenv("MEMTRACE", value, 1);
		setenv("MEMTRACE_RATE", rate, r->options->rate > 0);
		return;
	}
	/* In front of the other libraries: one of them may be an allocator. */
	const char *others = getenv("LD_PRELOAD");
	char *list = NULL;
	if (asprintf(&list, "%s%s%s", r->library, others ? ":" : "", others ? others : "") < 0)
		return; /* it runs, unrecorded */
	setenv("LD_PRELOAD", list, 1);
	free(list);
	struct process_status own;
	struct stat name_space = {0};
	process_read_status(getpid(), &own);
	stat("/proc/self/ns/pid", &name_space);
	snprintf(value, sizeof(value), "%d:%" PRIu64 ":%" PRIu64 ":%u:%s:%u:%s", getpid(),
		 own.start_time, (uint64_t)name_space.st_ino, count_filters(), rate,
		 r->options->children ? EBT_RECORDER_CHILDREN : 0, r->dir.path);
	setenv(EBT_RECORDER_VARIABLE, value, 1);
}

/* What the program has recorded so far. */
static void read_progress(const struct mem_record *r, uint64_t *events, uint64_t *bytes)
{
	struct ebt_recorder_state state;
	struct stat st;
	char name[32];
	*events = *bytes = 0;
	if (r->by_memtrace && !fstatat(r->dir.fd, MEMTRACE_FILE, &st, AT_SYMLINK_NOFOLLOW))
		*bytes = (uint64_t)st.st_size;
	for (unsigned n = 0; !r->by_memtrace && n < EBT_RECORDER_PROGRAMS; n++) {
		snprintf(name, sizeof(name), "%u.state", n);
		int fd = file_open(r->dir.fd, name, O_NOFOLLOW);
		if (fd < 0)
			break;
		if (file_read(fd, &state, sizeof(state)) == sizeof(state)) {
			*events += state.events;
			*bytes += state.bytes;
		}
		close(fd);
	}
}

static int on_progress(void *ctx)
{
	const struct mem_record *r = ctx;
	uint64_t events, bytes;
	read_progress(r, &events, &bytes);
	r->options->progress(r->options->ctx, events, bytes);
	return 0;
}

static int on_signal(void *ctx)
{
	struct mem_record *r = ctx;
	signals_read(&r->signals, r->program.pid);
	return 0;
}

/* The end of the program is a SIGCHLD. */
static int64_t wait_for_program(void *ctx)
{
	struct mem_record *r = ctx;
	r->ended = program_ended(&r->program);
	if (r->ended || r->signals.ends > 1)
		loop_stop(r->loop);
	return (int64_t)PROGRESS_NS;
}

static int wait_for_end(struct mem_record *r)
{
	struct loop_fd watch = {.fd = r->signals.fd, .fn = on_signal, .ctx = r};
	struct loop_timer timer = {.fn = on_progress, .ctx = r, .period_ns = PROGRESS_NS};
	int err = loop_add(r->loop, &watch, LOOP_LEVEL);
	if (r->options->progress)
		loop_timer_set(r->loop, &timer, now_ns() + PROGRESS_NS);
	if (!err)
		err = loop_run(r->loop, wait_for_program, r);
	loop_remove(r->loop, &watch);
	loop_timer_clear(r->loop, &timer);
	return err;
}

static enum engine_end start_program(struct mem_record *r)
{
	struct program_options po = {
		.nice = r->options->nice,
		.stdout_is_stderr = r->options->stdout_is_stderr,
		.open_files = r->options->open_files,
		.extend = extend_environment,
		.ctx = r,
	};
	char **argv = r->options->program;
	int err = program_spawn(&r->program, argv, &po);
	if (err) {
		messages_error(r->messages, "cannot start '%s': %s", argv[0], strerror(-err));
		return ENGINE_FAILED;
	}
	err = program_go(&r->program);
	if (!err)
		return ENGINE_OK;
	messages_error(r->messages, "cannot run '%s': %s", argv[0], strerror(-err));
	r->status = err == -ENOENT ? 127 : 126;
	return ENGINE_PROGRAM;
}

static int prepare(struct mem_record *r)
{
	int err = rundir_make(&r->dir, WANT_BYTES, LEAST_BYTES);
	if (!err)
		err = loop_new(&r->loop);
	if (!err)
		err = signals_catch(&r->signals, true);
	if (!err)
		err = program_prepare(&r->program, r->messages, false, false);
	if (err)
		messages_error(r->messages, "cannot record: %s", strerror(-err));
	return err;
}

enum engine_end mem_record_run(struct mem_record *r, const struct mem_record_options *o,
			       const struct messages *messages)
{
	*r = (struct mem_record){
		.options = o,
		.messages = messages,
		.signals.fd = -1,
		.dir = {.fd = -1, .base_fd = -1},
		.program = {.pid = -1, .pidfd = -1, .go_fd = -1, .failed_fd = -1, .own.fd = -1},
	};
	enum engine_end end = check_program(r);
	if (!end && prepare(r))
		end = ENGINE_FAILED;
	if (!end)
		end = start_program(r);
	if (end)
		return end;
	int err = wait_for_end(r);
	/* Signals that requested the program's end have had their effect; one more ends the writing
	 * of its trace. */
	if (r->signals.ends)
		r->signals.ends = 1;
	signals_release(&r->signals, r->ended ? 0 : r->program.pid);
	signals_finish(&r->signals, true);
	if (err) {
		messages_error(messages, "cannot wait for '%s': %s", o->program[0], strerror(-err));
		return ENGINE_FAILED;
	}
	if (r->ended)
		r->status = program_exit_status(&r->program);
	else
		messages_at(messages, LOG_NORMAL, "'%s' runs on; its trace ends here",
			    o->program[0]);
	if (!r->by_memtrace)
		mem_programs_read(r->dir.fd, r->ended && WIFEXITED(r->program.status),
				  &r->programs);
	return ENGINE_OK;
}

bool mem_record_has_trace(const struct mem_record *r, unsigned process)
{
	uint64_t events, bytes = 0;
	if (r->by_memtrace)
		read_progress(r, &events, &bytes);
	for (unsigned n = 0; n < r->programs.count; n++)
		if (r->programs.process[n] == process)
			bytes += r->programs.state[n].bytes;
	return bytes > 0;
}

/* memtrace's own trace. */
static int copy_trace(const struct mem_record *r, int to)
{
	char buffer[COPY_BYTES];
	int err = 0;
	int from = file_open(r->dir.fd, MEMTRACE_FILE, O_NOFOLLOW);
	if (from < 0)
		return from == -ENOENT ? -ENODATA : from;
	if (r->ended)
		unlinkat(r->dir.fd, MEMTRACE_FILE, 0);
	for (ssize_t n; !err && (n = file_read(from, buffer, sizeof(buffer)));)
		err = n < 0 ? (int)n : file_write(to, buffer, (size_t)n);
	close(from);
	return err;
}

/* The command line; NULL: no memory. */
static char *join(char **argv)
{
	size_t bytes = 1;
	for (char **a = argv; *a; a++)
		bytes += strlen(*a) + 1;
	char *ret = malloc(bytes), *p = ret;
	for (char **a = argv; ret && *a; a++)
		p = stpcpy(stpcpy(p, a == argv ? "" : " "), *a);
	return ret;
}

int mem_record_write(struct mem_record *r, unsigned process, bool last, int fd,
		     struct mem_resolve_result *ret)
{
	*ret = (struct mem_resolve_result){0};
	if (r->by_memtrace)
		return copy_trace(r, fd);
	char *context = join(r->options->program);
	if (!context)
		return -ENOMEM;
	/* A head has to fit a packet. */
	if (strlen(context) > EBT_MEMTRACE_PACKET_BYTES / 4)
		context[EBT_MEMTRACE_PACKET_BYTES / 4] = 0;
	struct mem_resolve resolve = {
		.messages = r->messages,
		.dir_fd = r->dir.fd,
		.programs = &r->programs,
		.process = process,
		.remove = last && r->ended,
		.fd = fd,
		.context = context,
	};
	int err = mem_resolve(&resolve, ret);
	free(context);
	return err;
}

void mem_record_done(struct mem_record *r)
{
	program_done(&r->program);
	if (r->dir.fd >= 0)
		rundir_remove(&r->dir);
	rundir_close(&r->dir);
	loop_free(r->loop);
	if (r->signals.fd >= 0)
		close(r->signals.fd);
}
