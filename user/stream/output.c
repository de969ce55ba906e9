/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/output.h"

#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/messages.h"

static struct output *of_sink(struct sink *k)
{
	return (struct output *)k;
}

static int begin(struct output *out)
{
	int err = out->begun ? 0 : out->file.begin(out->file.ctx);
	out->begun |= !err;
	return err;
}

/* 0 or the first error. */
static int end_file(struct output *out)
{
	int err = sink_end(out->format);
	/* The reader of a pipe has stopped reading. */
	if (err == -ECANCELED)
		messages_error(&out->session->messages,
			       "%s took nothing more after the signal: %" PRIu64
			       " bytes that were ready, and what follows, are not written",
			       out->opt.name, sink_given_up(out->format));
	sink_free(out->format);
	out->format = NULL;
	return out->file.end(out->file.ctx, err == -EPIPE ? 0 : err);
}

/* The file has its size: goes on in the next one, which is readable alone, or ends the
 * recording. */
static int change_file(struct output *out)
{
	if (!out->file.next) {
		messages_at(&out->session->messages, LOG_NORMAL,
			    "'%s' has its --max-size: later events are not recorded",
			    out->opt.name);
		return -EPIPE;
	}
	out->failed = true;
	int err = end_file(out);
	if (err)
		return err;
	session_next_output(out->session);
	err = out->file.next(out->file.ctx, &out->format);
	out->failed = err != 0;
	return err;
}

static int output_events(struct sink *k, const struct ebt_event *ev, size_t n)
{
	struct output *out = of_sink(k);
	if (!out->err && !out->begun)
		out->err = begin(out);
	if (out->err)
		return out->err;
	uint64_t before = out->opt.is_live ? now_ns() : 0;
	int err = sink_events(out->format, ev, n);
	if (out->opt.is_live)
		pace_format(&out->pace, now_ns() - before);
	if (!err && out->opt.max_bytes && sink_bytes(out->format) >= out->opt.max_bytes)
		err = out->err = change_file(out);
	return err;
}

static int output_advance(struct sink *k, uint64_t horizon_ns)
{
	const struct output *out = of_sink(k);
	return out->begun && !out->err ? sink_advance(out->format, horizon_ns) : out->err;
}

static int output_tick(struct sink *k, uint64_t now)
{
	const struct output *out = of_sink(k);
	if (!out->begun || out->err)
		return out->err;
	int err = sink_tick(out->format, now);
	k->wants_open |= out->format->wants_open;
	out->format->wants_open = false;
	return err;
}

static int output_forget(struct sink *k, uint32_t process)
{
	const struct output *out = of_sink(k);
	return out->begun && !out->err ? sink_forget(out->format, process) : out->err;
}

/* An existing file keeps its content until there is new content. */
static int output_flush(struct sink *k)
{
	const struct output *out = of_sink(k);
	return out->begun && !out->err ? sink_flush(out->format) : out->err;
}

static bool has_lost(const struct output *out)
{
	struct totals t = session_run_totals(out->session);
	return t.lost_events || t.lost_words;
}

static void report_limit(const struct output *out)
{
	const struct messages *m = &out->session->messages;
	const struct pace *p = &out->pace;
	bool is_capture = out->opt.is_capture;
	const struct pace_times *t = &p->busy;
	double all = (double)pace_sum(t) / 100;
	const char *instead = is_capture ? "record less (-e GLOB)"
					 : "record a capture (-o FILE.ebt) and convert it later";
	switch (pace_limit(p)) {
	case PACE_OUTPUT:
		messages_at(
			m, LOG_NORMAL,
			"the output cannot keep up: %.0f %% of the busy time is spent waiting for "
			"its disk or "
			"reader; %s",
			(double)t->output_ns / all,
			is_capture ? "write to a faster one, or record less (-e GLOB)" : instead);
		break;
	case PACE_CPU:
		messages_at(
			m, LOG_NORMAL,
			"ebtrace cannot keep up: it waits for a CPU in %.0f %% of its busy time; "
			"free a CPU, or run it with a higher priority (nice)",
			(double)t->cpu_wait_ns / all);
		break;
	case PACE_FORMAT:
		messages_at(
			m, LOG_NORMAL,
			"the format cannot keep up: writing %s takes %.0f %% of the busy time; %s",
			out->opt.format, (double)t->format_ns / all, instead);
		break;
	case PACE_READING:
		messages_at(
			m, LOG_NORMAL,
			"the rings are written faster than ebtrace reads them, which takes %.0f %% "
			"of its busy time; larger rings absorb bursts",
			(double)(t->run_ns - t->format_ns) / all);
		break;
	case PACE_NONE:
		break;
	}
}

void output_report_limit(struct output *out)
{
	if (has_lost(out))
		report_limit(out);
}

static bool output_ready(struct sink *k)
{
	struct output *out = of_sink(k);
	bool ready = !out->format || sink_ready(out->format);
	pace_ready(&out->pace, ready);
	if (out->opt.on_terminal && has_lost(out) && pace_limit(&out->pace)) {
		report_limit(out);
		out->opt.on_terminal = false;
	}
	return ready;
}

static int output_end_sink(struct sink *k)
{
	struct output *out = of_sink(k);
	int err = out->format ? begin(out) : 0;
	return err || !out->format ? err : sink_end(out->format);
}

static void output_cancel(struct sink *k)
{
	sink_cancel(of_sink(k)->format);
}

static void output_free(struct sink *k)
{
	sink_free(of_sink(k)->format);
	of_sink(k)->format = NULL;
}

static const struct sink_ops output_ops = {
	.events = output_events,
	.advance = output_advance,
	.tick = output_tick,
	.forget = output_forget,
	.flush = output_flush,
	.ready = output_ready,
	.end = output_end_sink,
	.cancel = output_cancel,
	.free = output_free,
};

void output_init(struct output *out, struct session *s, struct sink *format,
		 const struct output_options *opt, const struct output_file *file)
{
	*out = (struct output){
		/* A file of limited size ends after the event that reaches the limit. */
		.sink = {.ops = &output_ops, .batch_max = opt->max_bytes ? 1 : 0},
		.format = format,
		.session = s,
		.opt = *opt,
		.file = *file,
		.begun = opt->is_begun,
	};
	pace_begin(&out->pace);
}

int output_end(struct output *out)
{
	int err = out->failed ? out->err : 0;
	if (!out->format)
		return err;
	err = begin(out);
	return err ? err : end_file(out);
}
