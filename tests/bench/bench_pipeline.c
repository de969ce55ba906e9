// SPDX-License-Identifier: BSD-2-Clause
/*
 * What an event costs on its way through merge, join, filter and pump into a sink that does
 * nothing, by number of lanes and by the order in which they speak. The lanes are scripted: events
 * of 64 bytes are made as a source would hand them out. One round, JSON lines.
 */
#include "stream/pump.h"

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
	uint32_t each, lanes;
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

/* Bits without a pattern that a branch could learn, or that lanes share. */
static inline uint32_t draw(uint32_t lane, uint32_t seq)
{
	uint64_t x = ((uint64_t)lane << 32 | seq) * 0x9e3779b97f4a7c15u;
	return (uint32_t)((x ^ x >> 29) * 0xbf58476d1ce4e5b9u >> 40);
}

/*
 * In turns: each lane has one event in each step, in an order that changes. At random: times of the
 * lanes are independent. In bursts: one lane after the other. `ts`: of the lane's event before.
 */
static inline uint64_t event_ts(const struct script *s, uint32_t lane, uint32_t seq, uint64_t ts)
{
	switch (s->pattern) {
	case TURNS:
		return 1 + (uint64_t)seq * STEP_NS + draw(lane, seq) % STEP_NS;
	case RANDOM:
		return ts + 1 + draw(lane, seq) % (2 * STEP_NS - 1);
	case BURSTS:
		return 1 + ((uint64_t)(seq / BURST) * s->lanes + lane) * BURST + seq % BURST;
	}
	return 0;
}

static int script_read(struct source *base, uint32_t lane, struct ebt_event *ev, size_t cap)
{
	struct script *s = (struct script *)base;
	uint32_t seq = s->made[lane];
	uint64_t ts = s->ts[lane];
	size_t n = s->each - seq < cap ? s->each - seq : cap;
	for (size_t i = 0; i < n; i++, seq++) {
		ts = event_ts(s, lane, seq, ts);
		ev[i] = (struct ebt_event){
			.ts = ts,
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
	s->made[lane] = seq;
	s->ts[lane] = ts;
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
