// SPDX-License-Identifier: BSD-2-Clause
/*
 * What an event costs on its way through merge, join, filter and pump into a sink that does
 * nothing, by number of lanes. The lanes are scripted: copies of 64 bytes out of memory, as a
 * source would hand them out. One round, JSON lines.
 */
#include "core/pump.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define LANES_MAX 128
#define EVENTS	  2000000u

struct script {
	struct source base;
	uint32_t made[LANES_MAX]; /* events of each lane so far */
	uint32_t each;
	uint64_t step_ns;
};

struct null_sink {
	struct sink base;
	uint64_t events;
};

static int script_poll(struct source *s)
{
	(void)s;
	return 0;
}

/* Lanes take turns in an order that changes, as domains do, so that no branch learns it. */
static int script_read(struct source *base, uint32_t lane, struct ebt_event *ev, size_t cap)
{
	struct script *s = (struct script *)base;
	size_t n = 0;
	for (; n < cap && s->made[lane] < s->each; n++) {
		uint32_t seq = s->made[lane]++;
		uint32_t jitter = (seq * 2654435761u ^ lane * 40503u) >> 16;
		ev[n] = (struct ebt_event){
			.ts = 1 + seq * s->step_ns + jitter % s->step_ns,
			.pos = 2ull * seq,
			.pid = 1,
			.kind = seq % 2 ? EBT_END : EBT_BEGIN,
			.domain = (uint16_t)lane,
			.cpu = EBT_NO_CPU,
			.flags = EBT_F_RING | EBT_F_SEQ,
			.id = 11,
			.seq = seq,
			.size = 2,
		};
	}
	return (int)n;
}

static uint64_t script_horizon(struct source *s, uint32_t lane)
{
	(void)s;
	(void)lane;
	return UINT64_MAX;
}

static int script_stop(struct source *s)
{
	(void)s;
	return 0;
}

static const struct source_ops script_ops = {
	.poll = script_poll, .read = script_read, .horizon = script_horizon, .stop = script_stop};

static int null_events(struct sink *k, const struct ebt_event *ev, size_t n)
{
	(void)ev;
	((struct null_sink *)k)->events += n;
	return 0;
}

static const struct sink_ops null_ops = {.events = null_events};

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int bench(uint32_t lanes, const char *rest)
{
	static struct script s;
	struct null_sink sink = {.base.ops = &null_ops};
	struct session *session;
	struct pump *pump;

	s = (struct script){.base = {.ops = &script_ops, .lanes = lanes},
			    .each = EVENTS / lanes,
			    .step_ns = 500};
	if (session_new(&session) || pump_new(session, &pump) || pump_add_source(pump, &s.base) ||
	    pump_add_sink(pump, &sink.base))
		return 1;
	double t = now_ns();
	int moved;
	while ((moved = pump_step(pump)) > 0)
		;
	t = now_ns() - t;
	uint64_t lost = session->totals.lost_events;
	pump_free(pump);
	session_free(session);
	if (moved || lost || sink.events != (uint64_t)s.each * lanes)
		return 1;
	printf("{\"name\":\"pipeline_%u\",\"unit\":\"ns/event\",\"ours\":%.2f%s}\n", lanes,
	       t / (double)sink.events, rest);
	return 0;
}

int main(void)
{
	if (bench(1, "") || bench(8, ",\"goal\":20") || bench(128, "")) {
		fputs("bench_pipeline: events went missing\n", stderr);
		return 1;
	}
	return 0;
}
