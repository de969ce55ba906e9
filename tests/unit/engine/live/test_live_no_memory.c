/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a live trace is made of, with every single allocation failing in turn, and with all from one
 * on: rings, code of a process, and processes that are followed. Nothing crashes, what is not read
 * is reported, and all that was taken is given back.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/live/ring_files.h"
#include "engine/options.h"
#include "runtime/inspect.h"
#include "source/ring/ring.h"
#include "source/stacks/code_frames.h"
#include "tests/tap.h"
#include "tests/unit/no_memory.h"
#include "tests/unit/processes_fixture.h"
#include "tests/unit/ring_fixture.h"
#include "tests/unit/ring_program.h"

#define MAX_ALLOCATIONS 5000

/* What a run has seen. */
struct seen {
	uint64_t events, what; /* their number, and a hash of what they are */
	bool reported;	       /* a loss, damage, or a line */
	bool twice;	       /* a frame that is another's */
};

static uint64_t mix(uint64_t hash, uint64_t with)
{
	return (hash ^ with) * 0x9e3779b97f4a7c15u;
}

/* ---- rings ---- */

static int ring_fd;

static void add_event(struct seen *seen, const struct ebt_event *ev)
{
	seen->reported |= ev->kind == EBT_LOST || ev->kind == EBT_DAMAGE;
	if (ev->kind == EBT_LOST || ev->kind == EBT_DAMAGE)
		return;
	seen->events++;
	/* Lanes may come in another order. */
	seen->what += mix(mix(ev->ts, ev->kind), (uint64_t)ev->id << 16 | ev->domain);
}

/* What is damaged is reported at the end; a file that is open yet is tried again. */
static void add_reports(struct seen *seen, const struct ring_source *rings)
{
	struct ring_damage damage;
	uint32_t at = 0;
	seen->reported |= ring_source_damage(rings, &at, &damage);
	seen->reported |= ring_source_open_files(rings) != 0;
}

/* All that the source has. 0 or -errno. */
static int drain(struct session *s, struct source *source, struct seen *seen)
{
	struct ebt_event ev[64];
	for (int round = 0; round < 4; round++) {
		counting = true;
		int err = source_poll(source);
		counting = false;
		for (uint32_t lane = 0; !err && lane < source->lanes; lane++)
			for (int n = 1; n > 0;) {
				counting = true;
				n = source_read(source, lane, ev, 64);
				counting = false;
				for (int i = 0; i < n; i++) {
					add_event(seen, &ev[i]);
					session_drop_event(s, &ev[i]);
				}
				err = n < 0 && n != -EAGAIN ? n : err;
			}
		if (err)
			return err;
	}
	return 0;
}

static int run_rings(struct session *s, struct seen *seen)
{
	struct ring_source *rings;
	struct ebt_cursor *c;
	char reason[EBT_REASON_BYTES];
	uint32_t process;
	if (enter_processes(s, 2) || processes_of(&s->processes, 2, &process))
		abort();
	counting = true;
	int err = ring_source_new(s, 64 << 20, &rings);
	int fd = err ? -1 : fcntl(ring_fd, F_DUPFD_CLOEXEC, 3);
	int open = err ? err : ebt_cursor_open_fd(fd, "ring", EBT_RELEASE_AUTO, &c, reason);
	if (!err && !open)
		open = ring_source_add(rings, c, "ring", process, 0);
	counting = false;
	if (err)
		return err;
	err = open == -ENOSPC ? 0 : open;
	if (!err)
		err = drain(s, ring_source_base(rings), seen);
	add_reports(seen, rings);
	source_free(ring_source_base(rings));
	return err;
}

/* ---- code ---- */

static int run_code(struct session *s, struct seen *seen)
{
	struct code_frames *c = NULL;
	struct code_map map = {0};
	const uint64_t address[] = {(uintptr_t)run_code + 1,  (uintptr_t)strtoul + 1,
				    (uintptr_t)qsort + 1,     (uintptr_t)run_rings + 1,
				    (uintptr_t)ebt_begin + 1, 4097};
	struct code_stack of = {
		.address = address, .count = sizeof(address) / sizeof(*address), .returns = true};
	uint32_t stack = 0;
	counting = true;
	int err = code_frames_new(s, &c);
	if (!err) {
		code_map_read(c, &map, getpid(), true);
		err = code_frames_stack(c, &map, getpid(), &of, &stack);
	}
	counting = false;
	if (err && err != -ENOMEM)
		return err;
	uint64_t before = 0;
	for (uint32_t at = stack; at && !err; at = stacks_parent(s->stacks, at)) {
		const struct frame *f = frames_get(s->frames, stacks_frame(s->stacks, at));
		const char *name =
			f->count ? strings_text(s->strings, f->position[0].function) : NULL;
		uint64_t hash = 0;
		for (; name && *name; name++)
			hash = mix(hash, (uint8_t)*name);
		/* No two of them have one name, unless it is none. */
		seen->twice |= f->address && hash && hash == before;
		before = hash;
		seen->what = mix(seen->what, hash);
		seen->events++;
	}
	/* A frame without a name says so itself. */
	seen->reported = !seen->twice;
	code_map_done(&map);
	code_frames_free(c);
	return err;
}

/* ---- processes ---- */

static struct ring_program program;

static int follow(const struct engine *e, struct traced *t, struct ring_files *files,
		  struct ring_source *rings, struct seen *seen)
{
	const struct process_event born = {.kind = PROCESS_BORN, .pid = program.pid};
	const struct process_event exec = {
		.kind = PROCESS_EXECED, .pid = program.pid, .ts = now_ns()};
	counting = true;
	int err = traced_report(t, &born);
	err = err ? err : ring_files_scan(files, UINT64_MAX);
	err = err ? err : traced_report(t, &exec);
	err = err ? err : ring_files_end(files);
	counting = false;
	const struct traced_process *p = traced_find(t, program.pid);
	if (!err && p)
		ring_source_finish(rings, p->process);
	return err ? err : drain(e->session, ring_source_base(rings), seen);
}

static int run_processes(struct session *s, struct seen *seen)
{
	struct engine_options options = {.follow = true};
	struct engine engine = {.options = &options, .session = s};
	struct loop *loop;
	struct traced *t = NULL;
	struct ring_source *rings = NULL;
	struct ring_files *files = NULL;
	counting = true;
	struct inspect *inspect = inspect_new();
	int err = inspect ? loop_new(&loop) : -ENOMEM;
	bool has_loop = !err;
	err = err ? err : ring_source_new(s, 64 << 20, &rings);
	err = err ? err : traced_new(&engine, loop, &t);
	err = err ? err : ring_files_new(&engine, t, rings, inspect, false, &files);
	counting = false;
	if (!err)
		err = follow(&engine, t, files, rings, seen);
	if (rings)
		add_reports(seen, rings);
	source_free(rings ? ring_source_base(rings) : NULL);
	ring_files_free(files);
	traced_free(t);
	inspect_free(inspect);
	if (has_loop)
		loop_free(loop);
	return err;
}

/* ---- */

static const struct {
	const char *name;
	int (*run)(struct session *s, struct seen *seen);
} scenarios[] = {{"rings", run_rings}, {"code", run_code}, {"processes", run_processes}};

static void note_line(void *ctx, enum log_level level, const char *fmt, va_list ap)
{
	(void)fmt;
	(void)ap;
	((struct seen *)ctx)->reported |= level <= LOG_NORMAL;
}

/* One run; *ret_kept: references that were not given back. */
static int run(unsigned scenario, struct seen *seen, unsigned *ret_kept)
{
	struct session *s;
	if (session_new(&s))
		abort();
	*seen = (struct seen){0};
	s->messages = (struct messages){note_line, seen};
	int err = scenarios[scenario].run(s, seen);
	stacks_free_unheld(s->stacks);
	*ret_kept = frames_count(s->frames) + stacks_count(s->stacks);
	session_free(s);
	return err;
}

/* True if every failure is reported, or makes no difference. */
static bool survives(unsigned scenario, bool persistent)
{
	struct seen whole, seen;
	unsigned kept, bad = 0;
	count = fail_at = 0;
	for_ever = persistent;
	if (run(scenario, &whole, &kept) || kept || !whole.events) {
		diag("%s: %llu events, %u references kept", scenarios[scenario].name,
		     (unsigned long long)whole.events, kept);
		return false;
	}
	unsigned long allocations = count;
	unsigned long step = persistent ? 3 : 1; /* those behind the first one are alike */
	for (unsigned long n = 1; n <= allocations && n < MAX_ALLOCATIONS; n += step) {
		int before = tap_descriptors();
		count = 0;
		fail_at = n;
		int err = run(scenario, &seen, &kept);
		bool same = seen.events == whole.events && seen.what == whole.what;
		int left = tap_descriptors() - before;
		if ((err ? err == -ENOMEM : same || seen.reported) && !kept && left <= 0)
			continue;
		if (bad++ < 5)
			diag("%s: allocation %lu of %lu: error %d, %llu events of %llu, "
			     "%u references kept, %d descriptors left",
			     scenarios[scenario].name, n, allocations, err,
			     (unsigned long long)seen.events, (unsigned long long)whole.events,
			     kept, left);
	}
	diag("%s: %lu allocations", scenarios[scenario].name, allocations);
	return !bad && allocations > 2;
}

int main(void)
{
	char dir[] = "/tmp/ebt-no-memory-XXXXXX", path[] = "ocaml-5.3.0/c-user.events.xz";
	ring_fd = fixture_fd(path);
	if (!mkdtemp(dir) || setenv("EBTRACE_DIR", dir, 1) || ring_fd < 0)
		abort();
	program = ring_program_start(false);
	for (unsigned i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++)
		for (int persistent = 0; persistent < 2; persistent++)
			ok(survives(i, persistent), "%s: %s is reported, or makes no difference",
			   scenarios[i].name,
			   persistent ? "memory that runs out" : "an allocation that fails");
	close(program.end);
	waitpid(program.pid, NULL, 0);
	close(ring_fd);
	rmdir(dir);
	return tap_done();
}
