/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ebtrace mem: reports of sampled allocations, one row each in the table of reports.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/mem_record.h"
#include "cmd/message.h"
#include "cmd/output.h"
#include "cmd/run.h"
#include "sink/mem.h"

static const struct mem_report {
	const char *name;
	const char *full_name; /* in messages */
	const char *help;
	mem_put *text;
} reports[] = {
	{"hotspots", "ebtrace mem hotspots", "where memory is allocated, by site and by function",
	 mem_hotspots_text},
};
#define REPORTS (sizeof(reports) / sizeof(*reports))

#define DOC_BYTES 4096

/* A run of a report; the options are first, because run_session() passes them on. */
struct mem_run {
	struct opts opts;
	const struct mem_report *report;
};

static int make_sink(const void *ctx, struct session *s, int fd, struct sink **ret)
{
	const struct mem_run *r = ctx;
	struct mem_report_options mo = {.top = r->opts.top};
	return mem_new(s, fd, r->report->text, &mo, ret);
}

static int run(const struct opts *o, struct session *session)
{
	struct output_maker maker = {
		.make = make_sink,
		.ctx = (const struct mem_run *)o,
		.fd = o->engine.program ? STDERR_FILENO : STDOUT_FILENO,
	};
	struct output out;
	int status = output_open_made(&out, o, session, &maker);
	if (status)
		return status;
	status = run_into(o, session, &out.sink);
	/* The reason of a run that failed before its first event has been printed. */
	if (status && !session->totals.timed)
		sink_cancel(&out.sink);
	status = output_close(&out, session, status);
	if (!o->engine.file_count)
		output_report_limit(&out);
	return run_status(o, session, status);
}

/* Writes argp's text around the options: with the list of reports. */
static void write_doc(char *ret, size_t size)
{
	int n = snprintf(ret, size,
			 "Where sampled allocations were made. FILE is a memtrace trace or a "
			 "capture of one. REPORT is one of these, the first if there is none:\n\n");
	for (size_t i = 0; i < REPORTS; i++)
		n += snprintf(ret + n, size - (size_t)n, "  %-12s%s\n", reports[i].name,
			      reports[i].help);
	n += snprintf(ret + n, size - (size_t)n, "  %-12s%s\n", "record",
		      "record a program; see ebtrace mem record --help");
	snprintf(ret + n, size - (size_t)n,
		 "\vBytes are estimates from samples, each with the interval that holds the truth "
		 "in 95 of 100 cases.\n"
		 "\n"
		 "Examples:\n"
		 "  ebtrace mem hotspots prog.ctf      where a program allocates\n"
		 "  ebtrace mem hotspots --top 5 -     the same of a trace from a pipe\n"
		 "\n"
		 "Exit status: as trace.");
}

static const struct mem_report *report_named(const char *name)
{
	for (size_t i = 0; i < REPORTS; i++)
		if (!strcmp(name, reports[i].name))
			return &reports[i];
	return NULL;
}

int cmd_mem(int argc, char **argv)
{
	struct mem_run r = {.report = argc > 1 ? report_named(argv[1]) : NULL};
	if (argc > 1 && !strcmp(argv[1], "record")) {
		argv[1] = (char *)"ebtrace mem record";
		return mem_record(argc - 1, argv + 1);
	}
	char doc[DOC_BYTES];
	struct opts_command command = {
		OPTS_MEM, "[REPORT] -p PID...\n[REPORT] -- PROGRAM [ARGS...]\n[REPORT] FILE...",
		doc};
	if (r.report) {
		argv[1] = (char *)r.report->full_name;
		argc--;
		argv++;
	} else {
		r.report = reports;
	}
	write_doc(doc, sizeof(doc));
	opts_parse(&r.opts, &command, argc, argv);
	r.opts.engine.counts = true;
	int status = run_check_usage(&r.opts);
	if (!status)
		status = run_session(&r.opts, run);
	opts_done(&r.opts);
	return status;
}
