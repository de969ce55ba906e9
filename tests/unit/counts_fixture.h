/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For tests of counting in maps: the BPF programs' own code (bpf/counts.bpf.h), the tracer's reader
 * of their maps, and the report's model, once of tallies and once of events.
 */
#ifndef TESTS_COUNTS_FIXTURE_H
#define TESTS_COUNTS_FIXTURE_H

#include <stdio.h>

#include "tests/tap.h"
#include "tests/unit/bpf_helpers.h"
#include "tests/unit/bpf_maps.h"

#include "report/parts/ids.h"
#include "report/stat/model/snapshot.h"
#include "report/stat/model/stat.h"
#include "report/stat/model/tallies.h"
#include "source/bpf/counted.h"
#include "source/bpf/numberings.h"

#define __BPF_CORE_READ_H__
struct task_struct {
	uint64_t self_exec_id;
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "bpf/counts.bpf.h"
#pragma GCC diagnostic pop

#define SLOT  3u
#define PID   500u
#define BEGIN 1000000u /* of the run */

/* Of events, or of tallies. */
struct side {
	struct session *session;
	struct stat_model m;
	struct histogram lines;
	uint32_t process;
	struct stat_snapshot snapshot;
};

struct model {
	struct side events, counts;
	struct stat_tallies tallies;
	struct tally_reader reader;
	struct bpf_counted counted;
	uint64_t now, random;
	unsigned strays; /* ends without a begin come at first */
};

/* As ebt_count_rows. */
static uint16_t rows[EBT_NUMBERINGS][EBT_PHASE_IDS];

/* ---- the maps ---- */

static int read_lane(void *ctx, const struct ebt_count_key *key, struct ebt_count_lane *ret)
{
	(void)ctx;
	const struct ebt_count_lane *l = bpf_map_lookup_elem(&ebt_count_lanes, key);
	if (l)
		*ret = *l;
	return l ? 0 : -2;
}

/* Pauses that end while pages are read. */
static struct {
	unsigned before, behind; /* so many each of the read of a page */
	uint64_t ns;
	struct count_hit hit;
	uint64_t pauses, sum;
} race;

static void one_pause(uint64_t ns)
{
	count_begin(&race.hit);
	race.hit.ts += ns;
	count_end(&race.hit);
	race.pauses++;
	race.sum += ns;
}

static void race_once(unsigned *left)
{
	if (*left && (*left)--)
		one_pause(race.ns);
}

static int read_page(void *ctx, const struct ebt_count_page_key *key, struct ebt_count_page *ret)
{
	(void)ctx;
	race_once(&race.before);
	const struct ebt_count_page *p = bpf_map_lookup_elem(&ebt_count_pages, key);
	if (p)
		*ret = *p;
	race_once(&race.behind);
	return p ? 0 : -2;
}

static int read_process(void *ctx, const struct ebt_count_process_key *key,
			struct ebt_count_process *ret)
{
	(void)ctx;
	const struct ebt_count_process *p = bpf_map_lookup_elem(&ebt_count_processes, key);
	if (p)
		*ret = *p;
	return p ? 0 : -2;
}

static void remove_lane(void *ctx, const struct ebt_count_key *key)
{
	(void)ctx;
	map_remove(&ebt_count_lanes, key, sizeof(*key));
}

static void remove_page(void *ctx, const struct ebt_count_page_key *key)
{
	(void)ctx;
	map_remove(&ebt_count_pages, key, sizeof(*key));
}

static void remove_process(void *ctx, const struct ebt_count_process_key *key)
{
	(void)ctx;
	map_remove(&ebt_count_processes, key, sizeof(*key));
}

static bool has_ended(void *ctx, pid_t pid, uint32_t tid)
{
	(void)ctx;
	(void)pid;
	(void)tid;
	return false;
}

static void take(void *ctx, struct tally *t)
{
	stat_tallies_add(&((struct model *)ctx)->tallies, t);
}

/* ---- both sides ---- */

static void side_init(struct side *s)
{
	*s = (struct side){0};
	if (session_new(&s->session) || stat_model_init(&s->m, s->session, 0) ||
	    processes_begin(&s->session->processes, PID, NULL, &s->process))
		abort();
	processes_announce(&s->session->processes, s->process);
	s->session->run_begin = moment_at(BEGIN);
	stat_model_count_intervals(&s->m, &s->lines);
}

static void side_done(struct side *s)
{
	stat_snapshot_done(&s->snapshot);
	stat_model_done(&s->m);
	histogram_done(&s->lines);
	session_free(s->session);
}

static void model_init(struct model *t, uint64_t seed)
{
	*t = (struct model){.now = 2 * BEGIN, .random = seed * 0x9e3779b97f4a7c15ull + 1};
	side_init(&t->events);
	side_init(&t->counts);
	t->reader = (struct tally_reader){take, t};
	t->counted.access = (struct bpf_count_access){.read_lane = read_lane,
						      .read_page = read_page,
						      .read_process = read_process,
						      .remove_lane = remove_lane,
						      .remove_page = remove_page,
						      .remove_process = remove_process,
						      .has_ended = has_ended};
	t->counted.reader = &t->reader;
	ebt_dropped = (struct ebt_dropped){0};
}

static void model_done(struct model *t)
{
	bpf_counted_done(&t->counted);
	stat_tallies_done(&t->tallies);
	side_done(&t->events);
	side_done(&t->counts);
}

#endif
