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
		destination_take_stdout(o);
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

struct writing {
	struct destination_maker maker;
	report_run *run;
};

static int write_report(const struct opts *o, struct session *session, const void *ctx)
{
	const struct writing *w = ctx;
	struct destination d;
	int status = destination_open_made(&d, o, session, &w->maker);
	if (status)
		return status;
	status = w->run(w->maker.ctx, o, session, &d.output.sink);
	/* The reason of a run that failed before its first event has been printed. */
	if (status && !session->totals.timed)
		sink_cancel(&d.output.sink);
	status = destination_close(&d, status);
	if (!o->engine.file_count && !o->engine.snapshot)
		output_report_limit(&d.output);
	if (!status || session->totals.timed)
		report_hint_pipe(o);
	return run_status(o, session, status);
}

int report_write_by(const struct opts *o, destination_make *make, report_run *run, const void *ctx)
{
	const struct writing w = {
		.maker = {.make = make,
			  .ctx = ctx,
			  /* The program's own output is not mixed with the report. */
			  .fd = o->engine.program ? STDERR_FILENO : STDOUT_FILENO},
		.run = run,
	};
	return run_session(o, write_report, &w);
}

static int run_events(const void *ctx, const struct opts *o, struct session *s, struct sink *sink)
{
	(void)ctx;
	return run_into(o, s, sink);
}

int report_write(const struct opts *o, destination_make *make, const void *ctx)
{
	return report_write_by(o, make, run_events, ctx);
}

static int read_events(const struct opts *o, struct session *session, const void *ctx)
{
	const struct destination_maker *maker = ctx;
	struct sink *sink;
	if (maker->make(maker->ctx, session, -1, &sink))
		return EXIT_ERROR;
	int status = run_into(o, session, sink);
	if (!status && sink_end(sink))
		status = EXIT_ERROR;
	sink_free(sink);
	return run_status(o, session, status);
}

int report_read(const struct opts *o, destination_make *make, const void *ctx)
{
	const struct destination_maker maker = {.make = make, .ctx = ctx};
	return run_session(o, read_events, &maker);
}
