/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lanes that sleep in sets through losses and pauses of recording come to the same numbers as lanes
 * that are visited one by one: two models get the same random events, and in the second one all
 * lanes are woken after each.
 */
#include <stdio.h>

#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"
#include "tests/unit/stat_random.h"

#define ROUNDS 300
#define EVENTS 400

static void wake_all(struct stat_model *m)
{
	for (struct stat_process *p = m->processes.first; p; p = p->next)
		for (struct stat_lane *l = p->lanes; l; l = l->next)
			stat_sets_wake(l);
}

/* What concerns many lanes finds all that live. */
static bool finds_all(const struct stat_model *m)
{
	for (const struct stat_process *p = m->processes.first; p; p = p->next)
		for (const struct stat_lane *l = p->lanes; l; l = l->next)
			if (l->state == STAT_LANE_LIVE && !l->list)
				return false;
	return true;
}

static bool try(uint32_t seed)
{
	struct session *session;
	struct stat_model sleeps, wakes;
	uint64_t now = 1000000000;
	struct stat_random r = {seed};
	if (session_new(&session) || enter_processes(session, 16) ||
	    stat_model_init(&sleeps, session, 0) || stat_model_init(&wakes, session, 0))
		abort();
	if (stat_random_draw(&r, 2))
		session->run_begin = moment_at(now);
	bool found = true;
	for (int i = 0; i < EVENTS; i++) {
		now += 1 + stat_random_draw(&r, stat_random_draw(&r, 50) ? 5000 : 900000000);
		struct ebt_event ev = stat_random_event(&r, now);
		if (stat_model_events(&sleeps, &ev, 1) || stat_model_events(&wakes, &ev, 1))
			abort();
		found = found && finds_all(&sleeps);
		wake_all(&wakes);
	}
	struct stat_snapshot a = {0}, b = {0};
	if (stat_snapshot_take(&a, &sleeps, session->run_end) ||
	    stat_snapshot_take(&b, &wakes, session->run_end))
		abort();
	bool ret = found && stat_same(&a, &b);
	stat_snapshot_done(&a);
	stat_snapshot_done(&b);
	stat_model_done(&sleeps);
	stat_model_done(&wakes);
	session_free(session);
	return ret;
}

int main(void)
{
	uint32_t bad = 0;
	for (uint32_t seed = 1; seed <= ROUNDS && !bad; seed++)
		bad = try(seed) ? 0 : seed;
	is(bad, 0, "lanes that sleep come to the numbers of lanes that do not; seed");
	return tap_done();
}
