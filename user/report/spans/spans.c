/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/spans/spans.h"

#include <errno.h>
#include <stdlib.h>

#include "base/utf8.h"
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
	bool cancelled;
};

static int report_events(struct sink *base, const struct ebt_event *ev, size_t n)
{
	return span_model_events(((struct spans_report *)base)->model, ev, n);
}

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

static int put_report(struct spans_report *k)
{
	static int (*const put[])(struct buf * b, const struct spans_view *v) = {
		[SPANS_TEXT] = spans_text,
		[SPANS_JSON] = spans_json,
		[SPANS_FOLDED] = spans_folded,
		[SPANS_SVG] = spans_svg,
	};
	struct span_result result;
	int err = span_model_result(k->model, &result);
	if (err)
		return err;
	const struct spans_view view = {k->session, &result, k->opt.fibers, k->opt.is_file};
	bool none = !result.names;
	if (k->opt.ret_none)
		*k->opt.ret_none = none;
	if (k->opt.form == SPANS_JSON || !none)
		err = put[k->opt.form](&k->buf, &view);
	if (!err && none)
		report_none(k, &result);
	span_result_done(&result);
	return err;
}

static int report_end(struct sink *base)
{
	struct spans_report *k = (struct spans_report *)base;
	const struct moment *end = &k->session->run_end;
	if (k->cancelled)
		return 0;
	int err = span_model_end(k->model, end->known ? end->ns : 0);
	if (!err)
		err = put_report(k);
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
	const struct span_model_options mo = {o->globs, o->glob_count, o->by_argument, o->fibers,
					      o->top};
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
	*ret = &k->base;
	return 0;
}
