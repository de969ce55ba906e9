/* SPDX-License-Identifier: BSD-2-Clause */
/* Spans that are open: their longest block, which comes in pieces, also of spans inside of them. */
#include "report/spans/model/open.h"

#include <stdlib.h>

#include "session/session.h"
#include "tests/tap.h"

struct fixture {
	struct session *session;
	struct open_spans spare;
	uint32_t stack[3];
};

static void begin(struct fixture *x)
{
	*x = (struct fixture){0};
	if (session_new(&x->session))
		abort();
	for (uint32_t i = 0; i < 3; i++) {
		const struct frame f = {.address = 100 + i, .has_address = true};
		uint32_t frame = frames_put(x->session->frames, &f);
		x->stack[i] = stacks_push(x->session->stacks, 0, frame);
		frames_drop(x->session->frames, frame);
	}
}

/* Whether all stacks are given back. */
static bool done(struct fixture *x)
{
	open_spans_done(&x->spare);
	stacks_free_unheld(x->session->stacks);
	uint32_t left = stacks_count(x->session->stacks);
	session_free(x->session);
	return !left;
}

static struct open_span *take(struct fixture *x)
{
	struct open_span *o = open_spans_take(&x->spare);
	if (!o)
		abort();
	o->stacks = x->session->stacks;
	return o;
}

static void add(const struct fixture *x, struct open_span *o, enum span_part_kind kind,
		uint64_t from, uint64_t to, unsigned stack)
{
	struct span_segment s = span_segment_of(kind, 0, from, to);
	s.stack = x->stack[stack];
	if (open_span_add(o, &s))
		abort();
}

static bool has_block(const struct fixture *x, const struct open_span *o, uint64_t ns,
		      unsigned stack)
{
	return o->of.block_ns == ns && o->of.block_stack == (ns ? x->stack[stack] : 0);
}

static void test_pieces(void)
{
	struct fixture x;
	begin(&x);
	struct open_span *o = take(&x);
	add(&x, o, SPAN_RUNNING, 0, 90, 0);
	ok(has_block(&x, o, 0, 0), "what runs has no block");
	add(&x, o, SPAN_BLOCKED, 100, 110, 0);
	add(&x, o, SPAN_FAULTING, 110, 130, 1);
	ok(has_block(&x, o, 30, 1), "a block that comes in pieces is one, with its last stack");
	add(&x, o, SPAN_BLOCKED, 131, 150, 2);
	ok(has_block(&x, o, 30, 1), "one that begins later is another");
	add(&x, o, SPAN_BLOCKED, 150, 162, 2);
	ok(has_block(&x, o, 31, 2), "and the longest, when it is");
	add(&x, o, SPAN_BLOCKED, 200, 231, 0);
	ok(has_block(&x, o, 31, 2), "of two as long the first is");
	if (open_span_replace(o, SPAN_UNKNOWN, 300))
		abort();
	ok(has_block(&x, o, 0, 0) && o->of.parts.count == 1 && o->done_ns == 300,
	   "of what turns out not to be known there is none");
	open_spans_put(&x.spare, o);
	ok(done(&x), "stacks are given back");
}

static void test_inside(void)
{
	struct fixture x;
	begin(&x);
	struct open_span *o = take(&x), *inside = take(&x);
	add(&x, o, SPAN_BLOCKED, 0, 10, 0);
	add(&x, inside, SPAN_RUNNING, 10, 20, 1);
	if (open_span_append(o, inside))
		abort();
	ok(has_block(&x, o, 10, 0) && o->of.segments.count == 2,
	   "a span without a block adds none to the one around it");
	add(&x, o, SPAN_BLOCKED, 10, 15, 0);
	ok(has_block(&x, o, 15, 0), "and its own block goes on");
	add(&x, inside, SPAN_BLOCKED, 20, 50, 1);
	if (open_span_append(o, inside))
		abort();
	ok(has_block(&x, o, 30, 1), "the block of one inside may be the longest");
	add(&x, o, SPAN_BLOCKED, 50, 70, 2);
	ok(has_block(&x, o, 50, 2), "and goes on behind its end");
	open_spans_put(&x.spare, inside);
	open_spans_put(&x.spare, o);
	ok(done(&x), "their stacks are given back, too");
}

static void test_spare(void)
{
	struct fixture x;
	struct open_span *taken[OPEN_SPANS_SPARE + 2];
	begin(&x);
	for (unsigned i = 0; i < OPEN_SPANS_SPARE + 2; i++) {
		taken[i] = take(&x);
		add(&x, taken[i], SPAN_BLOCKED, 0, 10 + i, i % 3);
	}
	for (unsigned i = 0; i < OPEN_SPANS_SPARE + 2; i++)
		open_spans_put(&x.spare, taken[i]);
	is(x.spare.count, OPEN_SPANS_SPARE, "as many spans are kept as is said");
	struct open_span *o = take(&x);
	ok(!o->of.block_ns && !o->of.parts.count && !o->of.segments.count && !o->block_end_ns &&
		   !o->next,
	   "one that is used again has nothing of the one before");
	open_spans_put(&x.spare, o);
	ok(done(&x), "and no stacks are left");
}

int main(void)
{
	test_pieces();
	test_inside();
	test_spare();
	return tap_done();
}
