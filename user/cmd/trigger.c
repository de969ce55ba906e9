/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/trigger.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/plural.h"
#include "cmd/commands.h"
#include "cmd/message.h"
#include "cmd/outfile.h"
#include "cmd/run.h"
#include "format/ebt/trigger.h"
#include "stream/loss.h"

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

/* That no file can be written is not to be found after a week. 0, or an exit status after a line on
 * stderr. */
static int check_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = !slash ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
	int err = !dir ? ENOMEM : access(dir, W_OK | X_OK) ? errno : 0;
	free(dir);
	return err ? outfile_cannot_write(path, err) : 0;
}

int trigger_check(const struct opts *o)
{
	const struct format *f = o->format ? o->format : format_of_path(o->output);
	if (!o->trigger.rules && o->trigger.has_limits)
		complain("--before, --after, --max and --trigger-memory need --trigger "
			 "'SPAN>TIME'");
	else if (!o->trigger.rules)
		return 0;
	else if (!o->output || !strcmp(o->output, "-") || !(f->traits & FORMAT_CAPTURE))
		complain(
			"--trigger writes captures: -o FILE.ebt, of which FILE.1.ebt is the first");
	else if (o->max_bytes || o->rotate)
		complain("--max-size and --rotate are of a recording of everything; --trigger has "
			 "--max and --trigger-memory");
	else if (o->engine.snapshot)
		complain("--snapshot is of what was; --trigger waits for what comes");
	else
		return check_directory(o->output);
	return EXIT_USAGE;
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
	complain("%s: %s of %.3f ms in %sprocess %u%s, %" PRIu64 " event%s%s", f->path, h->span,
		 ms(h->ns), domain, processes_pid(&f->session->processes, h->process), more,
		 c->events, plural(c->events), cut);
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

static void print_end(const struct opts *o, const struct session *session, unsigned captures)
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
		print_end(o, session, captures);
	if (err || f.failed)
		status = status ? status : EXIT_ERROR;
	return run_status(o, session, status);
}

int trigger_run(const struct opts *o)
{
	return run_session(o, run, NULL);
}
