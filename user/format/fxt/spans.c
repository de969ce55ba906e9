/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/fxt/spans.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define NONE UINT64_MAX /* number of a phase for which there was no memory */

/*
 * The phases of a track that have begun and are not written, span[at..count), by their begin. The
 * first of them is open: one that has ended is written at once, with those behind it.
 */
struct fxt_held {
	struct fxt_held *older, *newer;
	struct track *track;
	struct fxt_span *span;
	uint32_t at, count, cap;
	uint64_t base; /* the number of span[0] among the track's phases */
	uint32_t tid;  /* of the last phase */
	uint16_t cpu;
	bool listed;
};

void fxt_spans_init(struct fxt_spans *f, fxt_spans_write_fn *write, void *ctx,
		    struct stacks *stacks)
{
	*f = (struct fxt_spans){.write = write, .ctx = ctx, .stacks = stacks};
}

static void unlist(struct fxt_spans *f, struct fxt_held *h)
{
	if (!h->listed)
		return;
	*(h->older ? &h->older->newer : &f->first) = h->newer;
	*(h->newer ? &h->newer->older : &f->last) = h->older;
	h->listed = false;
}

/* Nearly always the last place: a phase is held when it begins, or when the one around it is
 * not. */
static void list(struct fxt_spans *f, struct fxt_held *h)
{
	uint64_t begin_ns = h->span[h->at].begin_ns;
	struct fxt_held *older = f->last;
	while (older && older->span[older->at].begin_ns > begin_ns)
		older = older->older;
	h->older = older;
	h->newer = older ? older->newer : f->first;
	*(h->older ? &h->older->newer : &f->first) = h;
	*(h->newer ? &h->newer->older : &f->last) = h;
	h->listed = true;
}

static struct fxt_held *held_of(struct track *t)
{
	struct fxt_held *h = t->user;
	if (h)
		return h;
	h = calloc(1, sizeof(*h));
	if (!h)
		return NULL;
	h->track = t;
	h->cpu = EBT_NO_CPU;
	t->user = h;
	return h;
}

static void free_counts(struct fxt_span *s)
{
	free((void *)s->counts);
	s->counts = NULL;
}

static int write_first(struct fxt_spans *f, struct fxt_held *h)
{
	struct fxt_span *s = &h->span[h->at++];
	int err = f->write(f->ctx, h->track, s->ended ? FXT_DURATION_COMPLETE : FXT_DURATION_BEGIN,
			   s);
	stacks_drop(f->stacks, s->stack);
	free_counts(s);
	f->held--;
	return err;
}

/* Writes the first, and then those that have ended up to one that is open. */
static int write_on(struct fxt_spans *f, struct fxt_held *h)
{
	unlist(f, h);
	int err = write_first(f, h);
	while (!err && h->at < h->count && h->span[h->at].ended)
		err = write_first(f, h);
	if (h->at < h->count) {
		list(f, h);
		return err;
	}
	h->base += h->count;
	h->at = h->count = 0;
	return err;
}

/* write_on(), and frees the memory of a track that holds no phase any more: its open phase may last
 * much longer. */
static int write_oldest(struct fxt_spans *f, struct fxt_held *h)
{
	int err = write_on(f, h);
	if (h->count)
		return err;
	free(h->span);
	h->span = NULL;
	h->cap = 0;
	return err;
}

static int make_room(struct fxt_spans *f, struct fxt_held *h)
{
	int err = h->count - h->at >= FXT_SPANS_HELD ? write_on(f, h) : 0;
	if (err || h->count < h->cap)
		return err;
	if (h->at && h->at >= h->cap / 2) {
		memmove(h->span, h->span + h->at, (h->count - h->at) * sizeof(*h->span));
		h->base += h->at;
		h->count -= h->at;
		h->at = 0;
	}
	return array_reserve(h->span, h->cap, h->count) ? 0 : -ENOMEM;
}

int fxt_spans_begin(struct fxt_spans *f, struct track *t, struct track_span *s,
		    const struct ebt_event *ev)
{
	struct fxt_held *h = held_of(t);
	s->user = NONE;
	if (!h)
		return -ENOMEM;
	int err = make_room(f, h);
	if (err)
		return err;
	s->user = h->base + h->count;
	h->span[h->count++] = (struct fxt_span){
		.begin_ns = s->begin_ns,
		.id = s->id,
		.tid = ev->tid != h->tid ? ev->tid : 0,
		.cpu = ev->cpu != h->cpu ? ev->cpu : EBT_NO_CPU,
		.late = ev->flags & EBT_F_LATE,
		.stack = ev->stack,
	};
	stacks_hold(f->stacks, ev->stack);
	h->tid = ev->tid ? ev->tid : h->tid;
	h->cpu = ev->cpu != EBT_NO_CPU ? ev->cpu : h->cpu;
	if (!h->listed)
		list(f, h);
	return ++f->held > FXT_SPANS_TOTAL ? write_oldest(f, f->first) : 0;
}

/* A copy for a phase that is not written yet. 0 or -ENOMEM. */
static int keep_counts(struct fxt_span *s, const struct pause_counts *counts)
{
	struct pause_counts *kept = malloc(sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	*kept = *counts;
	s->counts = kept;
	return 0;
}

int fxt_spans_end(struct fxt_spans *f, struct track *t, const struct track_span *s, uint64_t end_ns,
		  enum track_end how, const struct pause_counts *counts)
{
	struct fxt_held *h = t->user;
	if (!h || s->user == NONE)
		return -ENOMEM;		 /* as its begin returned */
	if (s->user < h->base + h->at) { /* it is written, and so is all that was inside */
		struct fxt_span written = {
			.id = s->id, .end_ns = end_ns, .how = (uint8_t)how, .counts = counts};
		return f->write(f->ctx, t, FXT_DURATION_END, &written);
	}
	uint32_t i = (uint32_t)(s->user - h->base);
	h->span[i].end_ns = end_ns;
	h->span[i].how = (uint8_t)how;
	h->span[i].ended = true;
	int err = counts ? keep_counts(&h->span[i], counts) : 0;
	if (err)
		return err;
	return i == h->at ? write_on(f, h) : 0;
}

void fxt_spans_forget(struct fxt_spans *f, struct track *t)
{
	struct fxt_held *h = t->user;
	if (!h)
		return;
	unlist(f, h);
	f->held -= h->count - h->at;
	for (; h->at < h->count; h->at++) {
		stacks_drop(f->stacks, h->span[h->at].stack);
		free_counts(&h->span[h->at]);
	}
	free(h->span);
	free(h);
	t->user = NULL;
}

int fxt_spans_advance(struct fxt_spans *f, uint64_t now_ns)
{
	int err = 0;
	for (struct fxt_held *h; !err && (h = f->first);) {
		uint64_t begin_ns = h->span[h->at].begin_ns;
		if (now_ns < begin_ns || now_ns - begin_ns <= FXT_SPANS_NS)
			break;
		err = write_oldest(f, h);
	}
	return err;
}
