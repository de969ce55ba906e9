/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "elf/machine.h"
#include "runtime/inspect.h"
#include "runtime/runtimes.h"
#include "session/languages.h"
#include "session/versions.h"
#include "source/bpf/other_users.h"
#include "source/bpf/reason.h"

#define COMM_MAX 15

enum engine_end refusal_of(int err)
{
	switch (err) {
	case 0:
		return ENGINE_OK;
	case -ENOENT:
		return ENGINE_NOTHING;
	case -ESRCH:
		return ENGINE_GONE;
	case -EACCES:
	case -EPERM:
	case -EOWNERDEAD: /* of ringfile_find(): a file of another user */
		return ENGINE_DENIED;
	default:
		return ENGINE_FAILED;
	}
}

static enum engine_end denied(const struct engine *e, const struct process_status *p)
{
	const struct messages *r = &e->session->messages;
	char name[64];
	struct passwd *pw = getpwuid(p->uid);
	struct bpf_refusal why;
	if (pw)
		snprintf(name, sizeof(name), "%s", pw->pw_name);
	else
		snprintf(name, sizeof(name), "uid %u", p->uid);
	if (geteuid())
		messages_error(r, "process %d (%s) belongs to %s; try: sudo %s -p %d", p->pid,
			       p->comm, name, engine_command(e->options), p->pid);
	if (geteuid())
		return ENGINE_DENIED;
	other_users_check(&why);
	messages_error(r, "process %d (%s) belongs to %s, and root cannot read it here: %s%s",
		       p->pid, p->comm, name, why.err ? why.why : strerror(EACCES), REFUSAL_HINT);
	return ENGINE_DENIED;
}

enum engine_end refusal_check(const struct engine *e, pid_t pid, struct process_status *ret)
{
	const struct messages *r = &e->session->messages;
	process_read_status(pid, ret);
	switch (ret->state) {
	case PROCESS_OPEN:
		return ENGINE_OK;
	case PROCESS_KERNEL:
		messages_error(r, "process %d (%s) is a kernel thread: it has no language runtime",
			       pid, ret->comm);
		return ENGINE_KERNEL;
	case PROCESS_ZOMBIE:
		messages_error(r,
			       "process %d (%s) is a zombie: it has ended, and its parent has not "
			       "waited for it",
			       pid, ret->comm);
		return ENGINE_GONE;
	case PROCESS_DENIED:
		return denied(e, ret);
	case PROCESS_UNREAD:
		messages_error(r, "process %d cannot be inspected: %s", pid, strerror(-ret->error));
		return ENGINE_FAILED;
	case PROCESS_GONE:
		break;
	}
	messages_error(r, "no process %d; 'ebtrace list' shows what can be traced", pid);
	return ENGINE_GONE;
}

enum engine_end refusal_check_ended(const struct engine *e, pid_t pid)
{
	if (!process_has_ended(pid))
		return ENGINE_OK;
	messages_error(&e->session->messages, "process %d ended before it could be traced", pid);
	return ENGINE_GONE;
}

static int open_executable(pid_t pid)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return file_open(AT_FDCWD, path, 0);
}

/* The language of a runtime that has been stripped of all symbols in the program; NULL: none. */
static const struct language *stripped_language(pid_t pid)
{
	int fd = open_executable(pid);
	const struct language *hidden = fd >= 0 ? runtimes_hidden(fd) : NULL;
	if (fd >= 0)
		close(fd);
	return hidden;
}

enum { EXPLANATION_BYTES = MACHINE_NAME_BYTES + RUNTIME_TEXT_BYTES };

/* Why the executable of a process cannot be traced, to follow its pid in a message. Empty: no known
 * reason. */
static void explain_executable(pid_t pid, char ret[EXPLANATION_BYTES])
{
	char machine[MACHINE_NAME_BYTES], reason[RUNTIME_TEXT_BYTES];
	int fd = open_executable(pid);
	*ret = 0;
	if (fd < 0)
		return;
	if (machine_check(fd, machine) == -ENOTSUP)
		snprintf(ret, EXPLANATION_BYTES, "is a program of another machine: %s", machine);
	else if (runtimes_explain(fd, reason))
		snprintf(ret, EXPLANATION_BYTES, "%s", reason);
	close(fd);
}

/* Reports a process with a known runtime or markers, with its ring off and its probes unusable.
 * unprobed: as in refusal_report_nothing(). */
static void report_off(const struct engine *e, pid_t pid, const char *name, const char *start,
		       const char *unprobed)
{
	const struct messages *r = &e->session->messages;
	const char *command = engine_trace_command(e->options);
	if (!unprobed)
		messages_error(r,
			       "process %d %s, its ring is off, and its functions cannot be "
			       "probed; start it with %s=1, or with: %s -- PROGRAM",
			       pid, name, start, command);
	else if (*unprobed)
		messages_error(r,
			       "process %d %s, and its ring is off; %s; start it with %s=1, or "
			       "with: %s -- PROGRAM",
			       pid, name, unprobed, start, command);
	else if (!geteuid())
		messages_error(
			r,
			"process %d %s, and its ring is off, which --mode ring alone reads; try: "
			"%s -p %d, or start it with %s=1, or with: %s -- PROGRAM",
			pid, name, command, pid, start, command);
	else
		messages_error(r,
			       "process %d %s, and its ring is off; try: sudo %s -p %d, or "
			       "start it with %s=1, or with: %s -- PROGRAM",
			       pid, name, command, pid, start, command);
}

enum engine_end refusal_report_nothing(const struct engine *e, struct inspect *in, pid_t pid,
				       const char *unprobed)
{
	const struct messages *r = &e->session->messages;
	char is[RUNTIME_TEXT_BYTES], explanation[EXPLANATION_BYTES];
	char markers[REFUSAL_MARKERS_BYTES];
	struct inspect_process files;
	inspect_process(in, pid, &files);
	const struct language *stripped = stripped_language(pid);
	explain_executable(pid, explanation);
	/* Files of a process that ends meanwhile are not found. */
	enum engine_end end = refusal_check_ended(e, pid);
	if (end)
		return end;
	if (files.leased) {
		messages_error(
			r,
			"process %d: '%s' cannot be inspected: another program holds a lease "
			"on it",
			pid, files.leased_path);
	} else if (e->options->markers.count && !files.asked.sites && !unprobed) {
		bool any = inspect_marker_names(in, markers, sizeof(markers));
		messages_error(
			r,
			"process %d has none of the markers of -U%s%s; ebtrace list -p %d lists "
			"those that it has; --wait waits until it, or a child of it, has one",
			pid, any ? ", the names that were seen: " : "", markers, pid);
	} else if (files.runtime.language) {
		snprintf(is, sizeof(is), "is %s", versions_text(files.runtime).text);
		report_off(e, pid, is, versions_language(files.runtime)->ring->start, unprobed);
	} else if (files.markers && unprobed) {
		report_off(e, pid, "links libebtrace-probes", "EBTRACE_START", unprobed);
	} else if (stripped) {
		messages_error(
			r,
			"process %d is %s whose symbols have all been stripped: its functions "
			"cannot be found; start it with %s=1, or with: %s -- PROGRAM, or link "
			"it without -s",
			pid, stripped->program, stripped->ring->start,
			engine_trace_command(e->options));
	} else if (*explanation) {
		messages_error(r, "process %d %s", pid, explanation);
	} else {
		messages_error(
			r,
			"process %d has nothing to trace: no ring file, and no markers that could "
			"be used; %s; --wait waits until it, or a child of it, has something",
			pid, languages_advice);
	}
	return ENGINE_NOTHING;
}

void refusal_name(const char *program, const char *comm, char ret[REFUSAL_NAME_BYTES])
{
	const char *slash = strrchr(program, '/');
	/* The kernel cuts it. */
	if (!*comm || !strncmp(slash ? slash + 1 : program, comm, COMM_MAX))
		snprintf(ret, REFUSAL_NAME_BYTES, "'%s'", program);
	else
		snprintf(ret, REFUSAL_NAME_BYTES, "'%s' (started as '%s')", comm, program);
}

void refusal_report_untraced(const struct messages *r, const char *program, bool has_ring)
{
	char advice[128] = "; --mode ring switches the rings of its children on, too";
	if (has_ring)
		snprintf(advice, sizeof(advice), " (in a chroot: set %s to a directory in there)",
			 languages_common_dir);
	messages_at(r, LOG_NORMAL,
		    "nothing was traced: %s has neither a ring file nor markers; it must %s%s",
		    program, languages_requirement, advice);
}

void refusal_report_unwatched(const struct messages *r, const char *program)
{
	messages_at(r, LOG_NORMAL,
		    "nothing was traced: %s, or a program that it started, ended before its probes "
		    "were in place; --mode ring switches rings on from the start",
		    program);
}

void refusal_report_no_allocs(const struct messages *r, const char *program)
{
	messages_at(r, LOG_NORMAL,
		    "nothing was traced: neither %s nor a program that it started has markers "
		    "of sampled allocations (ebtrace:alloc or otel_memory:alloc); without any: "
		    "ebtrace mem record -o FILE -- PROGRAM",
		    program);
}
