/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/report.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/message.h"
#include "cmd/option_rules.h"
#include "cmd/print.h"
#include "cmd/run.h"
#include "report/text.h"

/* Sets where the standard output of a PROGRAM goes, by the form of the report: data and what the
 * program prints are never mixed. */
static void share_stdout(struct opts *o, const struct report_form *form)
{
	o->is_data = strcmp(form->name, "text") != 0;
	if (o->is_data)
		destination_take_stdout(o);
}

#define REPORT_NAME_WIDTH 15

void report_put_list(struct buf *b, const struct report_list *l)
{
	const struct report_row *r;
	const struct report_form *f;
	for (size_t i = 0; (r = report_row_at(l, i)); i++) {
		report_print(b, "  %-*s%s\n  %*s-f", REPORT_NAME_WIDTH, r->name, r->help,
			     REPORT_NAME_WIDTH, "");
		for (size_t j = 0; (f = report_form_at(r, j)); j++)
			report_print(b, "%s %s", j ? "," : "", f->name);
		buf_puts(b, "\n");
	}
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
	report_move *move;
};

static int write_report(const struct opts *o, struct session *session, const void *ctx)
{
	const struct writing *w = ctx;
	struct destination d;
	int status = destination_open_made(&d, o, session, &w->maker);
	if (status)
		return status;
	status = w->move(w->maker.ctx, o, session, &d.output.sink);
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

int report_write_by(const struct opts *o, destination_make *make, report_move *move,
		    const void *ctx)
{
	const struct writing w = {
		.maker = {.make = make,
			  .ctx = ctx,
			  /* The program's own output is not mixed with the report. */
			  .fd = o->engine.program ? STDERR_FILENO : STDOUT_FILENO},
		.move = move,
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
	int err = maker->make(maker->ctx, session, -1, &sink);
	if (err) {
		complain("cannot start: %s", strerror(-err));
		return EXIT_ERROR;
	}
	int status = run_into(o, session, sink);
	if (!status)
		err = sink_end(sink);
	if (err) {
		complain("cannot make the report: %s", strerror(-err));
		status = EXIT_ERROR;
	}
	sink_free(sink);
	return run_status(o, session, status);
}

int report_read(const struct opts *o, destination_make *make, const void *ctx)
{
	const struct destination_maker maker = {.make = make, .ctx = ctx};
	return run_session(o, read_events, &maker);
}

static int obey(const struct report_command *c, struct report_run *r)
{
	size_t row;
	bool is_default = r->report == c->list->reports;
	if (r->opts.json_schema)
		return print_schema(c->schema);
	if (c->prepare)
		c->prepare(r);
	int status = is_default && report_row_at(c->list, 1)
			     ? report_check_words(&r->opts, c->name, c->list)
			     : 0;
	if (!status)
		status = option_rules_check(&r->opts);
	if (!status)
		status = report_form_choose(&r->opts, r->report, &row);
	if (status)
		return status;
	r->form = report_form_at(r->report, row);
	if (c->check)
		status = c->check(r);
	if (status)
		return status;
	share_stdout(&r->opts, r->form);
	return c->write(r);
}

int report_command(const struct report_command *c, struct report_run *r, int argc, char **argv)
{
	bool has_several = report_row_at(c->list, 1);
	const struct report_row *named =
		argc > 1 && has_several ? report_row_named(c->list, argv[1]) : NULL;
	struct buf doc;
	int err = buf_init(&doc, -1, 4096);
	if (!err)
		err = c->doc(&doc);
	if (err) {
		complain("cannot start: %s", strerror(-err));
		buf_done(&doc);
		return EXIT_ERROR;
	}
	const struct opts_command command = {c->command, c->args, buf_str(&doc)};
	if (named) {
		*++argv = (char *)named->full_name;
		argc--;
	}
	r->report = named ? named : c->list->reports;
	opts_parse(&r->opts, &command, argc, argv);
	int status = obey(c, r);
	opts_done(&r->opts);
	buf_done(&doc);
	return status;
}
