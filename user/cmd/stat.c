/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ebtrace stat: prints statistics of a run instead of its events.
 */
#include <sched.h>
#include <string.h>

#include "base/log.h"
#include "cmd/blame_mode.h"
#include "cmd/commands.h"
#include "cmd/message.h"
#include "cmd/option_help.h"
#include "cmd/option_rules.h"
#include "cmd/report.h"
#include "cmd/run.h"
#include "report/stat/stat.h"

static const char doc[] =
	"GC statistics and pause percentiles of a run, at its end or on Ctrl-C. " REPORT_OF_PROGRAM
	"\vA pause is the outermost phase of a domain that stops its mutator; ebtrace-stat(1) "
	"lists these phases.\n"
	"\n"
	"Examples:\n"
	"  ebtrace stat -- ./prog args           a program, from start to end\n"
	"  sudo ebtrace stat -p 1234 -d 10s      ten seconds of a running process\n"
	"  ebtrace stat -p 1234 --interval 1s    a line a second, and the report\n"
	"  ebtrace stat --top 3 -- dune build    the programs with the most GC time\n"
	"  sudo ebtrace stat --blame -p 1234     what pauses were made of\n"
	"  ebtrace stat --mmu -o mmu.svg -p 1234 a picture of how much the mutator ran\n"
	"  ebtrace stat --json 1234.events       the ring file of an ended program\n"
	"\n" HELP_EXIT_STATUS "; with PROGRAM, the program's own.";

#define BLAME_LONGEST 5 /* pauses */

/* That this process may use; 0: not known. */
static unsigned cpus(void)
{
	cpu_set_t set;
	return sched_getaffinity(0, sizeof(set), &set) ? 0 : (unsigned)CPU_COUNT(&set);
}

static int make_sink(const void *ctx, struct session *s, int fd, struct sink **ret)
{
	const struct opts *o = ctx;
	struct stat_options so = {
		.json = o->json,
		.svg = o->svg,
		.mmu = o->mmu,
		.interval_ns = o->interval_ns,
		.by = o->by,
		.top = o->top,
		.blame = o->engine.blame,
		.counters = o->engine.mode == MODE_COUNTERS,
		.longest = o->top ? o->top : BLAME_LONGEST,
		.cpus = o->engine.file_count ? 0 : cpus(),
		.verbose = log_level >= LOG_VERBOSE,
	};
	int err = stat_new(s, fd, &so, ret);
	if (!err)
		s->tallies = (struct tally_reader){stat_take_tally, *ret};
	return err;
}

static int put_doc(struct buf *b)
{
	buf_puts(b, doc);
	return b->err;
}

static void prepare(struct report_run *r)
{
	r->opts.engine.counts = true;
}

static int check_picture(const struct opts *o)
{
	if (o->svg && !o->mmu)
		complain("a picture (svg) is of --mmu");
	else if (o->svg && (o->interval_ns || o->engine.blame))
		complain("a picture (svg) has neither --interval nor --blame");
	else
		return 0;
	return EXIT_USAGE;
}

static int check(struct report_run *r)
{
	r->opts.svg = !strcmp(r->form->name, "svg");
	int status = check_picture(&r->opts);
	if (status)
		return status;
	r->opts.json = !strcmp(r->form->name, "json");
	if (r->opts.engine.blame) {
		blame_mode_prepare(&r->opts.engine);
		r->opts.is_private = true; /* programs that ran instead are named */
	}
	return option_rules_check(&r->opts);
}

static int write_report(struct report_run *r)
{
	return report_write(&r->opts, make_sink, &r->opts);
}

static const struct report_form forms[] = {
	{"text", "", false}, {"json", ".json", false}, {"svg", ".svg", false}, {0}};
static const struct report_row reports[] = {
	{"stat", "ebtrace stat", NULL, forms, sizeof(*forms)},
	{0},
};
static const struct report_list list = {reports, sizeof(*reports), NULL};

int cmd_stat(int argc, char **argv)
{
	static const struct report_command command = {
		.command = OPTS_STAT,
		.name = "ebtrace stat",
		.args = "-p PID...\n-a\n-- PROGRAM [ARGS...]\nFILE...",
		.list = &list,
		.doc = put_doc,
		.schema = stat_schema,
		.prepare = prepare,
		.check = check,
		.write = write_report,
	};
	struct report_run r = {0};
	return report_command(&command, &r, argc, argv);
}
