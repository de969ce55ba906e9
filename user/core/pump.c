/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/pump.h"

#include "base/clock.h"
#include "core/join.h"
#include "core/loss.h"
#include "core/merge.h"
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define PUMP_STEP_EVENTS  65536
#define PUMP_CLOCK_EVENTS 256 /* events between looks at the clock */
#define PUMP_POLL_NS	  1000000

struct pump {
	struct session *session;
	struct merge *merge;
	struct join *join;
	struct filter *filter;
	struct source **sources;
	size_t source_count;
	struct sink **sinks;
	size_t sink_count;
	bool drained;
};

static void count(struct session_totals *t, const struct ebt_event *ev)
{
	if (ev->kind == EBT_LOST)
		loss_count(t, ev);
	else if (ev->kind == EBT_DAMAGE)
		t->damaged++;
	else if (ev->kind != EBT_PROCESS)
		t->events++;
	t->late += !!(ev->flags & EBT_F_LATE);
	if (!t->first_ns)
		t->first_ns = ev->ts;
	t->last_ns = ev->ts;
}

static int deliver(void *ctx, struct ebt_event *ev)
{
	struct pump *p = ctx;
	int err = 0;
	count(&p->session->totals, ev);
	for (size_t i = 0; i < p->sink_count && !err; i++)
		err = sink_event(p->sinks[i], ev);
	session_drop_blob(p->session, ev);
	return err;
}

int pump_new(struct session *s, struct pump **ret)
{
	struct pump *p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->session = s;
	int err = merge_new(&p->merge);
	if (!err)
		err = filter_new(s, (struct outlet){deliver, p}, &p->filter);
	if (!err)
		err = join_new(s, (struct outlet){filter_push, p->filter}, &p->join);
	if (err) {
		pump_free(p);
		return err;
	}
	*ret = p;
	return 0;
}

void pump_free(struct pump *p)
{
	if (!p)
		return;
	join_free(p->join);
	filter_free(p->filter);
	merge_free(p->merge);
	free(p->sources);
	free(p->sinks);
	free(p);
}

int pump_add_source(struct pump *p, struct source *s)
{
	struct source **more = realloc(p->sources, (p->source_count + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	p->sources = more;
	int err = merge_add(p->merge, s);
	if (!err)
		more[p->source_count++] = s;
	return err;
}

int pump_add_sink(struct pump *p, struct sink *k)
{
	struct sink **more = realloc(p->sinks, (p->sink_count + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	p->sinks = more;
	more[p->sink_count++] = k;
	return 0;
}

struct filter *pump_filter(struct pump *p)
{
	return p->filter;
}

static int advance(struct pump *p, uint64_t now)
{
	int err = filter_advance(p->filter, now);
	for (size_t i = 0; i < p->sink_count && !err; i++)
		err = sink_advance(p->sinks[i], now);
	return err;
}

static bool sinks_ready(const struct pump *p)
{
	for (size_t i = 0; i < p->sink_count; i++)
		if (!sink_ready(p->sinks[i]))
			return false;
	return true;
}

int pump_step(struct pump *p)
{
	uint64_t polled = now_ns();
	p->drained = false;
	int err = merge_poll(p->merge);
	for (int moved = 0; !err; moved++) {
		if (moved == PUMP_STEP_EVENTS)
			return moved;
		/* A slow sink must not keep the rings waiting until they wrap. */
		if (moved % PUMP_CLOCK_EVENTS == 0) {
			if (!sinks_ready(p))
				return moved ? moved : -EAGAIN;
			if (now_ns() - polled > PUMP_POLL_NS) {
				err = merge_poll(p->merge);
				if (err)
					return err;
				polled = now_ns();
			}
		}
		struct ebt_event ev;
		int got = merge_next(p->merge, &ev);
		if (got == 1) {
			err = join_push(p->join, &ev);
			continue;
		}
		if (got && got != -EAGAIN)
			return got;
		p->drained = true;
		err = join_flush(p->join);
		if (!err)
			err = advance(p, got ? merge_horizon(p->merge) : UINT64_MAX);
		if (!err)
			return moved ? moved : got;
	}
	return err;
}

bool pump_drained(const struct pump *p)
{
	return p->drained;
}

int pump_stop(struct pump *p)
{
	int first = 0;
	for (size_t i = 0; i < p->source_count; i++) {
		int err = source_stop(p->sources[i]);
		if (err && !first)
			first = err;
	}
	return first;
}

int pump_source_error(const struct pump *p)
{
	return merge_error(p->merge);
}
