/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/plural.h"
#include "cmd/commands.h"
#include "cmd/message.h"
#include "engine/loop.h"
#include "engine/run.h"
#include "stream/loss.h"

#define PROGRESS_NS 500000000u

int run_session(const struct opts *o,
		int (*fn)(const struct opts *o, struct session *s, const void *ctx),
		const void *ctx)
{
	struct session *session;
	engine_prepare(&o->engine);
	int err = session_new(&session);
	if (err) {
		complain("cannot start: %s", strerror(-err));
		return EXIT_ERROR;
	}
	session->max_stack = o->max_stack;
	session->messages = message_printer;
	int status = fn(o, session, ctx);
	session_free(session);
	return status;
}

/* Progress of a run on a terminal: the events so far. */
struct progress {
	const struct session *session;
	struct loop_timer timer;
	bool shown; /* on the last line of stderr */
};

static int show_progress(void *ctx)
{
	struct progress *p = ctx;
	char lost[LOSS_TEXT_BYTES];
	struct totals totals = session_run_totals(p->session);
	fprintf(stderr, "\rebtrace: %" PRIu64 " event%s, %s ", totals.events, plural(totals.events),
		loss_text(&totals, lost));
	p->shown = true;
	return 0;
}

static int join_loop(void *ctx, struct loop *l)
{
	struct progress *p = ctx;
	p->timer = (struct loop_timer){.fn = show_progress, .ctx = p, .period_ns = PROGRESS_NS};
	loop_timer_set(l, &p->timer, now_ns());
	return 0;
}

static void leave_loop(void *ctx, struct loop *l)
{
	loop_timer_clear(l, &((struct progress *)ctx)->timer);
}

static void clear_progress(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}

static void print_message(void *ctx, enum log_level level, const char *fmt, va_list ap)
{
	if (level <= log_level)
		clear_progress(ctx);
	message_print(NULL, level, fmt, ap);
}

/* NULL: there is none. messages, NULL: they are printed as they come. */
struct guest {
	struct engine_guest *guest;
	const struct messages *messages;
};

static int run(const struct opts *o, struct session *session, struct sink *sink,
	       const struct guest *guest, enum engine_end (*fn)(struct engine *e, void *ctx),
	       void *ctx)
{
	struct progress progress = {.session = session};
	struct engine_guest shows = {.join = join_loop, .leave = leave_loop, .ctx = &progress};
	bool is_live = !o->engine.file_count && !o->engine.snapshot;
	bool shown = is_live && o->output && isatty(STDERR_FILENO) && log_level >= LOG_NORMAL;
	struct engine e = {
		.options = &o->engine,
		.session = session,
		.sink = sink,
		.guest = guest->guest ? guest->guest
			 : shown      ? &shows
				      : NULL,
	};
	session->messages =
		guest->messages ? *guest->messages : (struct messages){print_message, &progress};
	enum engine_end end = fn(&e, ctx);
	clear_progress(&progress);
	session->messages = message_printer;
	return message_status(&e, end);
}

static enum engine_end run_pipeline(struct engine *e, void *ctx)
{
	(void)ctx;
	return engine_run(e);
}

int run_engine(const struct opts *o, struct session *session, struct sink *sink,
	       enum engine_end (*fn)(struct engine *e, void *ctx), void *ctx)
{
	return run(o, session, sink, &(const struct guest){0}, fn, ctx);
}

int run_beside(const struct opts *o, struct session *session, struct sink *sink,
	       struct engine_guest *guest, const struct messages *messages)
{
	return run(o, session, sink, &(const struct guest){guest, messages}, run_pipeline, NULL);
}

int run_into(const struct opts *o, struct session *session, struct sink *sink)
{
	return run_beside(o, session, sink, NULL, NULL);
}

int run_status(const struct opts *o, const struct session *session, int status)
{
	struct totals totals = session_run_totals(session);
	bool lossy = loss_is_any(&totals, session->run_begin.known) || totals.damaged;
	return !status && o->fail_on_loss && lossy ? EXIT_LOSS : status;
}
