/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/spans/model/open.h"

#include <ebtrace/event.h>
#include <stdlib.h>

static void set_block(struct open_span *o, uint64_t ns, uint32_t stack)
{
	o->of.block_ns = ns;
	stacks_hold(o->stacks, stack);
	stacks_drop(o->stacks, o->of.block_stack);
	o->of.block_stack = stack;
}

/* A block may come in several pieces. */
void open_span_note_block(struct open_span *o, uint64_t begin_ns, uint64_t end_ns, uint32_t stack)
{
	if (!o->stacks)
		return;
	if (begin_ns != o->block_end_ns)
		o->block_begin_ns = begin_ns;
	o->block_end_ns = end_ns;
	if (end_ns - o->block_begin_ns > o->of.block_ns)
		set_block(o, end_ns - o->block_begin_ns, stack);
}

static void drop_block(struct open_span *o)
{
	if (o->stacks)
		stacks_drop(o->stacks, o->of.block_stack);
	o->of.block_ns = o->of.block_stack = 0;
}

struct open_span *open_spans_take(struct open_spans *s)
{
	struct open_span *o = s->spare;
	if (!o)
		return calloc(1, sizeof(*o));
	struct span_parts parts = o->of.parts;
	struct span_segments segments = o->of.segments;
	static const struct open_span none;
	s->spare = o->next;
	s->count--;
	*o = none;
	o->of.parts.at = parts.at;
	o->of.parts.cap = parts.cap;
	o->of.segments.at = segments.at;
	o->of.segments.cap = segments.cap;
	return o;
}

void open_spans_put(struct open_spans *s, struct open_span *o)
{
	if (s->count == OPEN_SPANS_SPARE) {
		open_span_free(o);
		return;
	}
	drop_block(o);
	o->stacks = NULL;
	o->next = s->spare;
	s->spare = o;
	s->count++;
}

void open_spans_done(struct open_spans *s)
{
	for (struct open_span *o; (o = s->spare);) {
		s->spare = o->next;
		open_span_free(o);
	}
}

/* Where the pieces of a walk go. */
struct walk {
	struct span_sums *sums;
	open_span_fn *fn;
	void *ctx;
};

/* What a thread without a CPU did, and which other thread had to do with that. */
static void set_off_cpu(struct span_sums *sums, const struct span_piece *p, struct span_segment *s)
{
	const struct offcpu *of = &p->of->of;
	const char *comm = "";
	if (p->part == BLAME_WAIT) {
		s->kind = SPAN_WAITING;
		s->tid = of->runner;
		comm = of->runner_comm;
		s->is_tracer = p->of->tracer_ran;
	} else {
		s->kind = p->part == BLAME_FAULT     ? SPAN_FAULTING
			  : p->part == BLAME_STOPPED ? SPAN_STOPPED
						     : SPAN_BLOCKED;
		s->tid = of->interrupt ? 0 : of->waker;
		comm = of->interrupt ? "" : of->waker_comm;
		s->is_tracer = !of->interrupt && p->of->tracer_woke;
	}
	s->comm = span_sums_text(sums, comm);
	s->stack = p->of->stack;
	if (s->kind == SPAN_WAITING)
		s->detail = s->comm;
	else if (s->kind == SPAN_BLOCKED)
		s->detail = span_block(p->part, of->syscall);
}

static int on_piece(void *ctx, const struct span_piece *p)
{
	const struct walk *w = ctx;
	struct span_segment s = span_segment_of(
		p->part == BLAME_UNKNOWN ? SPAN_UNKNOWN : SPAN_RUNNING, 0, p->begin_ns, p->end_ns);
	if (p->is_pause) {
		s.kind = SPAN_COLLECTED;
		s.detail = p->row;
	} else if (p->of) {
		set_off_cpu(w->sums, p, &s);
	}
	return w->fn(w->ctx, &s);
}

int open_span_walk(struct span_times *t, struct span_sums *sums, const struct span_thread *who,
		   uint64_t known_from, uint64_t from, uint64_t to, open_span_fn *fn, void *ctx)
{
	struct walk w = {sums, fn, ctx};
	return span_times_walk(t, who, from, to, known_from, on_piece, &w);
}

static int add(void *ctx, const struct span_segment *s)
{
	return open_span_add(ctx, s);
}

int open_span_append(struct open_span *o, const struct open_span *more)
{
	int err = span_parts_merge(&o->of.parts, &more->of.parts);
	if (more->block_end_ns) {
		o->block_begin_ns = more->block_begin_ns;
		o->block_end_ns = more->block_end_ns;
	}
	if (more->of.block_ns > o->of.block_ns)
		set_block(o, more->of.block_ns, more->of.block_stack);
	return err ? err : span_segments_append(&o->of.segments, &more->of.segments);
}

int open_span_advance(struct open_span *o, struct span_times *t, struct span_sums *sums,
		      uint64_t known_from, uint64_t to_ns)
{
	if (to_ns <= o->done_ns)
		return 0;
	int err = open_span_walk(t, sums, &o->who, known_from, o->done_ns, to_ns, add, o);
	o->done_ns = to_ns;
	return err;
}

int open_span_replace(struct open_span *o, enum span_part_kind kind, uint64_t end_ns)
{
	span_parts_done(&o->of.parts);
	span_segments_done(&o->of.segments);
	drop_block(o);
	o->done_ns = end_ns;
	return open_span_add(
		o,
		&(struct span_segment){.begin_ns = o->of.begin_ns, .end_ns = end_ns, .kind = kind});
}

void open_span_free(struct open_span *o)
{
	if (!o)
		return;
	drop_block(o);
	span_parts_done(&o->of.parts);
	span_segments_done(&o->of.segments);
	free(o);
}
