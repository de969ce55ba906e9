/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ebtrace trace: events, as they happen or out of files, as text or NDJSON.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/open.h"
#include "cmd/tracer.h"
#include "sink/ndjson.h"
#include "sink/text.h"

static const struct opts_command command = {
	"trace", "-p PID...\n-- PROGRAM [ARGS...]\nFILE...",
	"Shows what a language runtime does inside a process: GC phases, counters, user events."
	"\vCommands: trace (the default), list, info; 'ebtrace COMMAND --help' tells more.\n"
	"\n"
	"Examples:\n"
	"  sudo ebtrace -p 1234               a running process, with threads and CPUs\n"
	"  ebtrace -p 1234                    the same through its ring file alone\n"
	"  ebtrace -- ./prog args             a program from its first event\n"
	"  ebtrace -p 1234 -e 'major*' -d 10s\n"
	"  ebtrace -o run.ndjson -- ./prog\n"
	"  ebtrace 1234.events                the ring file of a program that has ended\n"
	"\n"
	"Exit status: 0; 1 error; 2 usage; 3 loss, with --fail-on-loss; 4 nothing to trace; 5 no "
	"such "
	"process; 6 a kernel thread; 7 no permission; with PROGRAM, the program's own."};

static enum opts_format format_of(const struct opts *o)
{
	if (o->format != FORMAT_AUTO)
		return o->format;
	const char *dot = o->output ? strrchr(o->output, '.') : NULL;
	if (dot && (!strcmp(dot, ".ndjson") || !strcmp(dot, ".jsonl") || !strcmp(dot, ".json")))
		return FORMAT_NDJSON;
	return FORMAT_TEXT;
}

static int make_sink(const struct opts *o, struct session *session, int fd, struct sink **ret)
{
	if (format_of(o) == FORMAT_NDJSON)
		return ndjson_new(session, fd, ret);
	return text_new(session, fd, isatty(fd), ret);
}

static int open_output(const struct opts *o)
{
	if (!o->output || !strcmp(o->output, "-"))
		return STDOUT_FILENO;
	int fd = open(o->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		complain("cannot write '%s': %s", o->output, strerror(errno));
	return fd;
}

static int check_usage(const struct opts *o)
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

static void say_totals(const struct opts *o, const struct session_totals *t)
{
	if (!o->output || log_level < LOG_NORMAL)
		return;
	fprintf(stderr, "ebtrace: %llu events, %llu lost", (unsigned long long)t->events,
		(unsigned long long)t->lost_events);
	if (t->lost_words)
		fprintf(stderr, " (%llu words)", (unsigned long long)t->lost_words);
	if (t->damaged)
		fprintf(stderr, ", %llu damaged places", (unsigned long long)t->damaged);
	fprintf(stderr, ": %s\n", o->output);
}

/* What a process that ran already had overwritten before we came is no failure of this run. */
static bool is_lossy(const struct opts *o, const struct session_totals *t)
{
	bool came_late = o->pid_count && !o->snapshot;
	uint64_t events = t->lost_events - (came_late ? t->history_events : 0);
	uint64_t words = t->lost_words - (came_late ? t->history_words : 0);
	return events || words || t->damaged;
}

static int run(const struct opts *o, struct session *session, int fd)
{
	/* So that rings are emptied in time while the program uses every CPU; before the sink makes
	 * its thread, which inherits it. Refused without privilege. */
	if (setpriority(PRIO_PROCESS, 0, -20))
		log_at(LOG_DEBUG, "no higher priority: %s", strerror(errno));
	/* Each process and each of its rings takes a descriptor. */
	struct rlimit files;
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	struct sink *sink;
	int err = make_sink(o, session, fd, &sink);
	if (err) {
		complain("%s", strerror(-err));
		return EXIT_ERROR;
	}
	bool live = !o->file_count && !o->snapshot;
	int status = live ? tracer_live(o, session, sink) : tracer_files(o, session, sink);
	err = sink_end(sink);
	sink_free(sink);
	if (err && err != -EPIPE) {
		complain("cannot write '%s': %s", o->output ? o->output : "standard output",
			 strerror(-err));
		return EXIT_ERROR;
	}
	/* Of a run that was refused before its first event the reason has been said: enough. */
	if (!status || session->totals.first_ns)
		say_totals(o, &session->totals);
	if (!status && o->fail_on_loss && is_lossy(o, &session->totals))
		status = EXIT_LOSS;
	return status;
}

int cmd_trace(int argc, char **argv)
{
	struct opts o;
	opts_parse(&o, &command, argc, argv);
	if (o.json_schema) {
		fputs(ndjson_schema(), stdout);
		return fflush(stdout) ? EXIT_ERROR : 0;
	}
	int status = check_usage(&o);
	if (status)
		return status;
	int fd = open_output(&o);
	if (fd < 0)
		return EXIT_ERROR;
	struct session *session;
	if (session_new(&session))
		return EXIT_ERROR;
	status = run(&o, session, fd);
	if (fd != STDOUT_FILENO && close(fd)) {
		complain("cannot write '%s': %s", o.output, strerror(errno));
		status = EXIT_ERROR;
	}
	session_free(session);
	return status;
}
