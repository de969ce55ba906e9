/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/spans/spans.h"

#include <errno.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "report/interval.h"
#include "report/spans/model/spans.h"
#include "report/spans/show.h"
#include "report/text.h"

#define BUFFER_BYTES 65536

struct spans_report {
	struct sink base;
	const struct session *session;
	struct spans_options opt;
	struct buf buf;
	struct span_model *model;
	struct report_interval interval;
	uint64_t ended;	  /* spans, up to the last interval */
	uint64_t last_ns; /* of the last event */
	bool cancelled;
};

static int report_forget(struct sink *base, uint32_t process)
{
	return span_model_forget(((struct spans_report *)base)->model, process);
}

static int report_flush(struct sink *base)
{
	return buf_flush(&((struct spans_report *)base)->buf);
}

static bool report_ready(struct sink *base)
{
	return buf_ready(&((struct spans_report *)base)->buf);
}

static void report_cancel(struct sink *base)
{
	((struct spans_report *)base)->cancelled = true;
}

/* The names that no pattern matches, or what could make some. */
static void report_none(const struct spans_report *k, const struct span_result *r)
{
	const struct messages *m = &k->session->messages;
	struct buf names;
	if (k->opt.fibers && !r->choice->seen_count) {
		messages_error(
			m,
			"there were no fibers: their events are those of Eio, in the rings of its "
			"programs");
		return;
	}
	if (!k->opt.glob_count || !r->choice->seen_count) {
		messages_error(m,
			       "there were no spans%s; -U 'provider:begin~provider:end' makes some "
			       "of markers, and a pattern, as 'minor', selects phases",
			       k->opt.glob_count ? " or phases of that name" : "");
		return;
	}
	if (buf_init(&names, -1, 256))
		return;
	for (uint32_t i = 0; i < r->choice->seen_count; i++)
		report_print(&names, "%s%s", i ? ", " : "",
			     strings_text(r->sums->texts, r->choice->seen[i]));
	if (r->choice->seen_more)
		buf_puts(&names, ", ...");
	buf_put(&names, "", 1);
	utf8_disarm(names.data);
	messages_error(m, "no %s has a name that matches; the names were: %s",
		       k->opt.fibers ? "fiber" : "span", names.data);
	buf_done(&names);
}

/* How many spans have ended since the last line, and what hangs. */
static void put_line(struct spans_report *k, const struct spans_view *v)
{
	uint64_t ended = 0;
	for (uint32_t i = 0; i < v->result->names; i++)
		ended += v->result->name[i]->lengths.count;
	/* A name may have been selected since. */
	spans_put_interval(&k->buf, v, ended > k->ended ? ended - k->ended : 0, k->opt.top);
	k->ended = ended;
}

/* The report of the run, or so far. hung: of a run with intervals what hung at its end. */
static int put_report(struct spans_report *k, const struct span_hungs *hung, uint64_t at_ns,
		      bool is_end)
{
	static int (*const put[])(struct buf * b, const struct spans_view *v) = {
		[SPANS_TEXT] = spans_text,
		[SPANS_JSON] = spans_json,
		[SPANS_FOLDED] = spans_folded,
		[SPANS_SVG] = spans_svg,
	};
	struct span_result result;
	struct span_hungs now = {0};
	int err = span_model_result(k->model, &result);
	if (err)
		return err;
	if (!is_end) {
		result.end_ns = at_ns;
		err = span_hungs_find(k->model, at_ns, k->opt.interval_ns, &now);
		hung = &now;
	}
	const struct spans_view view = {.session = k->session,
					.result = &result,
					.fibers = k->opt.fibers,
					.is_file = k->opt.is_file,
					.at = moment_at(at_ns),
					.hung = hung};
	bool none = !result.names;
	if (k->opt.ret_none && is_end)
		*k->opt.ret_none = none;
	if (!err && !is_end && k->opt.form == SPANS_TEXT)
		put_line(k, &view);
	else if (!err && (k->opt.form == SPANS_JSON || !none))
		err = put[k->opt.form](&k->buf, &view);
	if (!err && none && is_end)
		report_none(k, &result);
	span_result_done(&result);
	span_hungs_done(&now);
	return err;
}

/* ---- intervals ---- */

static int put_interval(void *ctx, uint64_t begin_ns, uint64_t end_ns)
{
	(void)begin_ns;
	return put_report(ctx, NULL, end_ns, false);
}

static int pass_intervals(struct spans_report *k, uint64_t first_ns, uint64_t now_ns)
{
	return report_interval_pass(&k->interval, k->session, first_ns, now_ns, put_interval, k);
}

static int report_events(struct sink *base, const struct ebt_event *ev, size_t n)
{
	struct spans_report *k = (struct spans_report *)base;
	int err = 0;
	if (!k->opt.interval_ns)
		return span_model_events(k->model, ev, n);
	for (size_t i = 0; i < n && !err; i++) {
		if (report_interval_ends(&k->interval, ev[i].ts))
			err = pass_intervals(k, ev[i].ts, ev[i].ts);
		if (!err)
			err = span_model_events(k->model, &ev[i], 1);
		k->last_ns = ev[i].ts;
	}
	return err;
}

static int report_advance(struct sink *base, uint64_t now_ns)
{
	struct spans_report *k = (struct spans_report *)base;
	bool passes = report_interval_is_live(&k->interval, k->session, now_ns) &&
		      report_interval_ends(&k->interval, now_ns);
	return passes ? pass_intervals(k, now_ns, now_ns) : 0;
}

/* ---- the end ---- */

static int end_run(struct spans_report *k, const struct moment *end)
{
	struct span_hungs hung = {0};
	uint64_t at_ns = end->known ? end->ns : k->last_ns;
	int err = 0;
	/* The last line may end with the run. */
	if (k->opt.interval_ns && k->session->run_begin.known && end->known)
		err = pass_intervals(k, at_ns, at_ns);
	if (!err && k->opt.interval_ns)
		err = span_hungs_find(k->model, at_ns, k->opt.interval_ns, &hung);
	if (!err)
		err = span_model_end(k->model, end->known ? end->ns : 0);
	if (!err)
		err = put_report(k, k->opt.interval_ns ? &hung : NULL, at_ns, true);
	span_hungs_done(&hung);
	return err;
}

static int report_end(struct sink *base)
{
	struct spans_report *k = (struct spans_report *)base;
	if (k->cancelled)
		return 0;
	int err = end_run(k, &k->session->run_end);
	int written = buf_finish(&k->buf);
	return err ? err : written;
}

static void report_free(struct sink *base)
{
	struct spans_report *k = (struct spans_report *)base;
	span_model_free(k->model);
	buf_done(&k->buf);
	free(k);
}

static const struct sink_ops ops = {
	.events = report_events,
	.advance = report_advance,
	.forget = report_forget,
	.flush = report_flush,
	.ready = report_ready,
	.cancel = report_cancel,
	.end = report_end,
	.free = report_free,
};

int spans_report_new(const struct session *s, int fd, const struct spans_options *o,
		     struct sink **ret)
{
	struct spans_report *k = calloc(1, sizeof(*k));
	const struct span_model_options mo = {o->globs, o->glob_count, o->by, o->fibers, o->top};
	if (!k)
		return -ENOMEM;
	int err = span_model_new(s, &mo, &k->model);
	if (!err)
		err = buf_init_behind(&k->buf, fd, BUFFER_BYTES, SINK_BEHIND_BYTES);
	if (err) {
		span_model_free(k->model);
		free(k);
		return err;
	}
	k->base.ops = &ops;
	k->base.out = &k->buf;
	k->session = s;
	k->opt = *o;
	k->interval.step_ns = o->interval_ns;
	*ret = &k->base;
	return 0;
}
