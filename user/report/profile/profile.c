/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/profile/profile.h"

#include <errno.h>
#include <stdlib.h>

#define BUFFER_BYTES 65536

struct profile {
	struct sink base;
	const struct session *session;
	struct profile_options opt;
	profile_put *put;
	struct buf buf;
	struct profile_model model;
	bool cancelled;
};

static int profile_events(struct sink *base, const struct ebt_event *ev, size_t n)
{
	return profile_model_events(&((struct profile *)base)->model, ev, n);
}

static int profile_forget(struct sink *base, uint32_t process)
{
	return profile_model_forget(&((struct profile *)base)->model, process);
}

static uint64_t elapsed_ns(const struct profile *k)
{
	const struct session *s = k->session;
	uint64_t begin = s->run_begin.known ? s->run_begin.ns : k->model.first_ns;
	uint64_t end = s->run_end.known ? s->run_end.ns : k->model.last_ns;
	return end > begin ? end - begin : 0;
}

/* When the stream began, on the clock that profiles have. */
static struct moment start_of(const struct profile *k)
{
	const struct timebase realtime = {.clock = TIMEBASE_REALTIME};
	const struct session *s = k->session;
	uint64_t shift_ns, begin = s->run_begin.known ? s->run_begin.ns : k->model.first_ns;
	if (!begin || !timebase_shift(&s->timebase, &realtime, &shift_ns))
		return (struct moment){0};
	return moment_at(begin + shift_ns);
}

static int put_report(struct profile *k)
{
	struct profile_sections sections = {0};
	int err = k->opt.marked ? profile_model_mark(&k->model) : 0;
	if (!err)
		err = profile_sections_make(&sections, &k->model);
	struct profile_view view = {.session = k->session,
				    .model = &k->model,
				    .sections = &sections,
				    .opt = k->opt,
				    .elapsed_ns = elapsed_ns(k),
				    .start = start_of(k)};
	if (!err)
		err = k->put(&k->buf, &view);
	profile_sections_done(&sections);
	return err;
}

static int profile_end(struct sink *base)
{
	struct profile *k = (struct profile *)base;
	if (k->cancelled)
		return 0;
	profile_model_end(&k->model);
	int err = put_report(k);
	int written = buf_finish(&k->buf);
	return err ? err : written;
}

static void profile_free(struct sink *base)
{
	struct profile *k = (struct profile *)base;
	profile_model_done(&k->model);
	buf_done(&k->buf);
	free(k);
}

static void profile_cancel(struct sink *base)
{
	((struct profile *)base)->cancelled = true;
}

static const struct sink_ops profile_ops = {
	.events = profile_events,
	.forget = profile_forget,
	.cancel = profile_cancel,
	.end = profile_end,
	.free = profile_free,
};

int profile_new(const struct session *s, int fd, profile_put *put, const struct profile_options *o,
		struct sink **ret)
{
	struct profile *k = calloc(1, sizeof(*k));
	int err = k ? buf_init_behind(&k->buf, fd, BUFFER_BYTES, SINK_BEHIND_BYTES) : -ENOMEM;
	if (!err && (err = profile_model_init(&k->model, s, o->by)))
		buf_done(&k->buf);
	if (err) {
		free(k);
		return err;
	}
	k->base = (struct sink){.ops = &profile_ops, .out = &k->buf};
	k->session = s;
	k->opt = *o;
	k->put = put;
	k->model.time = o->time;
	k->model.min_ns = o->min_ns;
	*ret = &k->base;
	return 0;
}
