/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ebtrace trace: writes the events of a live run, or of files, in any format.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/plural.h"
#include "cmd/commands.h"
#include "cmd/destination.h"
#include "cmd/message.h"
#include "cmd/option_help.h"
#include "cmd/option_rules.h"
#include "cmd/opts.h"
#include "cmd/outfile.h"
#include "cmd/print.h"
#include "cmd/run.h"
#include "cmd/trace.h"
#include "format/ebt/trigger.h"
#include "format/ndjson/ndjson.h"
#include "report/stat/pause_events.h"
#include "report/text.h"
#include "stream/loss.h"

/* ebtrace trace --trigger: captures of what was around long spans (format/ebt/trigger.h). */

/* The files of a run. */
struct files {
	const struct opts *opts;
	const struct session *session;
	unsigned number; /* of the last name */
	char *path;	 /* of the open one */
	struct outfile file;
	bool is_open;
	bool failed; /* the reason has been printed */
};

/* Checks at the start that captures can be written: the first one may be due after a week. 0, or an
 * exit status after a line on stderr. */
static int check_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = !slash ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
	int err = !dir ? ENOMEM : access(dir, W_OK | X_OK) ? errno : 0;
	free(dir);
	return err ? outfile_cannot_write(path, err) : 0;
}

static int next_path(struct files *f)
{
	char mark[16];
	free(f->path);
	snprintf(mark, sizeof(mark), "%u", ++f->number);
	f->path = outfile_marked(f->opts->output, mark);
	return f->path ? 0 : -ENOMEM;
}

static int open_file(void *ctx, const struct trigger_capture *c, int *ret_fd)
{
	struct files *f = ctx;
	int err;
	(void)c;
	/* A name that exists is passed over, whatever has it: captures of an earlier run are kept,
	 * and links of others not followed. */
	do {
		err = next_path(f);
		if (!err)
			err = outfile_open_new(&f->file, f->path, f->opts->is_private);
	} while (err == -EEXIST);
	if (err) {
		f->failed = f->path != NULL;
		return err;
	}
	f->is_open = true;
	*ret_fd = f->file.fd;
	return outfile_begin(&f->file);
}

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

static void report_capture(const struct files *f, const struct trigger_capture *c)
{
	char more[32] = "", domain[24] = "", cut[96] = "";
	const struct span_hit *h = &c->hit;
	if (log_level < LOG_NORMAL)
		return;
	if (h->domain != EBT_NO_DOMAIN)
		snprintf(domain, sizeof(domain), "domain %u of ", h->domain);
	if (c->hits > 1)
		snprintf(more, sizeof(more), " and %u more", c->hits - 1);
	if (c->is_cut)
		snprintf(cut, sizeof(cut), "; it lacks the first %.0f ms: try --trigger-memory",
			 ms(c->kept_ns - c->from_ns));
	complain("%s: %s%s of %.3f ms in %sprocess %u%s, %" PRIu64 " event%s%s", f->path,
		 h->is_open ? "open " : "", h->span, ms(h->ns), domain,
		 processes_pid(&f->session->processes, h->process), more, c->events,
		 plural(c->events), cut);
}

static int close_file(void *ctx, const struct trigger_capture *c, int err)
{
	struct files *f = ctx;
	err = outfile_name(&f->file, err);
	outfile_close(&f->file);
	f->is_open = false;
	/* Another process has taken the name meanwhile: the capture is in its part, as reported. */
	if (err == -EEXIST)
		return 0;
	if (err) {
		f->failed = true;
		return err;
	}
	report_capture(f, c);
	if (c->number == f->opts->trigger.max && log_level >= LOG_NORMAL)
		complain("that was the last of --max %u capture%s", c->number, plural(c->number));
	return 0;
}

static void print_captures(const struct opts *o, const struct session *session, unsigned captures)
{
	char lost[LOSS_TEXT_BYTES];
	struct totals t = session_run_totals(session);
	if (log_level >= LOG_NORMAL)
		complain("%u capture%s from %" PRIu64 " event%s, %s%s", captures, plural(captures),
			 t.events, plural(t.events), loss_text(&t, lost),
			 captures || !o->trigger.rules ? "" : ": no span took so long");
}

static int run(const struct opts *o, struct session *session, const void *ctx)
{
	struct files f = {.opts = o, .session = session};
	struct trigger_options to = {
		.rule = o->trigger.rule,
		.rules = o->trigger.rules,
		.before_ns = o->trigger.before_ns,
		.after_ns = o->trigger.after_ns,
		.max = o->trigger.max,
		.memory = o->trigger.memory,
		.open = open_file,
		.close = close_file,
		.ctx = &f,
	};
	struct sink *sink;
	(void)ctx;
	int err = trigger_new(session, &to, &sink);
	if (err) {
		complain("%s", strerror(-err));
		return EXIT_ERROR;
	}
	int status = run_into(o, session, sink);
	err = sink_end(sink);
	unsigned captures = trigger_count(sink);
	sink_free(sink);
	if (f.is_open)
		outfile_drop(&f.file);
	free(f.path);
	if (!status || session->totals.timed)
		print_captures(o, session, captures);
	if (err || f.failed)
		status = status ? status : EXIT_ERROR;
	return run_status(o, session, status);
}

/* A run with --trigger. Returns its exit status. */
static int trigger_run(const struct opts *o)
{
	return run_session(o, run, NULL);
}

static const char doc_tail[] =
	"\vFor --stack, debug files that are not installed come from the servers of "
	"DEBUGINFOD_URLS, "
	"if it is set.\n"
	"\n"
	"Examples:\n"
	"  sudo ebtrace -p 1234               a running process, with threads and CPUs\n"
	"  ebtrace -p 1234                    the same from its ring file only\n"
	"  ebtrace -- ./prog args             a program from its first event\n"
	"  ebtrace -p 1234 -e 'major*' -d 10s\n"
	"  ebtrace -p 1234 --time wall        lines with the time of day\n"
	"  ebtrace -o run.pftrace -- ./prog   a timeline for ui.perfetto.dev\n"
	"  ebtrace -o run.ebt -- ./prog       a capture: every event, compressed\n"
	"  sudo ebtrace --trigger 'pause>5ms' -o slow.ebt -p 1234\n"
	"                                     only what was around long pauses\n"
	"  sudo ebtrace --blame -o run.pftrace -p 1234\n"
	"                                     when its threads did not run, and why\n"
	"  sudo ebtrace --stack=begin -p 1234 and who asked for the collections\n"
	"  ebtrace run.ebt -o run.ndjson      converts to another format, later\n"
	"  ebtrace 1234.events                the ring file of an ended program\n"
	"  sudo ebtrace trace --pages -o x.ebt -p 1234\n"
	"                                     its address space, for ebtrace pages\n"
	"\n" HELP_EXIT_STATUS "; with PROGRAM, the program's own.";

/* Writes argp's text around the options; without a command on the line, also the commands. */
static int write_doc(struct buf *b, bool has_command)
{
	buf_puts(b,
		 "Shows what a language runtime does inside a process, event by event: GC phases, "
		 "counters, user events.");
	if (!has_command)
		buf_puts(b, " The commands; without one, trace:\n\n");
	for (const struct command *c = commands; !has_command && c->full_name; c++)
		if (*command_name(c))
			report_print(b, "  %-12s%s\n", command_name(c), c->help);
	if (!has_command)
		buf_puts(b, "\n'ebtrace help COMMAND' describes a command. Options of trace:");
	buf_puts(b, doc_tail);
	return b->err;
}

static void print_totals(const struct opts *o, const struct totals *t)
{
	char lost[LOSS_TEXT_BYTES], damaged[48] = "";
	if (!o->output || log_level < LOG_NORMAL)
		return;
	if (t->damaged)
		snprintf(damaged, sizeof(damaged), ", %" PRIu64 " damaged place%s", t->damaged,
			 plural(t->damaged));
	complain("%" PRIu64 " event%s, %s%s: %s", t->events, plural(t->events), loss_text(t, lost),
		 damaged, o->output);
}

/* With --blame the pauses say what they were made of. */
static int run_explained(const struct opts *o, struct session *session, struct sink *sink)
{
	const struct engine_options *e = &o->engine;
	struct sink *explained = NULL;
	struct filter *names = NULL;
	if (!e->blame)
		return run_into(o, session, sink);
	int err = e->glob_count ? filter_new(session, (struct event_handler){0}, &names) : 0;
	for (unsigned i = 0; i < e->glob_count && !err; i++)
		err = filter_add_glob(names, e->globs[i]);
	if (!err)
		err = pause_events_new(session, sink, e->min_duration_ns, names, &explained);
	if (err)
		complain("%s", strerror(-err));
	int status = err ? EXIT_ERROR : run_into(o, session, explained);
	sink_free(explained);
	filter_free(names);
	return status;
}

static int write_events(const struct opts *o, struct session *session, const void *ctx)
{
	struct destination d;
	(void)ctx;
	int status = destination_open(&d, o, session);
	if (status)
		return status;
	status = run_explained(o, session, &d.output.sink);
	bool wall = o->time == TEXT_TIME_WALL && session->totals.timed;
	if (wall && !session->timebase.at[TIMEBASE_REALTIME].known)
		log_at(LOG_NORMAL,
		       "a ring file has no time of day; times are seconds since its first event");
	bool refused = status && !session->totals.timed;
	if (refused)
		sink_cancel(&d.output.sink);
	status = destination_close(&d, status);
	/* The reason of a run that failed before its first event, or of a missing file, has been
	 * printed: no totals. */
	if (d.failed)
		return status;
	struct totals totals = session_run_totals(session);
	if (!status || totals.timed)
		print_totals(o, &totals);
	if (!o->engine.file_count && !o->engine.snapshot)
		output_report_limit(&d.output);
	return run_status(o, session, status);
}

int trace_run(const struct opts *o)
{
	return run_session(o, write_events, NULL);
}

/* Without a command the first word may be a misspelt command, or a program. */
static int refuse_word(const struct opts *o)
{
	const char *word = o->engine.file_count ? o->engine.files[0] : "-";
	if (!strcmp(word, "-") || strpbrk(word, "./") || !access(word, F_OK))
		return 0;
	const struct command *like = command_like(word);
	char names[COMMANDS_BYTES];
	commands_name(COMMANDS_OF_EVENTS, names);
	if (like)
		complain("no such command or file '%s'; did you mean '%s'?", word,
			 command_name(like));
	else
		complain("no such command or file '%s'; the commands are %s; to run and trace a "
			 "program: ebtrace -- %s",
			 word, names, word);
	return EXIT_USAGE;
}

/* What the options ask of the format. 0, or EXIT_USAGE after a line on stderr. */
static int check_format(struct opts *o)
{
	const struct format *f = o->format ? o->format : format_of_path(o->output);
	const char *suffix = o->format ? NULL : format_suffix(o->output);
	if (suffix && !format_has_suffix(suffix)) {
		complain("no format has the suffix '%s'; known: %s; with -f FORMAT any will do",
			 suffix, format_suffixes());
		return EXIT_USAGE;
	}
	if (f->traits & FORMAT_LINES)
		return 0;
	if (opts_given(o, OPT_TIME)) {
		complain("--time applies to text; %s has its own times", f->name);
		return EXIT_USAGE;
	}
	if (o->engine.program && !o->output && !o->trigger.rules)
		return destination_refuse_mixed(o, "output", f->name);
	destination_take_stdout(o);
	return 0;
}

/* bare: the command line names no command. */
static int obey(struct opts *o, bool bare)
{
	if (o->json_schema)
		return print_schema(ndjson_schema);
	int status = bare ? refuse_word(o) : 0;
	o->captures = (o->format ? o->format : format_of_path(o->output))->traits & FORMAT_CAPTURE;
	if (!status)
		status = option_rules_check(o);
	if (!status)
		status = check_format(o);
	if (!status && o->trigger.rules)
		status = check_directory(o->output);
	if (status)
		return status;
	/* Addresses, and names of programs and threads that are not the traced ones'. */
	o->is_private =
		!o->engine.file_count && (o->engine.stacks || o->engine.pages || o->engine.blame);
	return o->trigger.rules ? trigger_run(o) : trace_run(o);
}

int cmd_trace(int argc, char **argv)
{
	struct opts o;
	struct buf doc;
	bool has_command = argc && strcmp(argv[0], "ebtrace");
	int err = buf_init(&doc, -1, 4096);
	if (!err)
		err = write_doc(&doc, has_command);
	if (err) {
		complain("cannot start: %s", strerror(-err));
		buf_done(&doc);
		return EXIT_ERROR;
	}
	struct opts_command command = {OPTS_TRACE, "-p PID...\n-a\n-- PROGRAM [ARGS...]\nFILE...",
				       buf_str(&doc)};
	opts_parse(&o, &command, argc, argv);
	o.engine.allocs = ALLOCS_TOO;
	int status = obey(&o, argc && !has_command);
	opts_done(&o);
	buf_done(&doc);
	return status;
}
