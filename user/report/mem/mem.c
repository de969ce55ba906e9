/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/mem.h"

#include <errno.h>
#include <stdlib.h>

#include "report/interval.h"

#define MEM_BUFFER_BYTES 65536

struct mem {
	struct sink base;
	struct mem_report_options opt;
	mem_put *put;
	struct buf buf;
	struct mem_model model;
	struct display_names *names;
	struct report_interval interval;
	bool cancelled;
};

/* Whether the report needs to know when objects end, which samples of a period do not. */
static bool refuses(const struct mem *k)
{
	const struct mem_filter *f = k->opt.model.filter;
	bool needs_ends = k->opt.model.needs & MEM_ENDS || (f && f->by_lifetime);
	return k->model.is_periodic && needs_ends;
}

/* now: of one of several. 0 or -ENOMEM. */
static int put_report(struct mem *k, struct moment now)
{
	int err = mem_model_settle(&k->model, now);
	struct mem_view view = {k->model.session, &k->model, k->names, k->opt, now};
	if (err || refuses(k))
		return err;
	const struct moment *run_end = &k->model.session->run_end;
	if (k->opt.interval_ns && !now.known)
		view.at = run_end->known ? *run_end : k->model.end;
	return k->put(&k->buf, &view);
}

static int put_interval(void *ctx, uint64_t begin_ns, uint64_t end_ns)
{
	(void)begin_ns;
	return put_report(ctx, moment_at(end_ns));
}

static int pass_intervals(struct mem *k, uint64_t now_ns)
{
	const struct session *s = k->model.session;
	uint64_t first = s->start.known		? s->start.ns
			 : k->model.begin.known ? k->model.begin.ns
						: now_ns;
	return report_interval_pass(&k->interval, s, first, now_ns, put_interval, k);
}

static int mem_events(struct sink *base, const struct ebt_event *ev, size_t n)
{
	struct mem *k = (struct mem *)base;
	int err = 0;
	while (k->interval.step_ns && n && !err) {
		size_t before = 0;
		while (before < n && !report_interval_ends(&k->interval, ev[before].ts))
			before++;
		err = mem_model_events(&k->model, ev, before);
		ev += before;
		n -= before;
		if (n && !err)
			err = pass_intervals(k, ev->ts);
	}
	return err ? err : mem_model_events(&k->model, ev, n);
}

static int mem_advance(struct sink *base, uint64_t now_ns)
{
	struct mem *k = (struct mem *)base;
	bool passes = report_interval_is_live(&k->interval, k->model.session, now_ns);
	return passes && report_interval_ends(&k->interval, now_ns) ? pass_intervals(k, now_ns) : 0;
}

static int mem_forget(struct sink *base, uint32_t process)
{
	return mem_model_forget(&((struct mem *)base)->model, process);
}

static int mem_flush(struct sink *base)
{
	return buf_flush(&((struct mem *)base)->buf);
}

static void mem_cancel(struct sink *base)
{
	((struct mem *)base)->cancelled = true;
}

static int mem_end(struct sink *base)
{
	struct mem *k = (struct mem *)base;
	if (k->cancelled)
		return 0;
	const struct moment *end = &k->model.session->run_end;
	int err = 0;
	if (k->interval.step_ns && k->model.session->run_begin.known && end->known)
		err = pass_intervals(k, end->ns);
	if (!err)
		err = put_report(k, (struct moment){0});
	if (!err && refuses(k) && k->opt.refused)
		*k->opt.refused = true;
	int written = buf_finish(&k->buf);
	return err ? err : written;
}

static void mem_free(struct sink *base)
{
	struct mem *k = (struct mem *)base;
	mem_model_done(&k->model);
	display_names_free(k->names);
	buf_done(&k->buf);
	free(k);
}

static const struct sink_ops mem_ops = {
	.events = mem_events,
	.advance = mem_advance,
	.forget = mem_forget,
	.flush = mem_flush,
	.cancel = mem_cancel,
	.end = mem_end,
	.free = mem_free,
};

int mem_new(const struct session *s, int fd, mem_put *put, const struct mem_report_options *o,
	    struct sink **ret)
{
	struct mem *k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	int err = mem_model_init(&k->model, s, &o->model);
	if (!err)
		err = display_names_new(s->strings, &k->names);
	if (!err)
		err = buf_init_behind(&k->buf, fd, MEM_BUFFER_BYTES, SINK_BEHIND_BYTES);
	if (err) {
		mem_model_done(&k->model);
		display_names_free(k->names);
		free(k);
		return err;
	}
	k->base.ops = &mem_ops;
	k->base.out = &k->buf;
	k->put = put;
	k->opt = *o;
	k->interval.step_ns = mem_model_goes_on(&k->model) ? o->interval_ns : 0;
	*ret = &k->base;
	return 0;
}
