// SPDX-License-Identifier: BSD-2-Clause
/*
 * What an event costs on its way through merge, join, filter and pump into a sink that does
 * nothing, by number of lanes and by the order in which they speak. The lanes are scripted: events
 * of 64 bytes are made as a source would hand them out. One round, JSON lines.
 */
#include "core/pump.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define LANES_MAX 128
#define EVENTS	  2000000u
#define STEP_NS	  512 /* between events of a lane */
#define BURST	  64  /* events of one lane in a row */

enum pattern { TURNS, RANDOM, BURSTS };

struct script {
	struct source base;
	uint32_t made[LANES_MAX]; /* events of each lane so far */
	uint64_t ts[LANES_MAX];	  /* of its last event */
	uint64_t each;
	uint32_t lanes;
	enum pattern pattern;
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

/*
 * In turns: each lane has one event in each step, in an order that changes, so that no branch
 * learns it. At random: times of the lanes are independent. In bursts: one lane after the other.
 */
static inline uint64_t event_ts(const struct script *s, uint32_t lane, uint32_t seq)
{
	uint32_t jitter = (seq * 2654435761u ^ lane * 40503u) >> 16;
	switch (s->pattern) {
	case TURNS:
		return 1 + (uint64_t)seq * STEP_NS + jitter % STEP_NS;
	case RANDOM:
		return s->ts[lane] + 1 + jitter % (2 * STEP_NS - 1);
	case BURSTS:
		return 1 + ((uint64_t)(seq / BURST) * s->lanes + lane) * BURST + seq % BURST;
	}
	return 0;
}

static int script_read(struct source *base, uint32_t lane, struct ebt_event *ev, size_t cap)
{
	struct script *s = (struct script *)base;
	size_t n = 0;
	for (; n < cap && s->made[lane] < s->each; n++) {
		uint32_t seq = s->made[lane]++;
		s->ts[lane] = event_ts(s, lane, seq);
		ev[n] = (struct ebt_event){
			.ts = s->ts[lane],
			.pos = 2ull * seq,
			.process = 1,
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

static int bench(enum pattern pattern, uint32_t lanes, double goal)
{
	static const char *const names[] = {"", "_random", "_bursts"};
	static struct script s;
	struct null_sink sink = {.base.ops = &null_ops};
	struct session *session;
	struct pump *pump;

	s = (struct script){.base = {.ops = &script_ops, .lanes = lanes},
			    .each = EVENTS / lanes,
			    .lanes = lanes,
			    .pattern = pattern};
	uint32_t process; /* the first is 1 */
	if (session_new(&session) || processes_of(&session->processes, 4711, &process) ||
	    pump_new(session, &pump) || pump_add_source(pump, &s.base) ||
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
	printf("{\"name\":\"pipeline%s_%u\",\"unit\":\"ns/event\",\"ours\":%.2f", names[pattern],
	       lanes, t / (double)sink.events);
	if (goal > 0)
		printf(",\"goal\":%g", goal);
	puts("}");
	return 0;
}

int main(void)
{
	if (bench(TURNS, 1, 6) || bench(TURNS, 8, 12) || bench(TURNS, 128, 20) ||
	    bench(RANDOM, 1, 6) || bench(RANDOM, 8, 22) || bench(RANDOM, 128, 34) ||
	    bench(BURSTS, 8, 0) || bench(BURSTS, 128, 0)) {
		fputs("bench_pipeline: events went missing\n", stderr);
		return 1;
	}
	return 0;
}
