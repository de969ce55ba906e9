/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/damage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/plural.h"
#include "session/versions.h"
#include "source/file/memtrace_stacks.h"

void damage_report_rings(const struct messages *r, const struct ring_source *rings)
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
		messages_error(r, "ring file '%s': damaged at byte %" PRIu64 ": %s%s", d.name,
			       d.offset, what, more);
	}
}

void damage_report_assumed(const struct messages *r, struct ebt_cursor *c, const char *name)
{
	struct ebt_cursor_info info;
	ebt_cursor_info(c, &info);
	if (info.release_assumed)
		messages_at(r, LOG_NORMAL,
			    "'%s' does not record which release wrote it; read as %s; %s "
			    "overrides it",
			    name, versions_text(versions_by_release(info.release)).text,
			    versions_option(versions_by_release(info.release)));
}

bool damage_report_capture(const struct messages *r, const struct capture_source *s)
{
	const char *name = capture_source_name(s);
	const struct capture_fault *f = capture_source_fault(s);
	const struct capture_stats *stats = capture_source_stats(s);
	int err = capture_source_error(s);
	char more[48] = "";
	if (err == -EBADMSG || err == -EPROTO) {
		messages_error(r, "'%s' at byte %" PRIu64 ": expected %s", name, f->offset,
			       f->expected);
	} else if (err) {
		messages_error(r, "cannot read '%s': %s", name, strerror(-err));
	} else if (f) {
		if (f->count > 1)
			snprintf(more, sizeof(more), "; %" PRIu64 " more", f->count - 1);
		messages_error(r, "capture '%s': damaged at byte %" PRIu64 ": expected %s%s", name,
			       f->offset, f->expected, more);
	} else if (stats->ended && !stats->whole) {
		messages_error(r,
			       "capture '%s' was interrupted: it ends at byte %" PRIu64
			       " without its totals",
			       name, stats->file_bytes);
	}
	return !err;
}

/* reason: of the damage or the error; "": none. */
static bool report_trace(const struct messages *r, const char *what, const char *name, int err,
			 const char *reason)
{
	if (err == -EBADMSG || err == -EPROTO)
		messages_error(r, "'%s' %s", name, reason);
	else if (err)
		messages_error(r, "cannot read '%s': %s", name, strerror(-err));
	else if (*reason)
		messages_error(r, "%s '%s': damaged %s", what, name, reason);
	return !err;
}

bool damage_report_memtrace(const struct messages *r, const struct memtrace_source *s)
{
	struct ebt_memtrace_counts n = memtrace_source_counts(s);
	struct alloc_trace_lack lack = memtrace_source_lack(s);
	const char *name = memtrace_source_name(s);
	if (lack.programs)
		messages_at(
			r, LOG_NORMAL,
			"memtrace trace '%s': programs that the process became by exec() and that "
			"are not recorded: %u",
			name, lack.programs);
	if (lack.cut)
		messages_at(r, LOG_NORMAL, "memtrace trace '%s' ends before the process did", name);
	if (lack.events)
		messages_at(r, LOG_NORMAL,
			    "memtrace trace '%s': events that could not be recorded: %llu", name,
			    lack.events);
	uint64_t cut = memtrace_source_cut(s);
	if (cut)
		messages_at(r, LOG_NORMAL,
			    "memtrace trace '%s': %" PRIu64 " backtrace%s %s %u innermost "
			    "frames alone: too many are deep",
			    name, cut, plural(cut), plural_of(cut, "has its", "have their"),
			    MEMTRACE_DEEP_FRAMES);
	const char *changed = memtrace_source_changed(s);
	if (changed)
		messages_at(r, LOG_NORMAL,
			    "memtrace trace '%s': '%s' cannot be read, or is not the file that the "
			    "program ran: its functions are offsets",
			    name, changed);
	if (n.raised)
		messages_at(r, LOG_NORMAL,
			    "memtrace trace '%s': the program's clock stepped back: the time%s of "
			    "%" PRIu64 " event%s raised to that of the last one before",
			    name, plural(n.raised), n.raised, plural_of(n.raised, " is", "s are"));
	return report_trace(r, "memtrace trace", memtrace_source_name(s), memtrace_source_error(s),
			    memtrace_source_reason(s));
}

bool damage_report_pagetrace(const struct messages *r, const struct pagetrace_source *s)
{
	return report_trace(r, "page trace", pagetrace_source_name(s), pagetrace_source_error(s),
			    pagetrace_source_reason(s));
}
