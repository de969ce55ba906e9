/* SPDX-License-Identifier: BSD-2-Clause */
/* join: what a ring and BPF saw of the same events, as tables; losses by ordinals. */
#include "core/join.h"
#include "tests/tap.h"

#include <errno.h>

#define MAX 64
#define R   EBT_F_RING
#define B   EBT_F_BPF

static struct session *session;
static struct join *join;
static struct ebt_event out[MAX];
static int outs;

static int take(void *ctx, struct ebt_event *ev)
{
	(void)ctx;
	if (outs < MAX)
		out[outs++] = *ev;
	/* as the pump does */
	if (ev->kind == EBT_LOST && ev->arg[0] != EBT_LOST_UNCOUNTED)
		session->totals.lost_events += ev->arg[0];
	session_drop_blob(session, ev);
	return 0;
}

static void begin(void)
{
	outs = 0;
	if (session_new(&session) || join_new(session, (struct outlet){take, NULL}, &join))
		abort();
}
static void end(void)
{
	join_free(join);
	session_free(session);
}

static struct ebt_event event(uint16_t flags, uint32_t seq, uint64_t ts)
{
	struct ebt_event ev = {.ts = ts,
			       .pos = 2ull * seq,
			       .pid = 9,
			       .domain = 1,
			       .kind = EBT_BEGIN,
			       .id = 11,
			       .size = flags & R ? 2 : 0,
			       .cpu = EBT_NO_CPU,
			       .seq = seq,
			       .flags = flags | EBT_F_SEQ};
	if (flags & B) {
		ev.tid = 1234;
		ev.cpu = 1;
	}
	return ev;
}
static void push(uint16_t flags, uint32_t seq, uint64_t ts)
{
	struct ebt_event ev = event(flags, seq, ts);
	join_push(join, &ev);
}

static void test_pairs(void)
{
	for (int order = 0; order < 2; order++) {
		begin();
		push(order ? B : R, 0, 10);
		push(order ? R : B, 0, 10);
		join_flush(join);
		is(outs, 1, order ? "BPF first: one event" : "ring first: one event");
		ok(out[0].tid == 1234 && out[0].cpu == 1 && out[0].size == 2 &&
			   (out[0].flags & (R | B)) == (R | B),
		   "with the thread and CPU of the one and the record of the other");
		end();
	}
	begin();
	push(R, 0, 10);
	is(outs, 0, "the first of a pair is held");
	join_flush(join);
	is(outs, 1, "and let go when its partner can no longer come");
	end();
}

static void test_one_sided(void)
{
	begin();
	for (uint32_t i = 0; i < 5; i++)
		push(i % 2 ? R : B, i, 10 + i);
	join_flush(join);
	is(outs, 5, "events that one side alone has seen all come");
	is(session->totals.lost_events, 0, "and none of them is a loss");
	end();
}

static void test_hole(void)
{
	begin();
	push(R, 0, 10);
	push(R, 5, 20);
	join_flush(join);
	is(outs, 3, "a jump of the ordinal is a loss");
	ok(out[1].kind == EBT_LOST && out[1].arg[0] == 4 && out[1].arg[1] == 8,
	   "of exactly the events and words that are missing");
	ok(out[1].ts == 20 && EBT_LOST_SINCE(&out[1]) == 10 && out[1].domain == 1,
	   "told where the stream resumes, with the last moment before it");
	end();

	begin();
	push(R, 0, 10);
	for (uint32_t i = 1; i < 5; i++)
		push(B, i, 10 + i);
	struct ebt_event lost = event(R, 0, 20);
	lost.kind = EBT_LOST;
	lost.flags = R;
	lost.arg[0] = 4;
	lost.arg[1] = 8;
	join_push(join, &lost);
	push(R, 5, 20);
	join_flush(join);
	is(outs, 6, "what the ring lost and BPF has seen is no loss");
	is(session->totals.lost_events, 0, "and nothing is counted as lost");
	end();

	begin();
	push(B, 3, 10);
	join_flush(join);
	ok(outs == 2 && out[0].arg[0] == 3 && out[0].flags & EBT_F_HISTORY,
	   "what was written before the first event seen is history");
	end();
}

static void test_duplicates(void)
{
	begin();
	for (uint32_t i = 0; i < 3; i++)
		push(R, i, 10 + i);
	struct ebt_event late = event(B, 1, 12);
	late.flags |= EBT_F_LATE;
	join_push(join, &late);
	join_flush(join);
	is(outs, 3, "a copy that comes after its event was passed on is dropped");
	end();

	begin();
	push(B, 0, 10);
	push(B, 4, 14);
	late = event(B, 2, 14);
	late.flags |= EBT_F_LATE;
	join_push(join, &late);
	join_push(join, &late);
	join_flush(join);
	is(outs, 4, "an event out of a hole that comes late is delivered, once");
	is(session->totals.lost_events, 2, "and taken off the loss");
	end();
}

static void test_restart_and_wrap(void)
{
	begin();
	push(R, 0, 10);
	push(R, 1, 11);
	push(R, 0, 30);
	push(R, 1, 31);
	join_flush(join);
	is(outs, 4, "a ring that is begun anew is no copy of the old one");
	end();

	begin();
	struct ebt_event ev = event(R, UINT32_MAX - 1, 10);
	for (uint32_t i = 0; i < 4; i++) {
		ev.seq = UINT32_MAX - 1 + i;
		ev.pos = 1000 + 2 * i;
		ev.ts = 10 + i;
		join_push(join, &ev);
	}
	join_flush(join);
	is(outs, 5, "ordinals may wrap");
	is(out[4].seq, 1, "and go on from zero");
	end();
}

static void test_others(void)
{
	begin();
	struct ebt_event ev = event(R, 0, 10);
	ev.flags = R;
	ev.pos = 77;
	join_push(join, &ev);
	ev.kind = EBT_LOST;
	ev.arg[0] = EBT_LOST_UNCOUNTED;
	join_push(join, &ev);
	join_flush(join);
	is(outs, 2, "events and losses of a producer that does not count pass unchanged");

	outs = 0;
	for (uint32_t pid = 1; pid <= 3; pid++) {
		ev = event(R, 0, 20);
		ev.pid = pid;
		join_push(join, &ev);
		ev = event(B, 0, 20);
		ev.pid = pid;
		join_push(join, &ev);
	}
	join_flush(join);
	is(outs, 3, "the same position in other processes is another event");

	outs = 0;
	ev = event(B, 0, 30);
	ev.pos = EBT_NO_POS;
	ev.flags = B;
	ev.domain = EBT_NO_DOMAIN;
	for (int i = 0; i < 3; i++)
		join_push(join, &ev);
	is(outs, 3, "events without a position are never taken for copies");
	end();
}

int main(void)
{
	test_pairs();
	test_one_sided();
	test_hole();
	test_duplicates();
	test_restart_and_wrap();
	test_others();
	return tap_done();
}
