/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ebtrace profile: where threads run, by samples of their stacks.
 */
#include <errno.h>

#include "cmd/commands.h"
#include "cmd/formats.h"
#include "cmd/option_help.h"
#include "cmd/report.h"
#include "cmd/reports.h"
#include "report/profile/profile.h"

static const char doc[] =
	"Where threads run, by samples of their stacks: OCaml and C, the mutator and the collector "
	"apart. " REPORT_OF_PROGRAM " FILE is a capture that profile -o FILE.ebt has written."
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
	"  sudo ebtrace profile -o x.ebt -d 10s -p 1234\n"
	"  ebtrace profile --by phase x.ebt      record first, report later\n"
	"  ebtrace profile -o x.pb.gz x.ebt      a profile for pprof\n"
	"\n" HELP_EXIT_STATUS "; with PROGRAM, the program's own.";

struct profile_form {
	struct report_form as;
	profile_put *put; /* NULL: the events themselves, as a capture */
};

static const struct profile_form forms[] = {
	{{"text", "", false}, profile_text},
	{{"json", ".json", false}, profile_json},
	{{"folded", ".folded", false}, profile_folded},
	{{"svg", ".svg", false}, profile_svg},
	{{"pprof", ".pb.gz .pprof", true}, profile_pprof},
	{{"ebt", ".ebt", true}, NULL},
	{{0}, NULL},
};
static const struct report_row reports[] = {
	{"profile", "ebtrace profile", NULL, &forms->as, sizeof(*forms)},
	{0},
};
const struct report_list profile_reports = {reports, sizeof(*reports), NULL};

static int make_sink(const void *ctx, struct session *s, int fd, struct sink **ret)
{
	const struct report_run *r = ctx;
	const struct profile_form *f = (const struct profile_form *)r->form;
	struct profile_options po = {.by = r->opts.profile_by, .top = r->opts.top};
	if (!f->put)
		return format_named("ebt")->make(s, fd, ret);
	return profile_new(s, fd, f->put, &po, ret);
}

static int put_doc(struct buf *b)
{
	buf_puts(b, doc);
	return b->err;
}

/* Probes would take time where they are, which samples would find there: phases are those of
 * rings. */
static void prepare(struct report_run *r)
{
	r->opts.engine.counts = true;
	r->opts.engine.sample_hz = r->opts.hz;
	r->opts.engine.mode = MODE_RING;
	r->opts.is_private = true; /* names and addresses of the program's code */
}

static int write_report(struct report_run *r)
{
	return report_write(&r->opts, make_sink, r);
}

int cmd_profile(int argc, char **argv)
{
	static const struct report_command command = {
		.command = OPTS_PROFILE,
		.name = "ebtrace profile",
		.args = "-p PID...\n-a\n-- PROGRAM [ARGS...]\nFILE...",
		.list = &profile_reports,
		.doc = put_doc,
		.schema = profile_schema,
		.prepare = prepare,
		.write = write_report,
	};
	struct report_run r = {0};
	return report_command(&command, &r, argc, argv);
}
