/* SPDX-License-Identifier: BSD-2-Clause */
/* A join alone, events for it, and what comes out; totals are counted as the pump does. */
#ifndef TESTS_JOIN_FIXTURE_H
#define TESTS_JOIN_FIXTURE_H

#include "stream/join.h"
#include "stream/loss.h"
#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"

#include <errno.h>
#include <stdbool.h>

#define MAX 9000
#define R   EBT_F_RING
#define B   EBT_F_BPF

static struct session *session;
static struct join *join;
static struct ebt_event out[MAX];
static int outs;

static void take_one(struct ebt_event *ev)
{
	if (outs < MAX)
		out[outs++] = *ev;
	if (ev->kind == EBT_LOST) /* as the pump does */
		loss_count(&session->totals, ev);
	session_drop_event(session, ev);
}

static int take(void *ctx, struct ebt_event *ev, size_t n)
{
	(void)ctx;
	for (size_t i = 0; i < n; i++)
		take_one(&ev[i]);
	return 0;
}

static void begin(void)
{
	outs = 0;
	if (session_new(&session) || enter_processes(session, 64) ||
	    join_new(session, (struct event_handler){take, NULL}, &join))
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
__attribute__((unused)) static void push(uint16_t flags, uint32_t seq, uint64_t ts)
{
	struct ebt_event ev = event(flags, seq, ts);
	join_events(join, &ev, 1);
}

__attribute__((unused)) static void push_late(uint16_t flags, uint32_t seq, uint64_t ts)
{
	push(flags | EBT_F_LATE, seq, ts);
}

#endif
