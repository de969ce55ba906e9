/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ebtrace top: processes by what their garbage collection costs, on the screen, or one frame.
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
#include "cmd/screen.h"
#include "cmd/top_screen.h"
#include "engine/live/probing.h"
#include "engine/live/traced.h"
#include "proc/cgroup.h"
#include "proc/process.h"

static const char doc[] =
	"Processes by share of time in GC, pauses, allocation rate, heap and loss, on the screen; "
	"or one frame of it. Enter opens a process."
	"\vKeys are those of htop; F1 lists them. The keys belong to the screen, so a PROGRAM has "
	"no terminal: it prints to /dev/null, unless its output is redirected.\n"
	"\n"
	"Examples:\n"
	"  sudo ebtrace top                  all processes of this machine\n"
	"  ebtrace top -p 1234               a running process\n"
	"  sudo ebtrace top -p 1234 -p 5678  two, with all that root can see\n"
	"  ebtrace top -- make -j8           a build: each program that it runs\n"
	"  ebtrace top --group unit          services, by unit\n"
	"  ebtrace top --once -p 1234        one frame, of a second\n"
	"  ebtrace top --json -d 10s -p 1234 one as JSON, of ten seconds\n"
	"  ebtrace top run.ebt               a capture\n"
	"\n" HELP_EXIT_STATUS "; with PROGRAM, the program's own.";

#define FRAME_NS 1000000000ull

static bool is_one_frame(const struct opts *o)
{
	return o->once || o->json || o->report_format;
}

/* Of a process that runs: the pid is its own until its pidfd reports its end. */
static bool find_where(void *ctx, const struct process *p, struct top_where *ret)
{
	struct cgroup_names names;
	struct process_stat stat;
	(void)ctx;
	if (!p->traced)
		return false;
	cgroup_read((pid_t)p->pid, &names);
	bool has_parent = !process_read_stat((pid_t)p->pid, &stat);
	if (!traced_runs(p->traced))
		return false;
	_Static_assert(sizeof(ret->unit) == sizeof(names.unit), "names fit");
	memcpy(ret->container, names.container, sizeof(ret->container));
	memcpy(ret->unit, names.unit, sizeof(ret->unit));
	ret->parent = has_parent ? (uint32_t)stat.parent : 0;
	return true;
}

/* What root would add. */
static const char *note_of(const struct engine_options *e)
{
	if (e->file_count || e->mode == MODE_RING || probing_is_allowed())
		return NULL;
	return geteuid() ? "unprivileged: rings alone; root adds programs without a ring, --blame, "
			   "sites"
			 : "this kernel allows no probes: rings alone";
}

static int make_sink(const void *ctx, struct session *s, int fd, struct sink **ret)
{
	const struct opts *o = ctx;
	bool is_live = !o->engine.file_count;
	struct top_options to = {
		.json = o->json,
		.counters = o->engine.mode == MODE_COUNTERS,
		.is_live = is_live,
		.sort = o->sort,
		.group = o->group,
		.tree = o->tree,
		.most = o->top,
		.cols = screen_columns(),
		.utf8 = screen_is_utf8(),
		.host = {is_live ? find_where : NULL, NULL},
		.step_ns = o->interval_ns,
		.note = note_of(&o->engine),
	};
	int err = top_new(s, fd, &to, ret);
	if (!err && to.counters)
		s->tallies = (struct tally_reader){top_take_tally, *ret};
	return err;
}

static int put_doc(struct buf *b)
{
	buf_puts(b, doc);
	return b->err;
}

/* Without a target: all processes. */
static void prepare(struct report_run *r)
{
	struct engine_options *e = &r->opts.engine;
	e->counts = true;
	e->frugal = true;
	e->all |= !e->pid_count && !e->program && !e->file_count;
}

static int check(struct report_run *r)
{
	struct opts *o = &r->opts;
	o->json = !strcmp(r->form->name, "json");
	if (o->engine.blame) {
		blame_mode_prepare(&o->engine);
		int status = option_rules_check(o);
		if (status)
			return status;
	}
	if (!o->interval_ns)
		o->interval_ns = FRAME_NS;
	/* A program ends by itself. */
	if (is_one_frame(o) && !o->engine.program && !o->engine.file_count &&
	    !o->engine.duration_ns)
		o->engine.duration_ns = o->interval_ns;
	if (is_one_frame(o))
		return 0;
	if (!isatty(STDOUT_FILENO)) {
		complain("standard output is no terminal; --once prints one frame, --json prints "
			 "one as JSON");
		return EXIT_USAGE;
	}
	o->engine.takes_terminal = true;
	/* Where events are counted in maps no sample of an allocation is read. */
	o->engine.allocs = o->engine.mode == MODE_COUNTERS ? ALLOCS_NONE : ALLOCS_TOO;
	return 0;
}

static int write_top(struct report_run *r)
{
	const struct opts *o = &r->opts;
	static const struct top_run screen = {make_sink};
	return is_one_frame(o) ? report_write(o, make_sink, o)
			       : run_session(o, top_screen_run, &screen);
}

static const struct report_form forms[] = {{"text", "", false}, {"json", ".json", false}, {0}};
static const struct report_row reports[] = {
	{"top", "ebtrace top", NULL, forms, sizeof(*forms)},
	{0},
};
static const struct report_list list = {reports, sizeof(*reports), NULL};

int cmd_top(int argc, char **argv)
{
	static const struct report_command command = {
		.command = OPTS_TOP,
		.name = "ebtrace top",
		.args = "[-a]\n-p PID...\n-- PROGRAM [ARGS...]\nFILE...",
		.list = &list,
		.doc = put_doc,
		.schema = top_schema,
		.prepare = prepare,
		.check = check,
		.write = write_top,
	};
	struct report_run r = {0};
	return report_command(&command, &r, argc, argv);
}
