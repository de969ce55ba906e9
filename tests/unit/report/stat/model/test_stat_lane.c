/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of report/stat/model/lane.h, cell by cell: a lane is brought into a state, an event
 * comes, and the state and the time behind it are compared. Times are in microseconds: its process
 * is recorded from 100, the lane ended its last time at 300, the event comes at 500, a loss began
 * at 400.
 */
#include "report/stat/model/lane.h"

#include <stdio.h>
#include <string.h>

#include "tests/tap.h"
#include "tests/unit/stat_fixture.h"

static const char *const states[] = {"STOPPED", "LIVE", "ENDED"};
static const char *const events[] = {"begins", "other", "terminates", "spawns", "starts", "loses"};

/* "STATE since SINCE, ELAPSED, UNCOVERED" behind the event. */
static void step(bool is_thread, bool recording, enum stat_lane_state state,
		 enum stat_lane_event event, char got[64])
{
	struct stat_run run;
	stat_run_begin(&run, 0);
	struct ebt_event ev = {.process = 1, .domain = is_thread ? EBT_NO_DOMAIN : 1, .tid = 2};
	struct stat_process *p = stat_processes_make(&run.model.processes, &ev);
	struct stat_lane *l = p ? stat_lane_make(&run.model.stream, p, &ev) : NULL;
	if (!l)
		abort();
	p->recording = recording;
	p->recorded_from_ns = 100 * US;
	l->state = state;
	l->until_ns = state == STAT_LANE_STOPPED ? 0 : 300 * US;
	l->since_ns = l->last_ns = 350 * US;
	if (stat_lane_step(&run.model.stream, l, event, 400 * US, 500 * US))
		abort();
	snprintf(got, 64, "%s since %u, %u, %u", states[l->state], (unsigned)(l->since_ns / US),
		 (unsigned)(l->elapsed_ns / US), (unsigned)(l->uncovered_ns / US));
	stat_run_done(&run);
}

#define SAME(state) state " since 350, 0, 0"

static void test_domain(void)
{
	static const char *const want[][STAT_LANE_EVENTS] = {
		{"LIVE since 100, 0, 0", "LIVE since 100, 0, 0", "ENDED since 100, 400, 0",
		 "LIVE since 500, 0, 0", "LIVE since 500, 0, 0", "LIVE since 400, 0, 100"},
		{SAME("LIVE"), SAME("LIVE"), "ENDED since 350, 150, 0", "LIVE since 500, 0, 0",
		 SAME("LIVE"), "LIVE since 350, 0, 100"},
		{"LIVE since 500, 0, 0", SAME("ENDED"), SAME("ENDED"), "LIVE since 500, 0, 0",
		 "LIVE since 500, 0, 0", "LIVE since 400, 0, 100"},
	};
	char got[64];
	for (unsigned s = 0; s < 3; s++)
		for (unsigned e = 0; e < STAT_LANE_EVENTS; e++) {
			step(false, true, s, e, got);
			ok(!strcmp(got, want[s][e]), "a domain that is %s, %s: %s", states[s],
			   events[e], got);
		}
	for (unsigned s = 0; s < 3; s += 2)
		for (unsigned e = 0; e <= STAT_LANE_TERMINATES; e++) {
			step(false, false, s, e, got);
			ok(strncmp(got, "LIVE", 4) && strstr(got, "since 350, 0, 0"),
			   "while recording is off, nothing makes one that is %s live: %s",
			   states[s], events[e]);
		}
}

static void test_thread(void)
{
	char got[64];
	for (unsigned s = 0; s < 3; s += 2)
		for (unsigned e = 0; e <= STAT_LANE_OTHER; e++) {
			step(true, false, s, e, got);
			ok(!strcmp(got, "LIVE since 500, 0, 0"),
			   "a thread that is %s lives from any event, also without recording: %s",
			   states[s], got);
		}
}

/* What is lost twice is not covered once. */
static void test_holes(void)
{
	struct stat_run run;
	struct ebt_event ev = {.process = 1, .domain = 1};
	stat_run_begin(&run, 0);
	struct stat_process *p = stat_processes_make(&run.model.processes, &ev);
	struct stat_lane *l = p ? stat_lane_make(&run.model.stream, p, &ev) : NULL;
	if (!l)
		abort();
	static const struct {
		unsigned since, ts, uncovered;
	} holes[] = {{100, 500, 400}, {200, 300, 400}, {300, 450, 400}, {400, 600, 500},
		     {700, 800, 600}, {750, 760, 600}, {760, 800, 600}};
	stat_lane_open(l, 50 * US, true);
	for (unsigned i = 0; i < sizeof(holes) / sizeof(*holes); i++) {
		if (stat_lane_step(&run.model.stream, l, STAT_LANE_LOSES, holes[i].since * US,
				   holes[i].ts * US))
			abort();
		is(l->uncovered_ns / US, holes[i].uncovered,
		   "a hole counts where no other one was");
	}
	stat_run_done(&run);
}

/* Domains by number, then threads. */
static void test_order(void)
{
	static const struct {
		uint16_t domain;
		uint32_t tid;
	} made[] = {{EBT_NO_DOMAIN, 3}, {5, 9}, {EBT_NO_DOMAIN, 1}, {2, 9}, {7, 1}};
	static const uint32_t want[] = {2, 5, 7, 1, 3};
	struct stat_run run;
	struct stat_process *p = NULL;
	stat_run_begin(&run, 0);
	for (unsigned i = 0; i < 5; i++) {
		struct ebt_event ev = {.process = 1, .domain = made[i].domain, .tid = made[i].tid};
		p = stat_processes_make(&run.model.processes, &ev);
		if (!p || !stat_lane_make(&run.model.stream, p, &ev))
			abort();
	}
	unsigned n = 0, wrong = 0;
	if (stat_lanes_sort(p))
		abort();
	for (const struct stat_lane *l = p->lanes; l; l = l->next, n++)
		wrong += n > 4 || l->number != want[n] || l->is_thread != (n > 2);
	ok(n == 5 && !wrong, "lanes are in the order of domains, and threads behind them");
	stat_run_done(&run);
}

int main(void)
{
	test_holes();
	test_order();
	test_domain();
	test_thread();
	return tap_done();
}
