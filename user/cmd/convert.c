/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rings that are read once: files, and what the rings of a process hold now.
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
#include "proc/runtime.h"
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

static int add_file(struct ring_source *rings, const struct opts *o, const char *path)
{
	struct ebt_cursor *c;
	int status = open_file(path, o->release, &c);
	if (status)
		return status;
	open_tell_assumed(c, path);
	return ring_source_add(rings, c, path, pid_of(c, path), false) ? EXIT_ERROR : 0;
}

static int add_process(struct ring_source *rings, const struct opts *o, pid_t pid)
{
	struct process p;
	int status = open_process(pid, &p);
	if (status)
		return status;
	char reason[EBT_REASON_BYTES] = "";
	struct ebt_cursor *c;
	enum ebt_release release = o->release ? o->release : runtime_process_release(pid);
	int err = ebt_cursor_open_pid(pid, o->ring_dir, release, &c, reason);
	if (err) {
		complain("%s", *reason ? reason : strerror(-err));
		return open_status(err);
	}
	char name[64];
	snprintf(name, sizeof(name), "of process %d", pid);
	open_tell_assumed(c, name);
	return ring_source_add(rings, c, name, (uint32_t)pid, false) ? EXIT_ERROR : 0;
}

static int pass_through(const struct opts *o, struct session *session, struct ring_source *rings,
			struct sink *sink)
{
	struct pump *pump;
	int err = tracer_pump(o, session, sink, &pump);
	if (err)
		return err;
	err = pump_add_source(pump, ring_source_base(rings));
	while (!err) {
		int moved = pump_step(pump);
		if (!moved)
			break;
		if (moved == -EAGAIN)
			usleep(1000); /* the output is slower than we are */
		err = moved < 0 && moved != -EAGAIN ? moved : 0;
	}
	pump_free(pump);
	return err;
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

int tracer_files(const struct opts *o, struct session *session, struct sink *sink)
{
	struct ring_source *rings;
	if (ring_source_new(session, o->buffer_bytes, &rings))
		return EXIT_ERROR;
	int status = 0;
	for (unsigned i = 0; !status && i < o->file_count; i++)
		status = add_file(rings, o, o->files[i]);
	for (unsigned i = 0; !status && i < o->pid_count; i++)
		status = add_process(rings, o, o->pids[i]);
	session->source = "ring";
	int err = status ? 0 : pass_through(o, session, rings, sink);
	if (err && sink_flush(sink) != err) { /* the output's error is told at its end */
		complain("cannot go on: %s", strerror(-err));
		status = EXIT_ERROR;
	}
	tracer_tell_damage(rings);
	source_free(ring_source_base(rings));
	return status;
}
