/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is read once: ring files, captures, and what the rings of a process hold now.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/open.h"
#include "cmd/tracer.h"
#include "runtime/inspect.h"
#include "source/ring.h"

/* The pid that a file stands for: it says so itself, or its name does. */
static uint32_t pid_of(struct ebt_cursor *c, const char *path)
{
	struct ebt_cursor_info info;
	ebt_cursor_info(c, &info);
	if (info.pid)
		return (uint32_t)info.pid;
	const char *base = strrchr(path, '/');
	base = base ? base + 1 : path;
	char *end;
	unsigned long pid = strtoul(base, &end, 10);
	return !strcmp(end, ".events") && pid <= INT32_MAX ? (uint32_t)pid : 0;
}

struct inputs {
	struct ring_source *rings;
	unsigned ring_count;
	struct capture_source *captures[OPTS_MAX];
	unsigned capture_count;
};

static int add_ring(struct inputs *ins, const struct opts *o, struct session *session,
		    struct input *in)
{
	struct ebt_cursor *c;
	int status = open_cursor(in, o->release, &c);
	if (status)
		return status;
	open_tell_assumed(c, in->name);
	ins->ring_count++;
	uint32_t pid = pid_of(c, in->name), process;
	if (processes_of(&session->processes, pid, &process)) {
		ebt_cursor_close(c);
		return EXIT_ERROR;
	}
	if (processes_announced(&session->processes, process) && log_level >= LOG_NORMAL) {
		char whose[32] = "a process that is not known";
		if (pid)
			snprintf(whose, sizeof(whose), "process %" PRIu32, pid);
		complain("'%s' is of %s, as a file before it is: what they hold, and the names "
			 "they give it, cannot be told apart; convert them one by one",
			 in->name, whose);
	}
	int err = ring_source_add(ins->rings, c, in->name, process, false);
	return err && err != -ENOSPC ? EXIT_ERROR : 0; /* no memory for it: told as a loss */
}

static int add_file(struct inputs *ins, const struct opts *o, struct session *session,
		    const char *path)
{
	struct input in;
	int status = open_input(path, o->command, &in);
	if (status)
		return status;
	if (!in.is_capture)
		return add_ring(ins, o, session, &in);
	struct capture_options co = {
		.name = in.name,
		.head = in.head,
		.head_bytes = in.head_bytes,
		.alone = o->file_count == 1,
	};
	struct capture_source **place = &ins->captures[ins->capture_count];
	int err = capture_source_new(session, in.fd, &co, place);
	if (err) {
		complain("'%s': %s", in.name, strerror(-err));
		return EXIT_ERROR;
	}
	ins->capture_count++;
	return 0;
}

static int add_process(struct inputs *ins, const struct opts *o, struct session *session, pid_t pid)
{
	struct process_status p;
	int status = open_process(pid, &p);
	if (status)
		return status;
	char reason[EBT_REASON_BYTES] = "";
	struct ebt_cursor *c;
	enum ebt_release release = o->release ? o->release : inspect_release(NULL, pid);
	int err = ebt_cursor_open_pid(pid, o->ring_dir, release, &c, reason);
	if (err) {
		complain("%s", *reason ? reason : strerror(-err));
		return open_status(err);
	}
	char name[64];
	snprintf(name, sizeof(name), "of process %d", pid);
	open_tell_assumed(c, name);
	ins->ring_count++;
	uint32_t process;
	err = processes_of(&session->processes, (uint32_t)pid, &process);
	if (err)
		ebt_cursor_close(c);
	else
		err = ring_source_add(ins->rings, c, name, process, false);
	return err && err != -ENOSPC ? EXIT_ERROR : 0;
}

static int add_sources(struct pump *pump, const struct inputs *ins)
{
	int err = ins->ring_count ? pump_add_source(pump, ring_source_base(ins->rings)) : 0;
	for (unsigned i = 0; !err && i < ins->capture_count; i++)
		err = pump_add_source(pump, capture_source_base(ins->captures[i]));
	return err;
}

static int pass_through(const struct opts *o, struct session *session, const struct inputs *ins,
			struct sink *sink)
{
	struct pump *pump;
	int err = tracer_pump(o, session, sink, &pump);
	if (err)
		return err;
	err = add_sources(pump, ins);
	while (!err) {
		int moved = pump_step(pump);
		if (!moved)
			break;
		err = moved < 0 && moved != -EAGAIN ? moved : 0;
		if (moved == -EAGAIN) {
			/* The output is slower than we are, or the other end of a pipe is. */
			err = sink_flush(sink);
			usleep(1000);
		}
	}
	tracer_tell_threadless(pump);
	pump_free(pump);
	return err;
}

void tracer_tell_threadless(struct pump *pump)
{
	uint64_t n = filter_threadless(pump_filter(pump));
	if (n && log_level >= LOG_NORMAL)
		complain("%" PRIu64
			 " events are left out because their thread is not known: a ring does not "
			 "tell it; as root, --mode stream does once it is attached, of OCaml "
			 "programs --mode probes",
			 n);
}

void tracer_tell_damage(const struct ring_source *rings)
{
	struct ring_damage d;
	for (uint32_t at = 0; ring_source_damage(rings, &at, &d);) {
		char more[48] = "", what[128];
		if (d.count > 1)
			snprintf(more, sizeof(more), "; %" PRIu64 " more", d.count - 1);
		if (d.expected)
			snprintf(what, sizeof(what), "expected %s", d.expected);
		else
			snprintf(what, sizeof(what), "%s is %" PRIu64 ", expected %" PRIu64,
				 d.fault.what, d.fault.found, d.fault.expected);
		complain("ring file '%s': damaged at byte %" PRIu64 ": %s%s", d.name, d.offset,
			 what, more);
	}
}

int tracer_tell_capture(const struct capture_source *s)
{
	const char *name = capture_source_name(s);
	const struct capture_fault *f = capture_source_fault(s);
	const struct capture_stats *stats = capture_source_stats(s);
	int err = capture_source_error(s);
	char more[48] = "";
	if (err == -EBADMSG || err == -EPROTO) {
		complain("'%s' at byte %" PRIu64 ": expected %s", name, f->offset, f->expected);
	} else if (err) {
		complain("cannot read '%s': %s", name, strerror(-err));
	} else if (f) {
		if (f->count > 1)
			snprintf(more, sizeof(more), "; %" PRIu64 " more", f->count - 1);
		complain("capture '%s': damaged at byte %" PRIu64 ": expected %s%s", name,
			 f->offset, f->expected, more);
	} else if (stats->ended && !stats->whole) {
		complain("capture '%s' was interrupted: it ends at byte %" PRIu64
			 " without its totals",
			 name, stats->file_bytes);
	}
	return err ? EXIT_ERROR : 0;
}

/* What the header of the output says; a capture that is alone says it itself. */
static unsigned origins_of(const struct inputs *ins)
{
	bool rings = ins->ring_count || !ins->capture_count;
	return (rings ? ORIGIN_RING : 0) | (ins->capture_count ? ORIGIN_CAPTURE : 0);
}

int tracer_files(const struct opts *o, struct session *session, struct sink *sink)
{
	struct inputs ins = {0};
	if (ring_source_new(session, opts_buffer(o), &ins.rings))
		return EXIT_ERROR;
	int status = 0;
	for (unsigned i = 0; !status && i < o->file_count; i++)
		status = add_file(&ins, o, session, o->files[i]);
	for (unsigned i = 0; !status && i < o->pid_count; i++)
		status = add_process(&ins, o, session, o->pids[i]);
	session->origins = origins_of(&ins);
	int err = status ? 0 : pass_through(o, session, &ins, sink);
	if (err && sink_flush(sink) != err) { /* the output's error is told at its end */
		complain("cannot go on: %s", strerror(-err));
		status = EXIT_ERROR;
	}
	tracer_tell_damage(ins.rings);
	source_free(ring_source_base(ins.rings));
	for (unsigned i = 0; i < ins.capture_count; i++) {
		int bad = tracer_tell_capture(ins.captures[i]);
		status = status ? status : bad;
		source_free(capture_source_base(ins.captures[i]));
	}
	return status;
}
