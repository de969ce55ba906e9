/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ebtrace mem: reports of sampled allocations, one row each in the table of reports.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/mem_filter.h"
#include "cmd/mem_record.h"
#include "cmd/message.h"
#include "cmd/output.h"
#include "cmd/run.h"
#include "sink/mem.h"

static const struct mem_report {
	const char *name;
	const char *full_name; /* in messages */
	const char *help;
	unsigned needs; /* of enum mem_needs */
	mem_put *text;
} reports[] = {
	{"summary", "ebtrace mem summary", "where, what is alive, what churns",
	 MEM_FATES | MEM_TIMELINE, mem_summary_text},
	{"hotspots", "ebtrace mem hotspots", "where memory is allocated, by site and by function",
	 0, mem_hotspots_text},
	{"live", "ebtrace mem live", "what is alive at the end, or --at a time, by site", MEM_FATES,
	 mem_live_text},
	{"lifetimes", "ebtrace mem lifetimes", "how long objects live, by site", MEM_FATES,
	 mem_lifetimes_text},
};
#define REPORTS (sizeof(reports) / sizeof(*reports))

#define DOC_BYTES 4096

/* A run of a report; the options are first, because run_session() passes them on. */
struct mem_run {
	struct opts opts;
	const struct mem_report *report;
	struct mem_conditions conditions;
};

static int make_sink(const void *ctx, struct session *s, int fd, struct sink **ret)
{
	const struct mem_run *r = ctx;
	struct mem_report_options mo = {
		.model =
			{
				.needs = r->report->needs,
				.until = r->opts.at,
				.filter = r->opts.filter_count ? &r->conditions.filter : NULL,
			},
		.top = r->opts.top,
	};
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
		 "  ebtrace mem prog.ctf                       one screen of all\n"
		 "  ebtrace mem hotspots --top 5 -             where memory is allocated, of a "
		 "pipe\n"
		 "  ebtrace mem live --at 10s prog.ctf         what was alive after ten seconds\n"
		 "  ebtrace mem live --filter 'lifetime>1s,file=*.ml' prog.ctf\n"
		 "  ebtrace mem lifetimes --filter 'function=Map.*,size>=4K' prog.ctf\n"
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

/* 0, or EXIT_USAGE after a line on stderr. */
static int parse_filters(struct mem_run *r)
{
	char why[MEM_CONDITION_WHY];
	for (unsigned i = 0; i < r->opts.filter_count; i++) {
		int err = mem_conditions_add(&r->conditions, r->opts.filters[i], why);
		if (!err)
			continue;
		complain("--filter: %s; 'ebtrace mem --help' shows conditions",
			 err == -EINVAL ? why : strerror(-err));
		return EXIT_USAGE;
	}
	return 0;
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
	mem_conditions_init(&r.conditions);
	int status = parse_filters(&r);
	if (!status)
		status = run_check_usage(&r.opts);
	if (!status)
		status = run_session(&r.opts, run);
	mem_conditions_done(&r.conditions);
	opts_done(&r.opts);
	return status;
}
