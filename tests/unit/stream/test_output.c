/* SPDX-License-Identifier: BSD-2-Clause */
/* The last stage: a format and its file, as scripts that remember what was asked of them. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream/output.h"
#include "tests/tap.h"

#define EVENT_BYTES 100

/* What happened, a letter each: B the file begins, e events, E the format ends, N the file is
 * named, x it is not, O another one is opened, f a format is freed. */
static char did[64];
static char told[256];
static int begin_error, end_error, next_error;

static void note(char what)
{
	size_t n = strlen(did);
	if (n + 1 < sizeof(did))
		did[n] = what;
}

struct format {
	struct sink base;
	uint64_t bytes;
};

static int format_events(struct sink *k, const struct ebt_event *ev, size_t n)
{
	(void)ev;
	note('e');
	((struct format *)k)->bytes += n * EVENT_BYTES;
	return 0;
}

static uint64_t format_bytes(struct sink *k)
{
	return ((struct format *)k)->bytes;
}

static int format_end(struct sink *k)
{
	(void)k;
	note('E');
	return end_error;
}

static int format_tick(struct sink *k, uint64_t now)
{
	k->wants_open = now == 1;
	return 0;
}

static void format_free(struct sink *k)
{
	note('f');
	free(k);
}

static const struct sink_ops format_ops = {
	.events = format_events,
	.bytes = format_bytes,
	.tick = format_tick,
	.end = format_end,
	.free = format_free,
};

static struct sink *make_format(void)
{
	struct format *f = calloc(1, sizeof(*f));
	if (!f)
		abort();
	f->base.ops = &format_ops;
	return &f->base;
}

static int file_begin(void *ctx)
{
	(void)ctx;
	note('B');
	return begin_error;
}

static int file_end(void *ctx, int err)
{
	(void)ctx;
	note(err ? 'x' : 'N');
	return err;
}

static int file_next(void *ctx, struct sink **ret)
{
	(void)ctx;
	note('O');
	if (!next_error)
		*ret = make_format();
	return next_error;
}

__attribute__((format(printf, 3, 0))) static void keep_line(void *ctx, enum log_level level,
							    const char *fmt, va_list ap)
{
	(void)ctx;
	(void)level;
	vsnprintf(told, sizeof(told), fmt, ap);
}

static struct session *session;

static void start(struct output *out, struct output_options opt, bool changes)
{
	const struct output_file file = {
		.begin = file_begin, .end = file_end, .next = changes ? file_next : NULL};
	memset(did, 0, sizeof(did));
	*told = 0;
	begin_error = end_error = next_error = 0;
	opt.name = "the file";
	output_init(out, session, make_format(), &opt, &file);
}

static int put(struct output *out, unsigned events)
{
	struct ebt_event ev = {0};
	int err = 0;
	for (unsigned i = 0; i < events && !err; i++)
		err = sink_events(&out->sink, &ev, 1);
	return err;
}

static void test_begin(void)
{
	struct output out;
	start(&out, (struct output_options){0}, false);
	ok(!sink_advance(&out.sink, 1) && !sink_flush(&out.sink) && !strcmp(did, ""),
	   "a file that exists keeps its content until there is an event");
	ok(!put(&out, 2) && !output_end(&out) && !strcmp(did, "BeeEfN"),
	   "it begins with the first one, and has its name at the end");
	start(&out, (struct output_options){0}, false);
	ok(!output_end(&out) && !strcmp(did, "BEfN"), "without an event it begins at the end");
	start(&out, (struct output_options){.is_begun = true}, false);
	ok(!put(&out, 1) && !output_end(&out) && !strcmp(did, "eEfN"),
	   "a pipe is not begun: its reader sees it from the start");
	start(&out, (struct output_options){0}, false);
	begin_error = -EACCES;
	ok(put(&out, 1) == -EACCES && put(&out, 1) == -EACCES && !strcmp(did, "B"),
	   "a file that cannot begin is not tried again");
	sink_free(&out.sink);
	start(&out, (struct output_options){.is_begun = true}, false);
	sink_free(&out.sink);
	ok(!strcmp(did, "f"), "a format that is given up is freed");
}

static void test_limits(void)
{
	struct output out;
	start(&out, (struct output_options){.is_begun = true, .max_bytes = 250}, false);
	is(out.sink.batch_max, 1, "a file of limited size takes an event at a time");
	ok(put(&out, 9) == -EPIPE && put(&out, 1) == -EPIPE && !strcmp(did, "eee"),
	   "it ends with the event that reaches its size");
	ok(strstr(told, "'the file' has its --max-size") != NULL, "which is told");
	ok(!output_end(&out) && !strcmp(did, "eeeEfN"), "and is no error of the output");
	start(&out, (struct output_options){.is_begun = true, .max_bytes = 2 * EVENT_BYTES}, false);
	ok(put(&out, 9) == -EPIPE && !strcmp(did, "ee"),
	   "also with one that makes it exactly that");
	output_end(&out);
	start(&out, (struct output_options){.is_begun = true, .max_bytes = 250}, true);
	ok(!put(&out, 4) && !output_end(&out) && !strcmp(did, "eeeEfNOeEfN"),
	   "with --rotate another one goes on");
	is(*told, 0, "of which nothing is told");
	start(&out, (struct output_options){.is_begun = true, .max_bytes = 250}, true);
	next_error = -ENOSPC;
	ok(put(&out, 4) == -ENOSPC && output_end(&out) == -ENOSPC && !strcmp(did, "eeeEfNO"),
	   "where there is none, its error is that of the output");
}

static void test_errors(void)
{
	struct output out;
	start(&out, (struct output_options){.is_begun = true}, false);
	end_error = -EIO;
	ok(output_end(&out) == -EIO && !strcmp(did, "Efx"),
	   "a format that cannot end leaves a file without its name");
	start(&out, (struct output_options){.is_begun = true}, false);
	end_error = -EPIPE;
	ok(!output_end(&out) && !strcmp(did, "EfN"), "a reader that has enough is no error");
	start(&out, (struct output_options){.is_begun = true}, false);
	end_error = -ECANCELED;
	ok(output_end(&out) == -ECANCELED && strstr(told, "the file took nothing more"),
	   "one that takes nothing more is told of");
}

/* By where events were lost: the line that says so. Its cause is what ebtrace was busy with for the
 * longest time. */
static void test_report_limit(void)
{
	static const struct {
		struct totals lost;
		struct pace_times busy;
		bool is_capture;
		const char *told;
	} rows[] = {
		{{.lost_events = 1}, {.output_ns = 9, .run_ns = 1}, false, "output cannot keep up"},
		{{.lost_words = 1}, {.output_ns = 9, .run_ns = 1}, true, "a faster one"},
		{{.lost_words = 1},
		 {.cpu_wait_ns = 9, .run_ns = 1},
		 false,
		 "waits for a CPU in 90 %"},
		{{.lost_words = 1},
		 {.run_ns = 10, .format_ns = 6},
		 false,
		 "writing ndjson takes 60 % of the busy time; record a capture"},
		{{.lost_events = 1}, {.run_ns = 10, .format_ns = 6}, true, "record less"},
		{{.lost_words = 1}, {.run_ns = 10, .format_ns = 2}, false, "takes 80 %"},
		{{.events = 9, .history_events = 5}, {.run_ns = 10, .format_ns = 6}, false, ""},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct output out;
		const struct output_options opt = {
			.format = "ndjson", .is_begun = true, .is_capture = rows[i].is_capture};
		start(&out, opt, false);
		const struct pace_times *busy = &rows[i].busy;
		out.pace.busy = (struct pace_times){.output_ns = busy->output_ns * 1000000000,
						    .cpu_wait_ns = busy->cpu_wait_ns * 1000000000,
						    .run_ns = busy->run_ns * 1000000000,
						    .format_ns = busy->format_ns * 1000000000};
		session->totals = rows[i].lost;
		output_report_limit(&out);
		bool is_told = *rows[i].told ? strstr(told, rows[i].told) != NULL : !*told;
		ok(is_told, "%s",
		   *rows[i].told ? rows[i].told : "without a loss nothing is told") ||
			(diag("%s", told), 0);
		session->totals = (struct totals){0};
		output_end(&out);
	}
}

static void test_wants_open(void)
{
	struct output out;
	start(&out, (struct output_options){.is_begun = true}, false);
	ok(!sink_tick(&out.sink, 1) && out.sink.wants_open && !out.format->wants_open,
	   "what a format wants the output wants, once");
	out.sink.wants_open = false;
	ok(!sink_tick(&out.sink, 2) && !out.sink.wants_open, "and no longer");
	output_end(&out);
}

int main(void)
{
	if (session_new(&session))
		return 1;
	session->messages.line = keep_line;
	test_begin();
	test_limits();
	test_errors();
	test_report_limit();
	test_wants_open();
	session_free(session);
	return tap_done();
}
