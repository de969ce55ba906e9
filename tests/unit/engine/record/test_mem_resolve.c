/* SPDX-License-Identifier: BSD-2-Clause */
/* The trace that is made of a recorder's traces, which are written here by hand, also damaged. */
#include <ebtrace/memtrace.h>
#include <ebtrace/recorder.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"
#include "engine/record/resolve.h"
#include "session/alloc_trace.h"
#include "tests/tap.h"

#define EVENTS_MAX 64
#define DEPTH_MAX  8

static char dir_path[] = "/tmp/ebtrace-resolve.XXXXXX";
static int dir_fd;

/* A program's trace in memory. */
static struct {
	uint8_t bytes[200000];
	size_t used;
} raw;

static int write_raw(void *ctx, const void *packet, size_t bytes)
{
	(void)ctx;
	memcpy(raw.bytes + raw.used, packet, bytes);
	raw.used += bytes;
	return 0;
}

/* Code 1000 + N is at offset N. */
static size_t locate_raw(void *ctx, int64_t code, const struct ebt_memtrace_location **ret)
{
	static char text[100][16];
	static struct ebt_memtrace_location l;
	(void)ctx;
	char *function = text[code % 100];
	snprintf(function, sizeof(text[0]), "0x%llx:ab", (unsigned long long)code - 1000);
	l = (struct ebt_memtrace_location){.file = "/nowhere/module", .function = function};
	*ret = &l;
	return 1;
}

static struct ebt_memtrace_trace trace;
static struct ebt_memtrace_writer *writer;

static void begin_raw(const char *executable, uint64_t start_us)
{
	static char memory[1 << 20] __attribute__((aligned(16)));
	memset(memory, 0, sizeof(memory));
	raw.used = 0;
	trace = (struct ebt_memtrace_trace){.write = write_raw, .locations = locate_raw};
	struct ebt_memtrace_info info = {
		.sample_rate = 0.5,
		.word_bits = 64,
		.pid = 42,
		.start_us = start_us,
		.executable = executable,
		.host = "host",
		.runtime_params = "",
		.context = "",
	};
	ebt_memtrace_write_info(&trace, &info);
	writer = ebt_memtrace_writer_init(memory, &trace, 0, start_us);
}

/* The object's number. */
static uint64_t alloc(uint64_t us, int64_t outer, int64_t inner)
{
	int64_t frames[] = {outer, inner};
	struct ebt_memtrace_event e = {
		.what = EBT_MEMTRACE_ALLOC,
		.time_us = us,
		.obj = EBT_MEMTRACE_NEW_OBJ,
		.words = 10,
		.samples = 3,
		.source = EBT_ALLOC_MAJOR,
		.frames = 2,
		.frame = frames,
	};
	ebt_memtrace_write(writer, &e);
	return e.obj;
}

static void collect(uint64_t us, uint64_t obj)
{
	struct ebt_memtrace_event e = {.what = EBT_MEMTRACE_COLLECT, .time_us = us, .obj = obj};
	ebt_memtrace_write(writer, &e);
}

static void store(const char *name, const void *data, size_t bytes)
{
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	file_write(fd, data, bytes);
	close(fd);
}

/* Stores it with zeros behind it, as the recorder leaves it when it is killed. */
static void store_raw(unsigned n, const struct ebt_recorder_state *state)
{
	static const uint8_t zeros[5000];
	char name[16];
	memcpy(raw.bytes + raw.used, zeros, sizeof(zeros));
	snprintf(name, sizeof(name), "%u.ctf", n);
	store(name, raw.bytes, raw.used + sizeof(zeros));
	snprintf(name, sizeof(name), "%u.state", n);
	store(name, state, sizeof(*state));
}

static void end_raw(unsigned n, uint64_t us)
{
	ebt_memtrace_write_flush(writer, us);
	struct ebt_recorder_state state = {.bytes = raw.used, .dropped = n, .err = (int32_t)n};
	store_raw(n, &state);
}

static bool ended;
static char said[300]; /* the last line of the report */

static void keep_line(void *ctx, enum log_level level, const char *fmt, va_list ap)
{
	(void)ctx, (void)level;
	vsnprintf(said, sizeof(said), fmt, ap);
}

/* What was made: its events, each as a line. */
static struct {
	char text[EVENTS_MAX * 100];
	char executable[32], context[32], parameters[ALLOC_TRACE_LACK_BYTES];
	struct mem_resolve_result result;
} made;

static void read_made(int fd)
{
	struct ebt_memtrace_reader *r;
	struct ebt_memtrace_event e;
	int64_t stack[DEPTH_MAX] = {0};
	size_t room, at = 0;
	ebt_memtrace_reader_new(0, &r);
	void *to = ebt_memtrace_room(r, &room);
	ebt_memtrace_put(r, (size_t)file_read_at(fd, to, room, 0));
	ebt_memtrace_finish(r);
	made.text[0] = 0;
	while (ebt_memtrace_read(r, &e, 1) == 1 && at < sizeof(made.text) - 100) {
		at += (size_t)sprintf(made.text + at, "%llu %c%llu", (unsigned long long)e.time_us,
				      "..apc"[e.what], (unsigned long long)e.obj);
		uint64_t depth = e.what == EBT_MEMTRACE_ALLOC ? e.common + e.frames : 0;
		if (depth > DEPTH_MAX) /* of damaged ones */
			depth = 0;
		for (uint64_t i = e.common; i < depth; i++)
			stack[i] = e.frame[i - e.common];
		for (uint64_t i = 0; i < depth; i++) {
			const struct ebt_memtrace_location *l;
			size_t n = ebt_memtrace_locations(r, stack[i], &l);
			at += (size_t)sprintf(made.text + at, " %s@%s", n ? l->function : "?",
					      n ? l->file : "?");
		}
		at += (size_t)sprintf(made.text + at, "\n");
	}
	const struct ebt_memtrace_info *info = ebt_memtrace_info(r);
	snprintf(made.executable, sizeof(made.executable), "%s", info ? info->executable : "");
	snprintf(made.context, sizeof(made.context), "%s", info ? info->context : "");
	snprintf(made.parameters, sizeof(made.parameters), "%s", info ? info->runtime_params : "");
	ebt_memtrace_reader_free(r);
}

static int resolve(void)
{
	static const struct messages to = {.line = keep_line};
	static struct mem_programs programs;
	int fd = openat(dir_fd, "made", O_RDWR | O_CREAT | O_TRUNC, 0600);
	mem_programs_read(dir_fd, false, &programs);
	struct mem_resolve run = {
		.messages = &to,
		.dir_fd = dir_fd,
		.programs = &programs,
		.remove = ended,
		.fd = fd,
		.context = "a command line",
	};
	int err = mem_resolve(&run, &made.result);
	read_made(fd);
	close(fd);
	return err;
}

static void test_programs(void)
{
	is(resolve(), -ENODATA, "no trace is an error of its own");
	begin_raw("/bin/first", 1000);
	alloc(1001, 1001, 1002);
	collect(1002, alloc(1002, 1001, 1003));
	alloc(1003, 1001, 1003);
	end_raw(0, 1003);
	begin_raw("/bin/second", 2000);
	collect(2002, alloc(2001, 1001, 1002));
	end_raw(1, 2002);
	is(resolve(), 0, "traces of two programs are resolved");
	is_str(made.executable, "/bin/second", "into one that has the name of the last program");
	is_str(made.context, "a command line", "and the command line");
	is_str(made.text,
	       "1001 a0 module+0x1@module module+0x2@module\n"
	       "1002 a1 module+0x1@module module+0x3@module\n"
	       "1002 c1\n"
	       "1003 a2 module+0x1@module module+0x3@module\n"
	       "1003 c0\n"
	       "1003 c2\n"
	       "2001 a3 module+0x1@module module+0x2@module\n"
	       "2002 c3\n",
	       "the first one's objects are released when the second one begins");
	ok(strstr(said, "'/nowhere/module' cannot be read"), "a module that is gone is named");
	is(made.result.programs, 2, "both are counted");
	is(made.result.allocs, 4, "with their allocations");
	ok(made.result.dropped == 1 && made.result.dropped_err == 1,
	   "and the events that the recorder could not write");
}

/* Two programs, of 4 events each, whose recorder counted this many, and dropped some itself. */
static void check_missing(const uint64_t events[2], const uint64_t dropped[2], uint64_t want)
{
	for (unsigned n = 0; n < 2; n++) {
		begin_raw("/bin/killed", 1000 * (n + 1));
		for (unsigned i = 0; i < 2; i++)
			collect(1001 + i, alloc(1001 + i, 1001, 1002));
		ebt_memtrace_write_flush(writer, 1000 * (n + 1) + 3);
		struct ebt_recorder_state state = {
			.bytes = raw.used, .events = events[n], .dropped = dropped[n]};
		store_raw(n, &state);
	}
	ok(!resolve() && made.result.dropped == want,
	   "of %d and %d events 4 each are there, %d and %d were dropped: %d are lost",
	   (int)events[0], (int)events[1], (int)dropped[0], (int)dropped[1], (int)want);
	struct alloc_trace_lack lack = {0};
	ok(alloc_trace_lacks(made.parameters, &lack) == (want > 0) && lack.events == want,
	   "the head of the trace has that number");
}

/* What a program was killed with in its buffer was counted, and may have been dropped, too. */
static void test_missing(void)
{
	check_missing((const uint64_t[]){4, 4}, (const uint64_t[]){0, 0}, 0);
	check_missing((const uint64_t[]){10, 4}, (const uint64_t[]){6, 0}, 6);
	check_missing((const uint64_t[]){10, 9}, (const uint64_t[]){2, 0}, 11);
	check_missing((const uint64_t[]){0, 4}, (const uint64_t[]){3, 4}, 7);
}

static void test_own_malloc(void)
{
	struct ebt_recorder_state state = {.own_malloc = 1};
	raw.used = 0;
	unlinkat(dir_fd, "1.ctf", 0);
	store_raw(0, &state);
	is(resolve(), -ENODATA, "a program with its own malloc has no trace");
	ok(made.result.own_malloc, "which is said");
}

/* The recorded process may write anything. */
static void test_damage(void)
{
	struct ebt_recorder_state state = {0};
	int errors = 0;
	begin_raw("/bin/first", 1000);
	for (unsigned i = 0; i < 5; i++)
		collect(1000 + i, alloc(1000 + i, 1001, 1002 + i));
	ebt_memtrace_write_flush(writer, 1005);
	for (size_t i = 0; i < raw.used; i++) {
		raw.bytes[i] ^= 0x55;
		state.bytes = raw.used;
		store_raw(0, &state);
		int err = resolve();
		errors += err && err != -ENODATA && err != -EPROTO && err != -EBADMSG;
		raw.bytes[i] ^= 0x55;
	}
	is(errors, 0, "each byte of a trace that is changed is damage, or an error of the trace");
	state.bytes = UINT64_MAX;
	store_raw(0, &state);
	is(resolve(), 0, "a wrong number of bytes: what is in the file is read");
	is(made.result.allocs, 5, "to its end");
	store("0.state", "", 0);
	is(resolve(), -ENODATA, "without a state nothing is known to be complete");
}

static bool is_there(const char *name)
{
	return !faccessat(dir_fd, name, F_OK, 0);
}

static void test_removed(void)
{
	begin_raw("/bin/first", 1000);
	alloc(1001, 1001, 1002);
	end_raw(0, 1001);
	resolve();
	ok(is_there("0.ctf") && is_there("0.state"), "traces of a program that runs on stay");
	ended = true;
	is(resolve(), 0, "those of one that ended are resolved");
	ok(!is_there("0.ctf") && !is_there("0.state"), "and not left behind");
	ended = false;
}

static void test_many_programs(void)
{
	begin_raw("/bin/loop", 1000);
	alloc(1001, 1001, 1002);
	for (unsigned n = 0; n < EBT_RECORDER_PROGRAMS; n++)
		end_raw(n, 1001);
	said[0] = 0;
	is(resolve(), 0, "as many programs as are recorded are resolved");
	is(made.result.programs, EBT_RECORDER_PROGRAMS, "all of them");
	ok(strstr(said, "any after them are not recorded"), "and what there may be more is said");
}

static void remove_files(void)
{
	char name[16];
	for (unsigned n = 0; n < EBT_RECORDER_PROGRAMS; n++) {
		snprintf(name, sizeof(name), "%u.ctf", n);
		unlinkat(dir_fd, name, 0);
		snprintf(name, sizeof(name), "%u.state", n);
		unlinkat(dir_fd, name, 0);
	}
	unlinkat(dir_fd, "made", 0);
}

int main(void)
{
	if (!mkdtemp(dir_path))
		return 1;
	dir_fd = open(dir_path, O_RDONLY | O_DIRECTORY);
	test_programs();
	test_missing();
	test_own_malloc();
	test_damage();
	test_removed();
	test_many_programs();
	remove_files();
	rmdir(dir_path);
	tap_keeps(1);
	return tap_done();
}
