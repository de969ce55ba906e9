/* SPDX-License-Identifier: BSD-2-Clause */
/* The model of statistics in a session of its own; what fails here ends the test. */
#ifndef TESTS_STAT_FIXTURE_H
#define TESTS_STAT_FIXTURE_H

#include "report/stat/model/snapshot.h"
#include "tests/unit/processes_fixture.h"

#include <stdlib.h>

#define US 1000u

struct stat_run {
	struct session *session;
	struct stat_model model;
	struct stat_snapshot end;
};

/* begin_us: of a live run; 0: a file. The index of a process is its pid, up to 64. */
static inline void stat_run_begin(struct stat_run *r, uint64_t begin_us)
{
	r->end = (struct stat_snapshot){0};
	if (session_new(&r->session) || enter_processes(r->session, 64) ||
	    stat_model_init(&r->model, r->session, 0))
		abort();
	r->session->run_begin = (struct moment){begin_us * US, begin_us != 0};
}

static inline void stat_run_push(struct stat_run *r, const struct ebt_event *ev)
{
	if (stat_model_events(&r->model, ev, 1))
		abort();
}

/* end_us: of a live run; 0: a file. `end` has its numbers until stat_run_done(). */
static inline void stat_run_end(struct stat_run *r, uint64_t end_us)
{
	r->session->run_end = (struct moment){end_us * US, end_us != 0};
	if (stat_snapshot_take(&r->end, &r->model, r->session->run_end))
		abort();
}

static inline void stat_run_done(struct stat_run *r)
{
	stat_snapshot_done(&r->end);
	stat_model_done(&r->model);
	session_free(r->session);
}

#endif
