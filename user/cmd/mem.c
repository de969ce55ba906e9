/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ebtrace mem: reports of sampled allocations, one row each in the table of reports.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/mem_filter.h"
#include "cmd/mem_record.h"
#include "cmd/message.h"
#include "cmd/print.h"
#include "cmd/report.h"
#include "cmd/report_form.h"
#include "cmd/run.h"
#include "sink/mem.h"
#include "sink/mem_diff.h"
#include "sink/mem_flame.h"
#include "sink/mem_json.h"
#include "sink/mem_pprof.h"
#include "sink/mem_timeline.h"

struct mem_form {
	struct report_form as;
	unsigned needs; /* of enum mem_needs */
	mem_put *put;
};

#define PPROF_FORM                                               \
	{                                                        \
		{"pprof", ".pb.gz .pprof"}, MEM_FATES, mem_pprof \
	}

static const struct mem_form summary_forms[] = {
	{{"text", ""}, MEM_FATES | MEM_TIMELINE, mem_summary_text},
	{{"json", ".json"}, MEM_FATES | MEM_TIMELINE, mem_summary_json},
	PPROF_FORM,
	{{0}, 0, NULL},
};
static const struct mem_form hotspots_forms[] = {
	{{"text", ""}, 0, mem_hotspots_text},
	{{"json", ".json"}, 0, mem_hotspots_json},
	PPROF_FORM,
	{{0}, 0, NULL},
};
static const struct mem_form live_forms[] = {
	{{"text", ""}, MEM_FATES, mem_live_text},
	{{"json", ".json"}, MEM_FATES, mem_live_json},
	PPROF_FORM,
	{{0}, 0, NULL},
};
static const struct mem_form lifetimes_forms[] = {
	{{"text", ""}, MEM_FATES, mem_lifetimes_text},
	{{"json", ".json"}, MEM_FATES, mem_lifetimes_json},
	{{0}, 0, NULL},
};
static const struct mem_form flame_forms[] = {
	{{"folded", ""}, 0, mem_flame_folded},
	{{"svg", ".svg"}, 0, mem_flame_svg},
	{{0}, 0, NULL},
};
static const struct mem_form timeline_forms[] = {
	{{"text", ""}, MEM_TIMELINE, mem_timeline_text},
	{{"svg", ".svg"}, MEM_TIMELINE, mem_timeline_svg},
	{{0}, 0, NULL},
};
static const struct mem_form diff_forms[] = {
	{{"text", ""}, 0, mem_diff_text},
	{{"json", ".json"}, 0, mem_diff_json},
	{{0}, 0, NULL},
};

static const struct mem_report {
	const char *name;
	const char *full_name; /* in messages */
	const char *help;
	const struct mem_form *forms;
	mem_put *before; /* of the first of two FILEs; NULL: they are one recording */
} reports[] = {
	{"summary", "ebtrace mem summary", "where, what is alive, what churns", summary_forms,
	 NULL},
	{"hotspots", "ebtrace mem hotspots", "where memory is allocated, by site and by function",
	 hotspots_forms, NULL},
	{"live", "ebtrace mem live", "what is alive at the end, or --at a time, by site",
	 live_forms, NULL},
	{"lifetimes", "ebtrace mem lifetimes", "how long objects live, by site", lifetimes_forms,
	 NULL},
	{"flame", "ebtrace mem flame",
	 "where memory is allocated, by stack: folded stacks, or a picture (-o x.svg)", flame_forms,
	 NULL},
	{"timeline", "ebtrace mem timeline",
	 "live bytes over time: a chart, or a picture (-o x.svg)", timeline_forms, NULL},
	{"diff", "ebtrace mem diff", "what two FILEs allocated, compared by site", diff_forms,
	 mem_diff_before},
};
#define REPORTS (sizeof(reports) / sizeof(*reports))

#define DOC_BYTES 4096

/* A report, and what it is made with. */
struct mem_run {
	struct opts opts;
	const struct mem_report *report;
	const struct mem_form *form;
	struct mem_conditions conditions;
	struct mem_diff *diff; /* NULL: not of this report */
};

static struct mem_report_options options_of(const struct mem_run *r)
{
	return (struct mem_report_options){
		.model =
			{
				.needs = r->form->needs,
				.until = r->opts.at,
				.filter = r->opts.filter_count ? &r->conditions.filter : NULL,
				.rate = r->opts.rate,
				.wrappers = r->opts.wrappers,
			},
		.top = r->opts.top,
		.diff = r->diff,
	};
}

static int make_report(const void *ctx, struct session *s, int fd, struct sink **ret)
{
	const struct mem_run *r = ctx;
	struct mem_report_options mo = options_of(r);
	return mem_new(s, fd, r->form->put, &mo, ret);
}

/* Of the first of two recordings. */
static int make_before(const void *ctx, struct session *s, int fd, struct sink **ret)
{
	const struct mem_run *r = ctx;
	struct mem_report_options mo = options_of(r);
	return mem_new(s, fd, r->report->before, &mo, ret);
}

/* A run for each of the two recordings, the second of which writes the report. */
static int compare(const struct mem_run *r)
{
	struct mem_diff diff;
	struct mem_run one = *r;
	struct engine_options *e = &one.opts.engine;
	if (mem_diff_init(&diff, r->opts.per))
		return EXIT_ERROR;
	one.diff = &diff;
	e->file_count = 1;
	int first = report_read(&one.opts, make_before, &one), status = first;
	if (!first || first == EXIT_LOSS) {
		e->files++;
		status = report_write(&one.opts, make_report, &one);
	}
	mem_diff_done(&diff);
	return status ? status : first;
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
		      "record a program or a process; see ebtrace mem record --help");
	snprintf(ret + n, size - (size_t)n,
		 "\vBytes are estimates from samples, each with the interval that holds the truth "
		 "in 95 of 100 cases.\n"
		 "\n"
		 "Examples:\n"
		 "  ebtrace mem prog.ctf                       one screen of all\n"
		 "  ebtrace mem hotspots --top 5 -             where memory is allocated, of a "
		 "pipe\n"
		 "  ebtrace mem flame -o x.svg prog.ctf        an interactive picture of it\n"
		 "  ebtrace mem live --at 10s prog.ctf         what was alive after ten seconds\n"
		 "  ebtrace mem live --filter 'lifetime>1s,file=*.ml' prog.ctf\n"
		 "  ebtrace mem lifetimes --filter 'function=Map.*,size>=4K' prog.ctf\n"
		 "  ebtrace mem -o prog.pb.gz prog.ctf         a profile for pprof\n"
		 "  ebtrace mem diff --per time old.ctf new.ctf\n"
		 "                                             what a second allocates more, and "
		 "where\n"
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
	r->conditions.filter.wrappers = r->opts.wrappers;
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

/* Sets the form that the options name. 0, or EXIT_USAGE after a line on stderr. */
static int choose_form(struct mem_run *r)
{
	const struct mem_form *f = r->report->forms;
	size_t chosen;
	int status =
		report_form_choose(&r->opts, r->report->full_name, &f->as, sizeof(*f), &chosen);
	r->form = f + chosen;
	return status;
}

static int print_schema(void)
{
	struct json_line line;
	print_json_begin(&line);
	mem_schema(&line.json);
	print_json_end(&line);
	return print_end();
}

/* What the options of a report must be. 0, or EXIT_USAGE after a line on stderr. */
static int check_report(const struct mem_run *r)
{
	if (!r->report->before && r->opts.has_per)
		complain("--per applies to mem diff");
	else if (r->report->before && r->opts.engine.file_count != 2)
		complain("mem %s compares two FILEs", r->report->name);
	else
		return 0;
	return EXIT_USAGE;
}

static int obey(struct mem_run *r)
{
	r->opts.engine.counts = true;
	/* Their markers are all that is probed; they are in no ring. */
	r->opts.engine.allocs = ALLOCS_ONLY;
	r->opts.engine.mode = MODE_PROBES;
	if (r->opts.json_schema)
		return print_schema();
	int status = parse_filters(r);
	if (!status)
		status = run_check_usage(&r->opts);
	if (!status)
		status = choose_form(r);
	if (!status)
		status = check_report(r);
	if (status)
		return status;
	return r->report->before ? compare(r) : report_write(&r->opts, make_report, r);
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
	mem_conditions_init(&r.conditions);
	int status = obey(&r);
	mem_conditions_done(&r.conditions);
	opts_done(&r.opts);
	return status;
}
