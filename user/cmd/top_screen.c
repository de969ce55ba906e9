/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/top_screen.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ending.h"
#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/message.h"
#include "cmd/run.h"
#include "cmd/screen.h"
#include "engine/live/traced.h"
#include "engine/loop.h"

#define MEASURE_NS 200000000ull /* between two reads of the size of the terminal */
#define KEPT	   32		/* messages that are printed behind the screen */
#define KEPT_BYTES 256

struct shown {
	const struct opts *opts;
	struct session *session;
	struct sink *sink;
	struct screen *screen; /* NULL: not open, or closed for good */
	struct top_frame frame;
	struct engine_guest guest;
	struct loop *loop;
	struct loop_timer frames, sizes;
	struct loop_fd keys;
	bool is_still; /* the run has ended: no more frames but for keys */
	int error;     /* why there is no screen */
	/* Messages of the run while there is a screen: the last ones. */
	char kept[KEPT][KEPT_BYTES];
	enum log_level levels[KEPT];
	unsigned messages;
};

/* ---- messages ---- */

static void keep_message(void *ctx, enum log_level level, const char *fmt, va_list ap)
{
	struct shown *k = ctx;
	if (!k->screen) {
		message_print(NULL, level, fmt, ap);
		return;
	}
	if (level > log_level)
		return;
	unsigned i = k->messages++ % KEPT;
	k->levels[i] = level;
	vsnprintf(k->kept[i], sizeof(k->kept[i]), fmt, ap);
	top_set_note(k->sink, k->kept[i]);
}

static void close_screen(struct shown *k)
{
	if (!k->screen)
		return;
	screen_close(k->screen);
	k->screen = NULL;
	unsigned first = k->messages > KEPT ? k->messages - KEPT : 0;
	for (unsigned i = first; i < k->messages; i++)
		log_at(k->levels[i % KEPT], "%s", k->kept[i % KEPT]);
	k->messages = 0;
	top_set_note(k->sink, NULL);
}

/* ---- frames and keys ---- */

/* 0 or -ENOMEM. */
static int draw(struct shown *k, bool next)
{
	if (!k->screen)
		return 0;
	int err = top_frame_begin(&k->frame, screen_rows(k->screen), screen_cols(k->screen));
	if (!err)
		err = top_frame(k->sink, &k->frame, next);
	if (!err)
		screen_show(k->screen, &k->frame);
	return err;
}

static int on_frame(void *ctx)
{
	struct shown *k = ctx;
	return top_is_paused(k->sink) ? 0 : draw(k, true);
}

static int on_size(void *ctx)
{
	struct shown *k = ctx;
	return screen_measure(k->screen) ? draw(k, false) : 0;
}

static void send_signal(struct shown *k)
{
	const struct top_kill *what = top_kill(k->sink);
	char said[96];
	int err =
		traced_signal(&k->session->processes, what->process, what->in_order, what->signal);
	if (err)
		snprintf(said, sizeof(said), "no signal was sent to %u: %s", what->pid,
			 err == -ESRCH ? "it has ended" : strerror(-err));
	else
		snprintf(said, sizeof(said), "signal %d was sent to %u", what->signal, what->pid);
	top_say(k->sink, said);
}

static void leave_loop(struct shown *k)
{
	k->guest.ends = true;
	if (k->is_still)
		loop_stop(k->loop);
}

static int on_keys(void *ctx)
{
	struct shown *k = ctx;
	bool any = false;
	for (uint32_t key; (key = screen_key(k->screen)); any = true) {
		enum top_action action = top_key(k->sink, key);
		if (action == TOP_LEAVE) {
			leave_loop(k);
			return 0;
		}
		if (action == TOP_KILL)
			send_signal(k);
		/* The next key may be for another row. */
		int err = action == TOP_DRAW ? 0 : draw(k, false);
		if (err)
			return err;
	}
	if (screen_is_gone(k->screen))
		leave_loop(k);
	return any ? draw(k, false) : 0;
}

/* ---- in the loop ---- */

static int join(void *ctx, struct loop *l)
{
	struct shown *k = ctx;
	int err = k->screen ? 0 : screen_open(&k->screen);
	k->loop = l;
	if (err) {
		k->error = err;
		return err;
	}
	k->frame.utf8 = screen_is_utf8();
	k->frames =
		(struct loop_timer){.fn = on_frame, .ctx = k, .period_ns = k->opts->interval_ns};
	k->sizes = (struct loop_timer){.fn = on_size, .ctx = k, .period_ns = MEASURE_NS};
	if (!k->is_still)
		loop_timer_set(l, &k->frames, now_ns() + k->opts->interval_ns);
	loop_timer_set(l, &k->sizes, now_ns() + MEASURE_NS);
	k->keys = (struct loop_fd){.fd = screen_fd(k->screen), .fn = on_keys, .ctx = k};
	if (k->keys.fd >= 0)
		err = loop_add(l, &k->keys, LOOP_LEVEL);
	return err ? err : draw(k, k->is_still);
}

/* The screen stays where the run has ended by itself: whoever reads it ends it. */
static void leave(void *ctx, struct loop *l)
{
	struct shown *k = ctx;
	loop_timer_clear(l, &k->frames);
	loop_timer_clear(l, &k->sizes);
	loop_remove(l, &k->keys);
	if (k->guest.ends || ending_asked() || k->opts->engine.duration_ns)
		close_screen(k);
}

/* ---- behind the run ---- */

static int on_signal(void *ctx)
{
	struct shown *k = ctx;
	loop_stop(k->loop);
	return 0;
}

static int64_t rest(void *ctx)
{
	(void)ctx;
	return INT64_C(3600000000000);
}

/* 0 or -errno. */
static int look_on(struct shown *k, struct loop *l)
{
	sigset_t set, was;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &was);
	struct loop_fd signals = {
		.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), .fn = on_signal, .ctx = k};
	int err = signals.fd < 0 ? -errno : loop_add(l, &signals, LOOP_LEVEL);
	k->is_still = true;
	if (!err)
		err = join(k, l);
	if (!err)
		err = loop_run(l, rest, k);
	leave(k, l);
	loop_remove(l, &signals);
	struct signalfd_siginfo si;
	while (signals.fd >= 0 && read(signals.fd, &si, sizeof(si)) > 0)
		;
	if (signals.fd >= 0)
		close(signals.fd);
	sigprocmask(SIG_SETMASK, &was, NULL);
	return err;
}

/* All that was to be read has been, or all processes have ended: what there is stays on the
 * screen. */
static int stay(struct shown *k)
{
	struct loop *l = NULL;
	int err = loop_new(&l);
	if (!err)
		err = look_on(k, l);
	loop_free(l);
	return err;
}

int top_screen_run(const struct opts *o, struct session *s, const void *ctx)
{
	const struct top_run *what = ctx;
	struct shown *k = calloc(1, sizeof(*k));
	if (!k || what->make(o, s, -1, &k->sink)) {
		free(k);
		complain("%s", strerror(ENOMEM));
		return EXIT_ERROR;
	}
	k->opts = o;
	k->session = s;
	k->guest = (struct engine_guest){.join = join, .leave = leave, .ctx = k};
	const struct messages messages = {keep_message, k};
	int status = run_beside(o, s, k->sink, &k->guest, &messages);
	int err = k->screen ? stay(k) : 0;
	close_screen(k);
	if (k->error == -ENOTTY)
		complain("the terminal '%s' is not known; --once prints one frame",
			 getenv("TERM") ? getenv("TERM") : "");
	else if (err)
		complain("%s", strerror(-err));
	top_frame_done(&k->frame);
	sink_free(k->sink);
	free(k);
	status = run_status(o, s, status);
	return status ? status : err ? EXIT_ERROR : EXIT_OK;
}
