/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/json.h"

#include "base/json.h"
#include "report/budget.h"
#include "report/stat/mmu.h"
#include "report/stat/percentiles.h"

#define STAT_SCHEMA 1

static void put_coverage(struct json *j, uint64_t uncovered_ns, uint64_t elapsed_ns)
{
	if (elapsed_ns)
		json_key_double(j, "coverage_percent",
				100 - stat_numbers_percent(uncovered_ns, elapsed_ns));
	else
		json_key_null(j, "coverage_percent");
}

static void put_loss(struct json *j, const struct stat_loss *l)
{
	json_key_open(j, "lost", '{');
	json_key_known(j, "events", !l->uncounted, l->events);
	json_key_u64(j, "words", l->words);
	json_key_known(j, "history_events", !l->history_uncounted, l->history_events);
	json_key_u64(j, "history_words", l->history_words);
	json_key_u64(j, "unwatched_ns", l->unwatched_ns);
	json_close(j, '}');
}

static void put_pauses(struct json *j, const struct stat_pauses *p)
{
	const struct histogram *h = &p->whole;
	bool any = h->count;
	json_key_open(j, "pauses", '{');
	json_key_u64(j, "count", h->count);
	json_key_known(j, "min_ns", any, h->min);
	json_key_known(j, "max_ns", any, h->max);
	if (any) {
		json_key_double(j, "mean_ns", histogram_mean(h));
		json_key_double(j, "stddev_ns", histogram_stddev(h));
	} else {
		json_key_null(j, "mean_ns");
		json_key_null(j, "stddev_ns");
	}
	json_key_open(j, "percentiles_ns", '{');
	for (unsigned i = 0; i < STAT_PERCENTILES; i++) {
		char name[STAT_PERCENTILE_BYTES];
		stat_percentile_name(i, name);
		json_key_known(j, name, any, histogram_at(h, stat_percentiles[i]));
	}
	json_close(j, '}');
	json_key_open(j, "cut", '{');
	json_key_u64(j, "start", p->cut[STAT_CUT_START]);
	json_key_u64(j, "loss", p->cut[STAT_CUT_LOSS]);
	json_key_u64(j, "end", p->cut[STAT_CUT_END]);
	json_key_u64(j, "late", p->cut[STAT_CUT_LATE]);
	json_key_u64(j, "longest_ns", p->cut_max_ns);
	json_close(j, '}');
	json_close(j, '}');
}

static void put_work(struct json *j, const struct stat_numbers *n)
{
	json_key_open(j, "collections", '{');
	json_key_u64(j, "minor", stat_numbers_minors(n));
	json_key_u64(j, "major", stat_numbers_majors(n));
	json_key_u64(j, "forced_minor", stat_numbers_begun(n, TRAITS_FORCED_MINOR));
	json_key_u64(j, "forced_major", stat_numbers_begun(n, TRAITS_FORCED_MAJOR));
	json_key_u64(j, "compactions", n->compactions);
	json_key_u64(j, "compactions_requested", stat_numbers_begun(n, TRAITS_FORCED_COMPACTION));
	json_close(j, '}');
	struct stat_words minor = stat_numbers_minor_words(n),
			  promoted = stat_numbers_promoted_words(n);
	json_key_open(j, "words", '{');
	json_key_known(j, "minor_allocated", minor.seen, minor.words);
	json_key_known(j, "major_allocated", n->major_words.seen, n->major_words.words);
	json_key_known(j, "promoted", promoted.seen, promoted.words);
	json_key_known(j, "heap_last", n->heap.seen, n->heap.words);
	json_key_known(j, "heap_max", n->heap_max.seen, n->heap_max.words);
	json_close(j, '}');
}

static void put_phases(struct json *j, const struct stat_numbers *n)
{
	json_key_open(j, "phases", '[');
	for (uint32_t i = 0; i < PHASE_ROWS; i++) {
		const struct stat_phase *ph = &n->phases[i];
		if (!ph->count && !ph->cut)
			continue;
		json_open(j, '{');
		json_key_str(j, "name", phases_name(i));
		json_key_bool(j, "stops", phases_stop(i));
		json_key_u64(j, "count", ph->count);
		json_key_u64(j, "cut", ph->cut);
		json_key_u64(j, "total_ns", ph->total_ns);
		json_key_u64(j, "self_ns", ph->self_ns);
		json_key_u64(j, "max_ns", ph->max_ns);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_section(struct json *j, const struct stat_numbers *n, uint64_t wall_ns)
{
	const struct process_usage *u = &n->usage;
	json_key_u64(j, "wall_ns", wall_ns);
	json_key_known(j, "cpu_user_ns", u->known, u->user_ns);
	json_key_known(j, "cpu_system_ns", u->known, u->system_ns);
	json_key_known(j, "peak_rss_bytes", u->has_peak_rss, u->peak_rss_bytes);
	json_key_u64(j, "elapsed_ns", n->elapsed_ns);
	json_key_u64(j, "gc_ns", n->gc_ns);
	json_key_double(j, "gc_percent", stat_numbers_percent(n->gc_ns, n->elapsed_ns));
	put_coverage(j, n->uncovered_ns, n->elapsed_ns);
	put_loss(j, &n->lost);
	put_pauses(j, &n->pauses);
	put_work(j, n);
	put_phases(j, n);
	json_key_u64(j, "unmatched_ends", n->unmatched);
	json_key_u64(j, "late", n->late);
	json_key_u64(j, "damaged", n->damaged);
}

static void put_lane(struct json *j, const struct stat_lane *l)
{
	json_open(j, '{');
	json_key_known(j, "domain", !l->is_thread, l->number);
	json_key_known(j, "tid", l->is_thread, l->number);
	json_key_u64(j, "elapsed_ns", l->elapsed_ns);
	json_key_u64(j, "gc_ns", l->pauses.clock.gc_ns);
	json_key_double(j, "gc_percent",
			stat_numbers_percent(l->pauses.clock.gc_ns, l->elapsed_ns));
	json_key_u64(j, "pauses", l->pauses.count);
	put_coverage(j, l->uncovered_ns, l->elapsed_ns);
	put_loss(j, &l->lost);
	stat_mmu_lane_json(j, l);
	json_close(j, '}');
}

static void put_process(struct json *j, const struct stat_process *p)
{
	json_open(j, '{');
	json_key_u64(j, "pid", p->pid);
	json_key_str(j, "comm", p->comm);
	json_key_str(j, "producer", p->producer);
	put_section(j, &p->numbers, p->wall_ns);
	json_key_open(j, "domains", '[');
	for (const struct stat_lane *l = p->lanes; l; l = l->next)
		put_lane(j, l);
	json_close(j, ']');
	stat_mmu_json(j, p);
	json_close(j, '}');
}

static void put_program(struct json *j, const struct stat_program *g)
{
	json_open(j, '{');
	json_key_str(j, "comm", g->comm);
	json_key_str(j, "producer", g->producer);
	json_key_u64(j, "processes", g->processes);
	put_section(j, &g->numbers, g->wall_ns);
	json_close(j, '}');
}

void stat_json_report(struct buf *b, const struct stat_report *r)
{
	struct json j = {.out = b};
	const struct session *s = r->session;
	json_open(&j, '{');
	json_key_str(&j, "kind", "stat");
	json_key_u64(&j, "schema", STAT_SCHEMA);
	char origins[ORIGIN_TEXT_BYTES];
	json_key_str(&j, "source", origin_text(s->origins, origins));
	json_key_str(&j, "clock", timebase_name(s->timebase.clock));
	json_key_u64(&j, "begin_ns", r->begin_ns);
	if (r->at.known)
		json_key_u64(&j, "at_ns", r->at.ns);
	json_key_open(&j, "total", '{');
	put_section(&j, r->total, r->wall_ns);
	json_close(&j, '}');
	json_key_open(&j, "processes", '[');
	for (const struct stat_process *p = r->snapshot->first; p; p = p->next)
		put_process(&j, p);
	json_close(&j, ']');
	if (r->snapshot->programs->count) {
		json_key_open(&j, "programs", '[');
		for (const struct stat_program *g = r->snapshot->programs->first; g; g = g->next)
			put_program(&j, g);
		json_close(&j, ']');
	}
	budget_json(&j, s);
	if (r->blame)
		stat_blame_json(&j, r->session, r->blame);
	if (r->has_open)
		stat_blame_open_json(&j, r->session, r->open);
	json_close(&j, '}');
	buf_puts(b, "\n");
}
