/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/report.h"

#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/run.h"

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
