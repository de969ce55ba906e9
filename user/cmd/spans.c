/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ebtrace spans: what spans of a program were made of.
 */
#include <string.h>
#include <unistd.h>

#include "cmd/blame_mode.h"
#include "cmd/commands.h"
#include "cmd/message.h"
#include "cmd/option_help.h"
#include "cmd/option_rules.h"
#include "cmd/report.h"
#include "cmd/run.h"
#include "engine/live/probing.h"
#include "report/spans/spans.h"

static const char doc[] =
	"What spans of a program were made of: user events of type span, spans of fibers, pairs of "
	"markers (-U). GLOB selects them by name; one that matches no span selects "
	"phases. " REPORT_OF_PROGRAM
	"\vParts of a span: running, collected (in pauses, by phase), waiting for a CPU behind a "
	"thread, blocked in a system call, faulting, suspended in an operation of a fiber. They "
	"add "
	"up to it. When threads ran needs privilege, or a FILE that was recorded with --blame.\n"
	"\n"
	"Examples:\n"
	"  sudo ebtrace spans -- ./prog args      all spans of a program\n"
	"  sudo ebtrace spans 'req*' -p 1234 -d 10s\n"
	"                                         those of a name, for ten seconds\n"
	"  sudo ebtrace spans -U 'postgresql:query__start~postgresql:query__done' -p 1234\n"
	"                                         queries of a database\n"
	"  sudo ebtrace spans 'req*' -a --by program -d 10s\n"
	"                                         those of all processes, by program\n"
	"  ebtrace spans --top 20 run.ebt         a recording, the 20 slowest spans\n"
	"  ebtrace spans minor 1234.events        the minor collections of a ring file\n"
	"\n" HELP_EXIT_STATUS "; with PROGRAM, the program's own.";

#define SLOWEST 5

struct spans_run {
	struct report_run base;
	bool none; /* there was no span to report */
};

struct form {
	struct report_form base;
	enum spans_form form;
};
static const struct form forms[] = {{{"text", "", false}, SPANS_TEXT},
				    {{"json", ".json", false}, SPANS_JSON},
				    {{"folded", "", false}, SPANS_FOLDED},
				    {{"svg", ".svg", false}, SPANS_SVG},
				    {{0}, SPANS_TEXT}};
static int put_doc(struct buf *b)
{
	buf_puts(b, doc);
	return b->err;
}

/* Words are patterns. Without -p and PROGRAM the last one is a FILE, and so is each that exists. */
static void prepare(struct report_run *r)
{
	struct opts *o = &r->opts;
	struct engine_options *e = &o->engine;
	bool is_live = e->pid_count || e->program || e->all;
	unsigned files = 0, words = e->file_count;
	for (unsigned i = 0; i < words; i++) {
		char *word = e->files[i];
		bool is_last = i + 1 == words;
		if (!is_live && (is_last || !strcmp(word, "-") || !access(word, F_OK)))
			e->files[files++] = word;
		else
			o->names[o->name_count++] = word;
	}
	e->file_count = files;
}

static int make_sink(const void *ctx, struct session *session, int fd, struct sink **ret)
{
	struct spans_run *s = *(struct spans_run *const *)ctx;
	const struct opts *o = &s->base.opts;
	const struct spans_options so = {
		.globs = o->names,
		.glob_count = o->name_count,
		.form = ((const struct form *)s->base.form)->form,
		.by = o->spans_by,
		.fibers = o->fibers,
		.top = o->top ? o->top : SLOWEST,
		.is_file = o->engine.file_count > 0,
		.interval_ns = o->interval_ns,
		.ret_none = &s->none,
	};
	return spans_report_new(session, fd, &so, ret);
}

static int check(struct report_run *r)
{
	struct engine_options *e = &r->opts.engine;
	const struct form *f = (const struct form *)r->form;
	if (r->opts.interval_ns && (r->opts.fibers || f->form > SPANS_JSON)) {
		complain("--interval is of spans, as text or JSON");
		return EXIT_USAGE;
	}
	r->opts.json = f->form == SPANS_JSON;
	if (e->file_count || e->mode == MODE_RING || !probing_is_allowed())
		return 0;
	e->blame = true;
	r->opts.is_private = true; /* programs that ran instead are named */
	/* A trap for each event would add nothing. */
	e->counts = !e->markers.count && blame_mode_rings_have_threads(e);
	return 0;
}

static int write_report(struct report_run *r)
{
	struct spans_run *s = (struct spans_run *)r;
	int status = report_write(&r->opts, make_sink, &s);
	return !status && s->none ? EXIT_NOTHING : status;
}

static const struct report_row reports[] = {
	{"spans", "ebtrace spans", NULL, &forms->base, sizeof(*forms)},
	{0},
};
static const struct report_list list = {reports, sizeof(*reports), NULL};

int cmd_spans(int argc, char **argv)
{
	static const struct report_command command = {
		.command = OPTS_SPANS,
		.name = "ebtrace spans",
		.args = "[GLOB...] -p PID...\n[GLOB...] -a\n[GLOB...] -- PROGRAM [ARGS...]\n"
			"[GLOB...] FILE",
		.list = &list,
		.doc = put_doc,
		.schema = spans_schema,
		.prepare = prepare,
		.check = check,
		.write = write_report,
	};
	struct spans_run s = {0};
	return report_command(&command, &s.base, argc, argv);
}
