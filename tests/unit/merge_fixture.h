/* SPDX-License-Identifier: BSD-2-Clause */
/* A merge of scripted lanes, and its batches one event at a time. */
#ifndef TESTS_MERGE_FIXTURE_H
#define TESTS_MERGE_FIXTURE_H

#include "stream/merge.h"
#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"

#include <errno.h>
#include <stdbool.h>

#define LANES 16
#define MAX   4000

struct lane_script {
	struct ebt_event ev[MAX];
	int count, at;
	int ended;
	uint64_t horizon;
};
struct script {
	struct source base;
	struct lane_script lane[LANES];
	int grow_to; /* lanes after the next poll */
	int fails;   /* what poll returns */
	int polls, stops;
};

static int script_poll(struct source *s)
{
	struct script *c = (struct script *)s;
	c->polls++;
	if (c->grow_to)
		s->lanes = (uint32_t)c->grow_to;
	return c->fails;
}
static int script_stop(struct source *s)
{
	((struct script *)s)->stops++;
	return 0;
}
static int script_read(struct source *s, uint32_t lane, struct ebt_event *ev, size_t cap)
{
	struct lane_script *l = &((struct script *)s)->lane[lane];
	int n = l->count - l->at;
	if (!n)
		return l->ended ? 0 : -EAGAIN;
	n = n > (int)cap ? (int)cap : n;
	memcpy(ev, l->ev + l->at, (size_t)n * sizeof(*ev));
	l->at += n;
	return n;
}
static uint64_t script_horizon(struct source *s, uint32_t lane)
{
	return ((struct script *)s)->lane[lane].horizon;
}
static const struct source_ops ops = {
	.poll = script_poll, .read = script_read, .horizon = script_horizon, .stop = script_stop};

static void put(struct lane_script *l, uint64_t ts, uint16_t domain, uint64_t pos)
{
	l->ev[l->count++] = (struct ebt_event){
		.ts = ts, .domain = domain, .pos = pos, .kind = EBT_BEGIN, .pid = 1};
}

#define PIDS 5000

/* Of the events of all tests: pids are indices. */
static const struct processes *processes(void)
{
	static struct session *session;
	if (!session && (session_new(&session) || enter_processes(session, PIDS)))
		abort();
	return &session->processes;
}

static struct ebt_event *batch;
static int batch_left;

/* The next event of a batch. 1, or what merge_batch() returns without one. */
static int next(struct merge *m, struct ebt_event *ret)
{
	if (!batch_left) {
		int got = merge_batch(m, &batch);
		if (got <= 0)
			return got;
		batch_left = got;
	}
	batch_left--;
	*ret = *batch++;
	return 1;
}

static struct script *begin(struct merge **m, unsigned lanes)
{
	struct script *c = calloc(1, sizeof(*c));
	batch_left = 0;
	if (!c || merge_new(processes(), m) || merge_add(*m, &c->base))
		abort();
	c->base.ops = &ops;
	c->base.lanes = lanes;
	return c;
}

#endif
