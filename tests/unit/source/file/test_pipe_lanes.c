/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of a pipe that wait in lanes: in order, in memory that follows those that wait, and when
 * others need not wait for a silent lane any more. */
#include "source/file/pipe_lanes.h"

#include "tests/tap.h"

#define WINDOW 1000
#define MOST   100

static struct session *session;

static void put(struct pipe_lanes *p, uint16_t domain, uint64_t ts)
{
	uint32_t lane;
	struct ebt_event *ev;
	if (pipe_lanes_of(p, domain, &lane) || !(ev = pipe_lanes_room(p, lane)))
		abort();
	*ev = (struct ebt_event){.ts = ts, .domain = domain};
	pipe_lanes_put(p, lane);
}

static void test_horizon(void)
{
	struct pipe_lanes p;
	struct ebt_event ev[MOST];
	if (pipe_lanes_init(&p, WINDOW, MOST, false))
		abort();
	put(&p, 7, 500);
	is(pipe_lanes_horizon(&p, 0), 500, "a lane is known up to its last event");
	put(&p, 9, 5000);
	is(p.count, 2, "each domain has a lane");
	is(pipe_lanes_horizon(&p, 0), 4000, "a silent one up to a window before the newest of all");
	is(pipe_lanes_horizon(&p, 1), 5000, "that of the newest up to that");
	for (unsigned i = 2; i < MOST; i++)
		put(&p, 9, 5000 + i);
	ok(pipe_lanes_full(&p), "as many wait as may");
	is(pipe_lanes_horizon(&p, 0), 5000 + MOST - 1,
	   "then nobody waits for a silent lane: what it brings later is late");
	is(pipe_lanes_take(&p, 1, ev, 10), 10, "some are taken");
	ok(!pipe_lanes_full(&p), "and there is room again");
	is(pipe_lanes_horizon(&p, 0), 5000 + MOST - 1 - WINDOW, "and a window");
	pipe_lanes_done(&p, session);
}

/* A lane of which always some events wait, over a long run. */
static void test_long(void)
{
	struct pipe_lanes p;
	struct ebt_event ev[8];
	uint64_t put_ns = 0, taken_ns = 0, wrong = 0;
	size_t most = 0;
	if (pipe_lanes_init(&p, WINDOW, MOST, false))
		abort();
	for (unsigned i = 0; i < 20; i++)
		put(&p, 1, ++put_ns);
	for (unsigned i = 0; i < 200000; i++) {
		put(&p, 1, ++put_ns);
		int n = pipe_lanes_take(&p, 0, ev, 1 + i % 2);
		for (int k = 0; k < n; k++)
			wrong += ev[k].ts != ++taken_ns;
		if (i % 2)
			put(&p, 1, ++put_ns);
		most = p.lane[0].cap > most ? p.lane[0].cap : most;
		wrong += p.queued != put_ns - taken_ns || p.lane[0].count != p.queued;
	}
	is(wrong, 0, "events come in the order in which they were put");
	ok(most < 256, "and memory follows those that wait, not those that have passed");
	pipe_lanes_done(&p, session);
}

int main(void)
{
	if (session_new(&session))
		abort();
	test_horizon();
	test_long();
	session_free(session);
	return tap_done();
}
