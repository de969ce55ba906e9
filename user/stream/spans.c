/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/spans.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "stream/tracks.h"

struct waiting {
	struct ebt_event ev;
	bool undecided; /* a begin that may yet turn out to be short */
	bool dropped;
};

struct spans {
	struct event_handler out;
	uint64_t min_ns;
	/* events first..next-1, running counts; in queue[count % SPANS_WAITING] */
	struct waiting *queue;
	uint64_t first, next;
	struct tracks *tracks; /* `user` of an open span: the count of its begin */
	bool is_short;	       /* the event at hand ends a span that is */
	struct ebt_event batch[BATCH_EVENTS];
	size_t count;
};

static struct waiting *at(struct spans *s, uint64_t count)
{
	return &s->queue[count % SPANS_WAITING];
}

/* Emits the decided events. */
static int emit(struct spans *s)
{
	size_t n = s->count;
	s->count = 0;
	return n ? event_handler_call(&s->out, s->batch, n) : 0;
}

/* Emits the waiting events up to the first begin that is younger than the limit. */
static int pass(struct spans *s, uint64_t now_ns)
{
	while (s->first != s->next) {
		struct waiting *w = at(s, s->first);
		if (w->undecided && now_ns < w->ev.ts + s->min_ns)
			return 0;
		s->first++;
		if (w->dropped)
			continue;
		s->batch[s->count++] = w->ev;
		int err = s->count == BATCH_EVENTS ? emit(s) : 0;
		if (err)
			return err;
	}
	return 0;
}

/* Its event is the one that was added last. */
static int on_begin(void *ctx, struct track *t, struct track_span *span, unsigned depth,
		    const struct ebt_event *ev)
{
	struct spans *s = ctx;
	(void)t, (void)depth, (void)ev;
	span->user = s->next - 1;
	at(s, span->user)->undecided = true;
	return 0;
}

static int on_end(void *ctx, struct track *t, const struct track_span *span, unsigned depth,
		  uint64_t end_ns, enum track_end how)
{
	struct spans *s = ctx;
	(void)t, (void)depth;
	if (span->user < s->first) /* it has passed */
		return 0;
	struct waiting *w = at(s, span->user);
	w->undecided = false;
	w->dropped = how == TRACK_ENDED && end_ns - span->begin_ns < s->min_ns;
	s->is_short = w->dropped;
	return 0;
}

static const struct tracks_visitor visitor = {.begin = on_begin, .end = on_end};

int spans_new(const struct processes *ps, struct event_handler out, uint64_t min_ns,
	      struct spans **ret)
{
	struct spans *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->queue = calloc(SPANS_WAITING, sizeof(*s->queue));
	if (!s->queue || tracks_new(ps, &visitor, s, &s->tracks)) {
		spans_free(s);
		return -ENOMEM;
	}
	tracks_by_thread(s->tracks);
	s->out = out;
	s->min_ns = min_ns;
	*ret = s;
	return 0;
}

void spans_free(struct spans *s)
{
	if (!s)
		return;
	tracks_free(s->tracks);
	free(s->queue);
	free(s);
}

static int push(struct spans *s, const struct ebt_event *ev)
{
	int err = pass(s, ev->ts);
	if (!err && s->next - s->first == SPANS_WAITING) {
		at(s, s->first)->undecided = false;
		err = pass(s, ev->ts);
	}
	if (err)
		return err;
	*at(s, s->next++) = (struct waiting){.ev = *ev};
	s->is_short = false;
	err = tracks_push(s->tracks, ev);
	if (s->is_short)
		at(s, s->next - 1)->dropped = true;
	return err ? err : pass(s, ev->ts);
}

int spans_events(struct spans *s, const struct ebt_event *ev, size_t n)
{
	int err = 0;
	for (size_t i = 0; i < n && !err; i++)
		err = push(s, &ev[i]);
	return err ? err : emit(s);
}

int spans_advance(struct spans *s, uint64_t now_ns)
{
	int err = pass(s, now_ns);
	return err ? err : emit(s);
}

void spans_forget(struct spans *s, uint32_t process)
{
	tracks_forget(s->tracks, process, 0);
}
