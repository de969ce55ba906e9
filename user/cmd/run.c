/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/run.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/open.h"
#include "cmd/tracer.h"
#include "core/loss.h"

int run_check_usage(const struct opts *o)
{
	unsigned ways = (o->pid_count > 0) + (o->file_count > 0) + (o->program != NULL);
	if (!ways)
		complain("what to trace? -p PID, -- PROGRAM, or a FILE; 'ebtrace --help' shows "
			 "examples");
	else if (ways > 1)
		complain("-p PID, -- PROGRAM and FILE exclude one another; 'ebtrace --help' shows "
			 "examples");
	else if (o->snapshot && o->program)
		complain("--snapshot needs a process that runs already");
	else
		return 0;
	return EXIT_USAGE;
}

/* Takes the priority and the descriptors that a run may need; before the sink makes its thread. */
static void prepare(const struct opts *o)
{
	/* So that rings are emptied in time while the program uses every CPU. Refused without
	 * privilege. Files wait for us, and who was started with a niceness of its own keeps it. */
	bool is_live = !o->file_count && !o->snapshot;
	if (is_live && !o->nice && setpriority(PRIO_PROCESS, 0, -20))
		log_at(LOG_DEBUG, "no higher priority: %s", strerror(errno));
	/* Each process and each of its rings takes a descriptor. */
	struct rlimit files;
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

/* What a process that ran already had overwritten before we came is no loss of this run. */
static bool came_late(const struct opts *o)
{
	return o->pid_count && !o->snapshot;
}

/* Words are lost by rings alone: one that was written faster than it was read. */
static void tell_wrapped(const struct opts *o, const struct session *session)
{
	struct totals totals = session_run_totals(session);
	uint64_t words = totals.lost_words - (came_late(o) ? totals.history_words : 0);
	if (!words || log_level < LOG_NORMAL)
		return;
	bool ocaml = false, ours = false;
	const struct process *p = NULL;
	while ((p = processes_next(&session->processes, p))) {
		bool is_ocaml = !strncmp(p->producer, "ocaml", 5);
		ocaml |= is_ocaml;
		ours |= *p->producer && !is_ocaml;
	}
	complain("a ring was overwritten before it was read (%" PRIu64
		 " words); for larger rings, start the program with %s%s%s%s",
		 words, ocaml ? "OCAMLRUNPARAM=e=18" : "", ocaml && ours ? " and " : "",
		 ours ? "EBTRACE_LOG_WSIZE=18" : "",
		 ours && o->mode == MODE_RING ? ", or use --mode watermark as root" : "");
}

int run_session(const struct opts *o, int (*fn)(const struct opts *o, struct session *s))
{
	struct session *session;
	prepare(o);
	if (session_new(&session))
		return EXIT_ERROR;
	int status = fn(o, session);
	session_free(session);
	return status;
}

int run_into(const struct opts *o, struct session *session, struct sink *sink)
{
	if (o->file_count)
		return tracer_files(o, session, sink);
	session->timebase = timebase_now();
	if (o->snapshot)
		return tracer_files(o, session, sink);
	session->run_begin = session->timebase.at[TIMEBASE_MONOTONIC];
	int status = tracer_live(o, session, sink);
	if (!session->run_end.known)
		session->run_end = moment_at(now_ns());
	tell_wrapped(o, session);
	return status;
}

static bool is_lossy(const struct opts *o, const struct totals *t)
{
	return loss_is_any(t, came_late(o)) || t->damaged;
}

int run_status(const struct opts *o, const struct session *session, int status)
{
	struct totals totals = session_run_totals(session);
	return !status && o->fail_on_loss && is_lossy(o, &totals) ? EXIT_LOSS : status;
}
