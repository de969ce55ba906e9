/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ebtrace profile: where threads run, by samples of their stacks, and where they wait.
 */
#include <errno.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/formats.h"
#include "cmd/message.h"
#include "cmd/option_help.h"
#include "cmd/report.h"
#include "cmd/reports.h"
#include "report/profile/diff.h"
#include "report/profile/profile.h"

static const char doc_head[] =
	"Where threads run, by samples of their stacks: OCaml and C, the mutator and the collector "
	"apart. " REPORT_OF_PROGRAM " FILE is a capture that profile -o FILE.ebt has written. "
	"REPORT is one of these, the first if there is none; -f is one of its formats, the first "
	"by default:\n\n";
static const char doc_tail[] =
	"\vA timer of each CPU takes a sample of the traced thread that runs there. SELF is the "
	"share of samples in a function, TOTAL that with the functions that it calls; behind each "
	"are the limits that hold the true share in 95 of 100 cases. ebtrace-profile(1) says what "
	"cuts a stack.\n"
	"\n"
	"Examples:\n"
	"  sudo ebtrace profile -d 10s -p 1234   ten seconds of a running process\n"
	"  sudo ebtrace profile -o x.svg -- ./prog args\n"
	"                                        a flame graph of a program, from start to end\n"
	"  sudo ebtrace profile -F 999 --by thread -d 2s -p 1234\n"
	"                                        more samples, a section for each thread\n"
	"  sudo ebtrace profile -U 'shop:*_begin~shop:*_end' -p 1234\n"
	"                                        a section for each pair of markers\n"
	"  sudo ebtrace profile -o x.ebt -d 10s -p 1234\n"
	"  ebtrace profile --by phase x.ebt      record first, report later\n"
	"  ebtrace profile -o x.pb.gz x.ebt      a profile for pprof\n"
	"  ebtrace profile diff -o d.svg old.ebt new.ebt\n"
	"                                        what changed, as a flame graph\n"
	"  sudo ebtrace profile --off-cpu -d 10s -p 1234\n"
	"                                        where its threads wait, and for what\n"
	"\n" HELP_EXIT_STATUS "; with PROGRAM, the program's own.";

#define MIN_NS 1000000 /* of blocks */

struct profile_form {
	struct report_form as;
	profile_put *put;      /* NULL: the events themselves, as a capture */
	profile_put *put_time; /* a profile of time */
	bool is_stacks;	       /* nothing but stacks: what was waited for is a frame */
};

static const struct profile_form forms[] = {
	{{"text", "", false}, profile_text, profile_time_text, false},
	{{"json", ".json", false}, profile_json, profile_time_json, false},
	{{"folded", ".folded", false}, profile_folded, profile_folded, true},
	{{"svg", ".svg", false}, profile_svg, profile_svg, true},
	{{"pprof", ".pb.gz .pprof", true}, profile_pprof, profile_pprof, true},
	{{"ebt", ".ebt", true}, NULL, NULL, false},
	{{0}, NULL, NULL, false},
};
static const struct profile_form diff_forms[] = {
	{{"text", "", false}, profile_diff_text, NULL, false},
	{{"json", ".json", false}, profile_diff_json, NULL, false},
	{{"folded", ".folded", false}, profile_diff_folded, NULL, false},
	{{"svg", ".svg", false}, profile_diff_svg, NULL, false},
	{{0}, NULL, NULL, false},
};

static const struct profile_report {
	struct report_row as;
	profile_put *before; /* of the first of two FILEs; NULL: they are one recording */
} reports[] = {
	{{"functions", "ebtrace profile functions", "where threads run, by function and by stack",
	  &forms->as, sizeof(*forms)},
	 NULL},
	{{"diff", "ebtrace profile diff", "where two FILEs ran, compared by function and by stack",
	  &diff_forms->as, sizeof(*diff_forms)},
	 profile_diff_before},
	{{0}, NULL},
};
const struct report_list profile_reports = {&reports->as, sizeof(*reports), NULL};

/* A report, and what it is made with. */
struct profile_run {
	struct report_run base;
	struct profile_diff *diff; /* NULL: not of this report */
};

static profile_put *before_of(const struct report_run *r)
{
	return ((const struct profile_report *)r->report)->before;
}

static enum profile_time time_of(const struct opts *o)
{
	return o->off_cpu ? PROFILE_OFF_CPU : o->wall ? PROFILE_WALL : PROFILE_ON_CPU;
}

static int make_put(const struct profile_run *r, profile_put *put, struct session *s, int fd,
		    struct sink **ret)
{
	const struct opts *o = &r->base.opts;
	const struct profile_form *f = (const struct profile_form *)r->base.form;
	struct profile_options po = {
		.by = o->profile_by,
		.time = time_of(o),
		.min_ns = o->engine.off_cpu_min_ns,
		.marked = f->is_stacks && (f->put == profile_pprof || o->profile_by),
		.top = o->top,
		.diff = r->diff,
	};
	return profile_new(s, fd, put, &po, ret);
}

static int make_sink(const void *ctx, struct session *s, int fd, struct sink **ret)
{
	const struct profile_run *r = ctx;
	const struct profile_form *f = (const struct profile_form *)r->base.form;
	if (!f->put)
		return format_named("ebt")->make(s, fd, ret);
	return make_put(r, time_of(&r->base.opts) == PROFILE_ON_CPU ? f->put : f->put_time, s, fd,
			ret);
}

/* Makes the sink of the first of two recordings. */
static int make_before(const void *ctx, struct session *s, int fd, struct sink **ret)
{
	const struct profile_run *r = ctx;
	return make_put(r, before_of(&r->base), s, fd, ret);
}

static int put_doc(struct buf *b)
{
	buf_puts(b, doc_head);
	report_put_list(b, &profile_reports);
	buf_puts(b, doc_tail);
	return b->err;
}

/* Probes would take time where they are, which samples would find there: phases are those of
 * rings. */
static void prepare(struct report_run *r)
{
	r->opts.engine.counts = true;
	r->opts.engine.is_late = true;
	r->opts.engine.sample_hz = r->opts.off_cpu ? 0 : r->opts.hz;
	r->opts.engine.off_cpu = r->opts.off_cpu || r->opts.wall;
	/* It is of blocks, not of spans. */
	bool is_default = !opts_given(&r->opts, OPT_MIN_DURATION) && !r->opts.engine.file_count;
	r->opts.engine.off_cpu_min_ns = is_default ? MIN_NS : r->opts.engine.min_duration_ns;
	r->opts.engine.min_duration_ns = 0;
	r->opts.engine.mode = MODE_RING;
	if (r->opts.engine.markers.count && !opts_given(&r->opts, OPT_BY))
		r->opts.profile_by = PROFILE_BY_SPAN;
	r->opts.is_private = true; /* names and addresses of the program's code */
	r->opts.compares = before_of(r) != NULL;
}

/* 0, or EXIT_USAGE after a line on stderr. */
static int check(struct report_run *r)
{
	enum profile_by by = r->opts.profile_by;
	if (!before_of(r))
		return 0;
	if (r->opts.engine.file_count != 2)
		complain("profile %s compares two FILEs", r->report->name);
	else if (r->opts.off_cpu || r->opts.wall)
		complain("profile %s compares samples: it takes neither --off-cpu nor --wall",
			 r->report->name);
	else if (by == PROFILE_BY_THREAD || by == PROFILE_BY_DOMAIN)
		complain("profile %s finds sections by their names; threads and domains have other "
			 "numbers in each run",
			 r->report->name);
	else
		return 0;
	return EXIT_USAGE;
}

/* A run for each of the two recordings; the second run writes the report. */
static int compare(const struct profile_run *r)
{
	struct profile_diff diff;
	struct profile_run one = *r;
	struct engine_options *e = &one.base.opts.engine;
	int status = EXIT_ERROR, first;
	int err = profile_diff_init(&diff);
	if (err) {
		complain("cannot start: %s", strerror(-err));
		goto done;
	}
	one.diff = &diff;
	e->file_count = 1;
	status = first = report_read(&one.base.opts, make_before, &one);
	if (!first || first == EXIT_LOSS) {
		e->files++;
		status = report_write(&one.base.opts, make_sink, &one);
	}
	status = status ? status : first;
done:
	profile_diff_done(&diff);
	return status;
}

static int write_report(struct report_run *base)
{
	const struct profile_run *r = (struct profile_run *)base;
	return before_of(base) ? compare(r) : report_write(&base->opts, make_sink, r);
}

int cmd_profile(int argc, char **argv)
{
	static const struct report_command command = {
		.command = OPTS_PROFILE,
		.name = "ebtrace profile",
		.args = "[REPORT] -p PID...\n[REPORT] -a\n[REPORT] -- PROGRAM [ARGS...]\n[REPORT] "
			"FILE...",
		.list = &profile_reports,
		.doc = put_doc,
		.schema = profile_schema,
		.prepare = prepare,
		.check = check,
		.write = write_report,
	};
	struct profile_run r = {0};
	return report_command(&command, &r.base, argc, argv);
}
