/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/mem.h"

#include <errno.h>
#include <stdlib.h>

#define MEM_BUFFER_BYTES 65536

struct mem {
	struct sink base;
	struct mem_report_options opt;
	mem_put *put;
	struct buf buf;
	struct mem_model model;
	struct display_names *names;
	bool cancelled;
};

static int mem_events(struct sink *base, const struct ebt_event *ev, size_t n)
{
	return mem_model_events(&((struct mem *)base)->model, ev, n);
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
	struct mem_view view = {k->model.session, &k->model, k->names, k->opt};
	int err = mem_model_end(&k->model);
	const struct mem_filter *f = k->opt.model.filter;
	bool needs_ends = k->opt.model.needs & MEM_ENDS || (f && f->by_lifetime);
	bool refuses = !err && k->model.is_periodic && needs_ends;
	if (refuses && k->opt.refused)
		*k->opt.refused = true;
	if (!err && !refuses)
		err = k->put(&k->buf, &view);
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
	*ret = &k->base;
	return 0;
}
