/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ebtrace pages: reports of the pages of a heap, one row each in the table of reports.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/canvas.h"
#include "cmd/commands.h"
#include "cmd/message.h"
#include "cmd/option_help.h"
#include "cmd/report.h"
#include "cmd/reports.h"
#include "cmd/run.h"
#include "engine/record/pagetrace_feed.h"
#include "report/pages/json.h"
#include "report/pages/map.h"
#include "report/pages/pages.h"
#include "report/text.h"

struct pages_form {
	struct report_form as;
	pages_put *put; /* NULL: the events themselves, in this format */
	bool has_map, is_drawn;
};

#define PICTURES                                                           \
	{{"png", ".png", true}, pages_map_png, true, true},                \
		{{"svg", ".svg", false}, pages_map_svg, true, true},       \
	{                                                                  \
		{"html", ".html .htm", false}, pages_map_html, true, false \
	}

#define FORMS(report)                                                            \
	static const struct pages_form report##_forms[] = {                      \
		{{"text", "", false}, pages_##report##_text, false, false},      \
		{{"json", ".json", false}, pages_##report##_json, false, false}, \
		{{0}, NULL, false, false},                                       \
	}
FORMS(totals);
FORMS(fragmentation);
FORMS(occupancy);
FORMS(churn);
FORMS(heat);
FORMS(lifetimes);
FORMS(owners);
FORMS(damage);
static const struct pages_form summary_forms[] = {
	{{"text", "", false}, pages_summary_text, false, false},
	{{"json", ".json", false}, pages_summary_json, false, false},
	PICTURES,
	{{"ebt", ".ebt", true}, NULL, false, false},
	{{"pagetrace", ".pt", true}, NULL, false, false},
	{{0}, NULL, false, false},
};
static const struct pages_form map_forms[] = {
	{{"text", "", false}, pages_map_text, true, false},
	PICTURES,
	{{0}, NULL, false, false},
};

#define REPORT(name, help)                                                                        \
	{                                                                                         \
#name, "ebtrace pages " #name, help, &name##_forms->as, sizeof(struct pages_form) \
	}

static const struct report_row reports[] = {
	REPORT(summary, "one screen of all"),
	REPORT(totals, "pages allocated, free and scavenged (returned), over time"),
	REPORT(fragmentation, "runs of free pages, by size"),
	REPORT(occupancy, "how full huge pages and chunks of 4 MiB are; what keeps them"),
	REPORT(churn, "pages that were scavenged and taken again, how soon"),
	REPORT(heat, "how often pages were allocated, and the hottest ones"),
	REPORT(lifetimes, "how long runs of pages live, by size"),
	REPORT(owners, "which P frees whose pages"),
	REPORT(damage, "what is missing or contradicts itself"),
	REPORT(map, "addresses over time: characters; -o x.png, x.svg, x.html"),
	{0},
};

const struct report_list pages_reports = {reports, sizeof(*reports), NULL};

/* A run of a report. */
struct pages_run {
	struct report_run base;
	struct pages_map *map; /* of a picture */
	uint32_t pid;	       /* of the process to report; 0: the first that has events */
	struct sink **made;    /* the report, behind the output */
};

static const struct pages_form *form_of(const struct pages_run *r)
{
	return (const struct pages_form *)r->base.form;
}

static int make_sink(const void *ctx, struct session *s, int fd, struct sink **ret)
{
	const struct pages_run *r = ctx;
	if (!form_of(r)->put)
		return format_named(form_of(r)->as.name)->make(s, fd, ret);
	struct pages_report_options o = {
		.model =
			{
				.page_bytes = EBT_PAGETRACE_PAGE_BYTES,
				.from = r->base.opts.from,
				.until = r->base.opts.at.known ? r->base.opts.at : r->base.opts.to,
				.map = form_of(r)->has_map ? r->map : NULL,
			},
		.pid = r->pid,
		.top = r->base.opts.top,
	};
	int err = pages_new(s, fd, form_of(r)->put, &o, ret);
	*r->made = *ret;
	return err;
}

static int take(void *ctx, const struct ebt_pagetrace_event *ev, size_t n)
{
	return pages_take(ctx, ev, n);
}

static enum engine_end feed(struct engine *e, void *ctx)
{
	return pagetrace_feed_run(e, ctx);
}

/* A page trace that is a file: its events go to the report at once. Returns an exit status. */
static int run_feed(const struct pages_run *r, const struct opts *o, struct session *session,
		    struct sink *sink, struct pagetrace_feed *f)
{
	f->events = take;
	f->ctx = *r->made;
	session->origins = ORIGIN_PAGETRACE;
	int status = run_engine(o, session, sink, feed, f);
	struct pages_trace t = {
		.known = true,
		.has_boot = f->counts.has_boot,
		.bytes = f->bytes,
		.blocks = f->counts.blocks,
		.backwards = f->backwards,
	};
	pages_set_trace(*r->made, &t);
	return status;
}

static int run(const void *ctx, const struct opts *o, struct session *session, struct sink *sink)
{
	const struct pages_run *r = ctx;
	struct pagetrace_feed f = {.fd = -1};
	/* A page trace is of no process that could be selected. */
	if (!form_of(r)->put || r->pid || !pagetrace_feed_open(&o->engine, &f))
		return run_into(o, session, sink);
	int status = run_feed(r, o, session, sink, &f);
	pagetrace_feed_close(&f);
	return status;
}

/* Writes argp's text around the options: with the list of reports. */
static int put_doc(struct buf *b)
{
	buf_puts(
		b,
		"How a heap, or a whole address space, holds its pages. " REPORT_OF_PROGRAM
		" Of a process or program, "
		"as root: the pages that it touches, unmaps and returns, as the kernel has them. "
		"FILE is a page trace of Go (GOEXPERIMENT=pagetrace, GODEBUG=pagetrace=FILE) or of "
		"libebtrace-probes (EBTRACE_PAGETRACE=FILE), or a capture (ebtrace trace --pages "
		"-o FILE.ebt). REPORT is one of these, the first if "
		"there is none; -f is one of its formats, the first by default:\n\n");
	report_put_list(b, &pages_reports);
	buf_puts(b,
		 "\vTimes of --at, --from and --to are since the first event. What is on the heap "
		 "is "
		 "of all events up to --at or --to; what happened to pages, from --from on.\n"
		 "\n"
		 "Examples:\n"
		 "  ebtrace pages prog.pt                        one screen of all\n"
		 "  ebtrace pages totals --from 1s --to 2s prog.pt\n"
		 "                                               a second of it\n"
		 "  ebtrace pages occupancy --at 1.5s --top 20 prog.pt\n"
		 "                                               what kept huge pages then\n"
		 "  ebtrace pages damage prog.pt                 whether it is complete\n"
		 "  ebtrace pages -o heap.html prog.pt           a map that zooms\n"
		 "  ebtrace pages churn --json - <prog.pt | jq .again_pages\n"
		 "  sudo ebtrace pages -p 1234 -d 10s            a running process\n"
		 "  sudo ebtrace pages -o x.html -- ./prog args  a program, as a picture\n"
		 "\n" HELP_EXIT_STATUS "; with PROGRAM, the program's own.");
	return b->err;
}

static void prepare(struct report_run *r)
{
	r->opts.engine.counts = true;
}

static int check(struct report_run *base)
{
	char reason[CANVAS_REASON_BYTES];
	if (!form_of((struct pages_run *)base)->is_drawn || !canvas_check(reason))
		return 0;
	complain("%s", reason);
	return EXIT_ERROR;
}

static int write_report(struct report_run *base)
{
	struct pages_run *r = (struct pages_run *)base;
	struct engine_options *e = &base->opts.engine;
	/* With a file, -p selects the process. */
	if (e->pid_count)
		r->pid = (uint32_t)e->pids[0];
	e->pages = !e->file_count;
	base->opts.is_private = e->pages; /* addresses */
	if (!e->pages)
		e->pid_count = 0;
	struct pages_map map = {0};
	struct sink *made = NULL;
	r->map = &map;
	r->made = &made;
	int status = report_write_by(&base->opts, make_sink, run, r);
	pages_map_done(&map);
	return status;
}

int cmd_pages(int argc, char **argv)
{
	static const struct report_command command = {
		.command = OPTS_PAGES,
		.name = "ebtrace pages",
		.args = "[REPORT] -p PID\n[REPORT] -- PROGRAM [ARGS...]\n[REPORT] FILE...",
		.list = &pages_reports,
		.doc = put_doc,
		.schema = pages_schema,
		.prepare = prepare,
		.check = check,
		.write = write_report,
	};
	struct pages_run r = {0};
	return report_command(&command, &r.base, argc, argv);
}
