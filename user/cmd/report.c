/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/report.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/message.h"
#include "cmd/run.h"

void report_share_stdout(struct opts *o, const struct report_form *form)
{
	o->is_data = strcmp(form->name, "text") != 0;
	if (o->is_data)
		output_take_stdout(o);
}

void report_hint_pipe(const struct opts *o)
{
	struct stat out, err;
	if (!o->engine.program || o->output || fstat(STDOUT_FILENO, &out) ||
	    fstat(STDERR_FILENO, &err) || !S_ISFIFO(out.st_mode))
		return;
	bool same = out.st_dev == err.st_dev && out.st_ino == err.st_ino;
	if (!same && (!o->is_data || isatty(STDERR_FILENO)))
		log_at(LOG_NORMAL,
		       "the report is on standard error; the pipe got what '%s' prints, and with "
		       "-o - the report%s",
		       o->engine.program[0], o->is_data ? " alone" : ", too");
}

static int write_report(const struct opts *o, struct session *session, const void *ctx)
{
	struct output out;
	int status = output_open_made(&out, o, session, ctx);
	if (status)
		return status;
	status = run_into(o, session, &out.sink);
	/* The reason of a run that failed before its first event has been printed. */
	if (status && !session->totals.timed)
		sink_cancel(&out.sink);
	status = output_close(&out, session, status);
	if (!o->engine.file_count && !o->engine.snapshot)
		output_report_limit(&out);
	if (!status || session->totals.timed)
		report_hint_pipe(o);
	return run_status(o, session, status);
}

int report_write(const struct opts *o, output_make *make, const void *ctx)
{
	const struct output_maker maker = {
		.make = make,
		.ctx = ctx,
		.fd = o->engine.program ? STDERR_FILENO : STDOUT_FILENO,
	};
	return run_session(o, write_report, &maker);
}

static int read_events(const struct opts *o, struct session *session, const void *ctx)
{
	const struct output_maker *maker = ctx;
	struct sink *sink;
	if (maker->make(maker->ctx, session, -1, &sink))
		return EXIT_ERROR;
	int status = run_into(o, session, sink);
	if (!status && sink_end(sink))
		status = EXIT_ERROR;
	sink_free(sink);
	return run_status(o, session, status);
}

int report_read(const struct opts *o, output_make *make, const void *ctx)
{
	const struct output_maker maker = {.make = make, .ctx = ctx};
	return run_session(o, read_events, &maker);
}
