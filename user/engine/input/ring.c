/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/input/ring.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/damage.h"
#include "engine/input/info.h"
#include "engine/refusal.h"
#include "runtime/inspect.h"
#include "session/versions.h"
#include "source/ring/guess.h"
#include "source/ring/ring.h"
#include "stream/loss.h"

/* Their first word is the version, 1. */
static bool ring_is(const void *head, size_t bytes)
{
	static const uint8_t version[8] = {1};
	return bytes >= sizeof(version) && !memcmp(head, version, sizeof(version));
}

/* Reopens a cursor that had to assume a release if the rings' content shows another. */
static int reopen_as_guessed(const struct engine *e, int fd, struct input *in,
			     struct ebt_cursor **c)
{
	const char *name = in->name;
	struct ebt_cursor_info info;
	ebt_cursor_info(*c, &info);
	enum ebt_release guess =
		info.release_assumed ? ring_guess_release(fd, name) : EBT_RELEASE_AUTO;
	if (guess == EBT_RELEASE_AUTO || guess == info.release)
		return 0;
	ebt_cursor_close(*c);
	*c = NULL;
	in->guessed = true;
	int err = ebt_cursor_open_fd(dup(fd), name, guess, c, NULL);
	if (!err)
		messages_at(&e->session->messages, LOG_NORMAL,
			    "'%s' does not record which release wrote it; its phases nest as those "
			    "of %s and before; %s overrides it",
			    name, versions_text(versions_by_release(guess)).text,
			    versions_option(versions_by_release(guess)));
	return err;
}

static enum engine_end open_cursor(const struct engine *e, struct input *in,
				   struct ebt_cursor **ret)
{
	char reason[EBT_REASON_BYTES] = "";
	enum ebt_release release = versions_release(e->options->runtime);
	int again = release ? -1 : dup(in->fd);
	int err = ebt_cursor_open_fd(in->fd, in->name, release, ret, reason);
	bool is_other = !in->recognised && err == -EBADMSG;
	in->fd = -1;
	if (!err && again >= 0)
		err = reopen_as_guessed(e, again, in, ret);
	if (again >= 0)
		close(again);
	if (is_other)
		messages_error(&e->session->messages,
			       "'%s' is no trace: at byte 0, expected a ring file of version 1, a "
			       "capture, a memtrace trace or a page trace",
			       in->name);
	else if (err)
		messages_error(&e->session->messages, "%s", *reason ? reason : strerror(-err));
	return err ? ENGINE_FAILED : ENGINE_OK;
}

/* The pid of a ring file: in its extension block, its first event, or its name. */
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

static enum engine_end cannot_read(const struct engine *e, const char *name, int err)
{
	messages_error(&e->session->messages, "cannot read '%s': %s", name, strerror(-err));
	return ENGINE_FAILED;
}

/* Adds a cursor to the source, which owns it; the first call makes the source. */
static enum engine_end add(const struct engine *e, struct ebt_cursor *c, const char *name,
			   uint32_t process, struct source **source)
{
	damage_report_assumed(&e->session->messages, c, name);
	if (!*source) {
		struct ring_source *made;
		int err = ring_source_new(e->session, engine_buffer_bytes(e->options), &made);
		if (err) {
			ebt_cursor_close(c);
			return cannot_read(e, name, err);
		}
		*source = ring_source_base(made);
	}
	int err = ring_source_add(ring_source_of(*source), c, name, process, RING_AT_REST);
	/* Without room for its words their loss is emitted. */
	return err && err != -ENOSPC ? cannot_read(e, name, err) : ENGINE_OK;
}

static enum engine_end ring_open(const struct engine *e, struct input *in, struct source **source)
{
	struct ebt_cursor *c;
	enum engine_end end = open_cursor(e, in, &c);
	if (end)
		return end;
	uint32_t pid = pid_of(c, in->name), process;
	int err = processes_of(&e->session->processes, pid, &process);
	if (err) {
		ebt_cursor_close(c);
		return cannot_read(e, in->name, err);
	}
	if (processes_announced(&e->session->processes, process)) {
		char whose[32] = "a process that is not known";
		if (pid)
			snprintf(whose, sizeof(whose), "process %" PRIu32, pid);
		messages_at(&e->session->messages, LOG_NORMAL,
			    "'%s' and an earlier file are both of %s: their events and names "
			    "cannot be distinguished; convert them one by one",
			    in->name, whose);
	}
	return add(e, c, in->name, process, source);
}

static enum engine_end open_process(const struct engine *e, pid_t pid, struct process_status *p,
				    struct ebt_cursor **ret)
{
	const struct engine_options *o = e->options;
	enum engine_end end = refusal_check(e, pid, p);
	if (end)
		return end;
	char reason[EBT_REASON_BYTES] = "";
	struct runtime_version runtime =
		o->runtime.language ? o->runtime : inspect_runtime(NULL, pid, NULL);
	int err = ebt_cursor_open_pid(pid, o->ring_dir, versions_release(runtime), ret, reason);
	end = err ? refusal_check_ended(e, pid) : ENGINE_OK;
	if (end)
		return end;
	if (err)
		messages_error(&e->session->messages, "%s", *reason ? reason : strerror(-err));
	return refusal_of(err);
}

enum engine_end input_ring_process(const struct engine *e, pid_t pid, struct source **source)
{
	struct process_status p;
	struct ebt_cursor *c;
	enum engine_end end = open_process(e, pid, &p, &c);
	if (end)
		return end;
	char name[32];
	uint32_t process;
	if (processes_of(&e->session->processes, (uint32_t)pid, &process)) {
		ebt_cursor_close(c);
		return ENGINE_FAILED;
	}
	snprintf(name, sizeof(name), "of process %d", pid);
	return add(e, c, name, process, source);
}

static int count_event(const struct ebt_event *ev, const void *payload, size_t bytes, void *ctx)
{
	struct input_info *s = ctx;
	(void)payload;
	(void)bytes;
	if (ev->kind == EBT_DAMAGE) {
		if (s->damages < INPUT_INFO_DAMAGES)
			s->damage_offset[s->damages] = ev->arg[0];
		s->damages++;
		return 0;
	}
	if (ev->kind == EBT_LOST)
		loss_count(&s->losses, ev);
	uint32_t domain = ev->domain - s->ring.first_domain;
	if (ev->kind >= EBT_KINDS || ev->kind == EBT_LOST || domain >= s->ring.max_domains)
		return 0;
	s->kinds[ev->kind]++;
	s->by_domain[domain][ev->kind]++;
	if (!s->has_time || ev->ts < s->first_ns)
		s->first_ns = ev->ts;
	s->has_time = true;
	if (ev->ts > s->last_ns)
		s->last_ns = ev->ts;
	return 0;
}

/* Closes the cursor. */
static enum engine_end describe(const struct engine *e, struct ebt_cursor *c,
				struct input_info *ret)
{
	ebt_cursor_info(c, &ret->ring);
	ret->by_domain = calloc(ret->ring.max_domains, sizeof(*ret->by_domain));
	/* The current content only: a producer at full speed must not keep us here. */
	ssize_t n = ret->by_domain ? ebt_cursor_poll(c, count_event, ret, 0) : -ENOMEM;
	if (n < 0)
		messages_error(&e->session->messages, "'%s': %s", ret->name, strerror((int)-n));
	ebt_cursor_info(c, &ret->ring);
	ebt_cursor_close(c);
	return n < 0 ? ENGINE_FAILED : ENGINE_OK;
}

enum engine_end input_ring_process_info(const struct engine *e, pid_t pid, struct input_info *ret)
{
	struct process_status p;
	struct ebt_cursor *c;
	enum engine_end end = open_process(e, pid, &p, &c);
	if (end)
		return end;
	snprintf(ret->process_name, sizeof(ret->process_name), "process %d (%s)", pid, p.comm);
	ret->name = ret->process_name;
	return describe(e, c, ret);
}

static enum engine_end ring_info(const struct engine *e, struct loop *l, struct input *in,
				 struct input_info *ret)
{
	struct ebt_cursor *c;
	enum engine_end end = open_cursor(e, in, &c);
	(void)l;
	ret->name = in->path;
	if (!end)
		end = describe(e, c, ret);
	ret->ring.release_assumed |= in->guessed;
	return end;
}

static bool ring_damage(const struct messages *r, struct source *source)
{
	damage_report_rings(r, ring_source_of(source));
	return true;
}

const struct input_kind input_ring = {
	.origin = ORIGIN_RING,
	.at_offsets = true,
	.recognise = ring_is,
	.open = ring_open,
	.damage = ring_damage,
	.info = ring_info,
};
