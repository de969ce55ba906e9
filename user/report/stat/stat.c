/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/stat.h"

#include <errno.h>
#include <stdlib.h>

#include "report/interval.h"
#include "report/stat/json.h"
#include "report/stat/mmu.h"
#include "report/stat/model/snapshot.h"
#include "report/stat/model/tallies.h"
#include "report/stat/text.h"

#define STAT_BUFFER_BYTES 65536
#define OPEN_NS		  20000000ull
/* Lines between two headings. */
#define STAT_HEADING 20

/* What has been counted up to the end of a line. */
struct marks {
	struct stat_marks of;
	uint64_t lost_events, lost_words, lost_uncounted;
};

struct stat {
	struct sink base;
	const struct session *session;
	struct stat_options opt;
	struct buf buf;
	struct stat_model model;
	struct stat_tallies tallies;
	struct stat_snapshot snapshot; /* the last one */
	struct blame *blame;	       /* NULL: not asked for, and no probe is at pauses */
	struct histogram pauses;       /* of the line that is being counted */
	struct marks marks;
	struct report_interval interval;
	uint64_t open_of_ns; /* the end of the last line for which open intervals were asked for */
	unsigned lines;
	bool cancelled;
};

static uint64_t gained(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static bool find_open(struct stat *k, uint64_t now_ns, struct blame_pause *ret)
{
	return k->opt.blame && blame_open(k->blame, now_ns, ret);
}

static void put_line(struct stat *k, uint64_t begin_ns, uint64_t end_ns)
{
	const struct totals *totals = &k->session->totals;
	struct marks *was = &k->marks;
	struct marks now = {
		.of = stat_model_marks(&k->model, end_ns),
		.lost_events = totals->lost_events,
		.lost_words = totals->lost_words,
		.lost_uncounted = totals->lost_uncounted - totals->unwatched,
	};
	/* The time of an open pause counted, and a later event showed that it had been cut
	 * before. */
	if (now.of.gc_ns < was->of.gc_ns)
		now.of.gc_ns = was->of.gc_ns;
	double seconds = (double)(end_ns - begin_ns) / 1e9;
	struct blame_pause open;
	bool has_open = find_open(k, end_ns, &open);
	struct stat_line line = {
		.begin_ns = begin_ns - k->interval.begin_ns,
		.end_ns = end_ns - k->interval.begin_ns,
		.pauses = &k->pauses,
		.gc_percent = stat_numbers_percent(gained(now.of.gc_ns, was->of.gc_ns),
						   gained(now.of.elapsed_ns, was->of.elapsed_ns)),
		.minors = gained(now.of.minors, was->of.minors),
		.majors = gained(now.of.majors, was->of.majors),
		.words_per_s = now.of.has_words
				       ? (double)gained(now.of.words, was->of.words) / seconds
				       : -1,
		.lost_events = gained(now.lost_events, was->lost_events),
		.lost_words = gained(now.lost_words, was->lost_words),
		.lost_uncounted = gained(now.lost_uncounted, was->lost_uncounted),
		.open = has_open ? &open : NULL,
	};
	stat_text_line(&k->buf, &line, k->lines++ % STAT_HEADING == 0);
	histogram_clear(&k->pauses);
	k->marks = now;
}

/* ---- the report, as of a moment ---- */

static int put_sections(struct stat *k, struct stat_report *r)
{
	struct stat_sections sections = {0};
	/* Windows are of processes. */
	enum stat_by by = k->opt.mmu ? STAT_BY_PROCESS : k->opt.by;
	int err = 0;
	r->sections = &sections;
	if (k->opt.svg)
		return stat_mmu_svg(&k->buf, r);
	if (!k->opt.json)
		err = stat_sections_make(&k->snapshot, by, k->opt.top, &sections);
	if (!err && k->opt.json)
		stat_json_report(&k->buf, r);
	else if (!err)
		stat_text_report(&k->buf, r);
	stat_sections_done(&sections);
	return err;
}

static int put_numbers(struct stat *k, struct stat_report *r)
{
	struct stat_numbers *total = calloc(1, sizeof(*total));
	if (!total)
		return -ENOMEM;
	r->total = total;
	int err = stat_snapshot_total(&k->snapshot, total);
	if (!err)
		err = put_sections(k, r);
	stat_numbers_done(total);
	free(total);
	return err;
}

/* 0 or -ENOMEM. */
static int put_report(struct stat *k, struct moment at)
{
	const struct session *s = k->session;
	struct blame_sums *blame = calloc(1, sizeof(*blame));
	struct blame_pause open;
	if (!blame)
		return -ENOMEM;
	int err = stat_snapshot_take(&k->snapshot, &k->model, at);
	if (!err && k->blame)
		err = blame_snapshot(k->blame, blame);
	uint64_t end_ns = at.known ? at.ns : k->model.stream.now_ns;
	struct stat_report r = {
		.session = s,
		.snapshot = &k->snapshot,
		.blame = k->opt.blame || blame->total.counted ? blame : NULL,
		.cpus = k->opt.cpus,
		.verbose = k->opt.verbose,
		.is_counted = k->opt.counters,
		.begin_ns = s->run_begin.known ? s->run_begin.ns : k->model.first.ns,
		.at = {end_ns, k->opt.interval_ns != 0},
		.has_open = k->opt.blame && k->opt.interval_ns,
		.open = find_open(k, end_ns, &open) ? &open : NULL,
	};
	r.wall_ns = end_ns > r.begin_ns ? end_ns - r.begin_ns : 0;
	if (!err)
		err = put_numbers(k, &r);
	blame_sums_done(blame);
	free(blame);
	return err;
}

/* ---- at the end of each interval ---- */

/* 0 or -ENOMEM. */
static int put_interval(void *ctx, uint64_t begin_ns, uint64_t end_ns)
{
	struct stat *k = ctx;
	int err = stat_tallies_apply(&k->tallies, &k->model, end_ns);
	if (err)
		return err;
	if (k->opt.json)
		return put_report(k, moment_at(end_ns));
	put_line(k, begin_ns, end_ns);
	return 0;
}

/* Puts out what there is at the end of each interval up to this moment. 0 or -ENOMEM. */
static int pass_intervals(struct stat *k, uint64_t now_ns)
{
	uint64_t first = k->model.first.known ? k->model.first.ns : now_ns;
	return report_interval_pass(&k->interval, k->session, first, now_ns, put_interval, k);
}

/* Where a probe is at pauses the kernel's counts come with them, asked for or not. */
static bool has_probes(const struct ebt_event *ev, size_t n)
{
	const struct ebt_event *end = ev + n;
	while (ev < end && !(ev->flags & EBT_F_BPF && ev->kind == EBT_BEGIN))
		ev++;
	return ev < end;
}

/* With the tallies between them. */
static int count_events(struct stat *k, const struct ebt_event *ev, size_t n)
{
	int err = 0;
	while (n && !err) {
		size_t next = stat_tallies_before(&k->tallies, ev, n);
		err = next ? stat_model_events(&k->model, ev, next)
			   : stat_tallies_apply(&k->tallies, &k->model, ev->ts);
		ev += next;
		n -= next;
	}
	return err;
}

static int stat_events(struct sink *base, const struct ebt_event *ev, size_t n)
{
	struct stat *k = (struct stat *)base;
	int err = 0;
	if (!k->blame && has_probes(ev, n))
		err = blame_new(k->session, k->opt.longest, &k->blame);
	if (!err && !k->opt.interval_ns) {
		err = k->blame ? blame_events(k->blame, ev, n) : 0;
		return err ? err : count_events(k, ev, n);
	}
	for (size_t i = 0; i < n && !err; i++) {
		if (report_interval_ends(&k->interval, ev[i].ts))
			err = pass_intervals(k, ev[i].ts);
		if (!err && k->blame)
			err = blame_events(k->blame, &ev[i], 1);
		if (!err)
			err = count_events(k, &ev[i], 1);
	}
	return err;
}

static int stat_advance(struct sink *base, uint64_t now_ns)
{
	struct stat *k = (struct stat *)base;
	bool passes = report_interval_is_live(&k->interval, k->session, now_ns);
	int err = 0;
	if (passes && report_interval_ends(&k->interval, now_ns))
		err = pass_intervals(k, now_ns);
	if (!err && now_ns != UINT64_MAX)
		err = stat_tallies_apply(&k->tallies, &k->model, now_ns);
	return err;
}

/* Shortly before a line ends it is recorded which threads are without a CPU, and tallies are
 * made. */
static int stat_tick(struct sink *base, uint64_t now_ns)
{
	struct stat *k = (struct stat *)base;
	uint64_t ahead = k->opt.interval_ns / 4 < OPEN_NS ? k->opt.interval_ns / 4 : OPEN_NS;
	if (!(k->opt.blame || k->opt.counters) || !k->opt.interval_ns || !k->interval.next_ns ||
	    k->open_of_ns == k->interval.next_ns || now_ns + ahead < k->interval.next_ns)
		return 0;
	k->open_of_ns = k->interval.next_ns;
	k->base.wants_open = true;
	return 0;
}

static int stat_forget(struct sink *base, uint32_t process)
{
	struct stat *k = (struct stat *)base;
	int err = k->blame ? blame_forget(k->blame, process) : 0;
	if (!err)
		err = stat_tallies_forget(&k->tallies, &k->model, process);
	int forgotten = stat_model_forget(&k->model, process);
	return err ? err : forgotten;
}

static int stat_flush(struct sink *base)
{
	return buf_flush(&((struct stat *)base)->buf);
}

static bool stat_ready(struct sink *base)
{
	return buf_ready(&((struct stat *)base)->buf);
}

static int stat_end(struct sink *base)
{
	struct stat *k = (struct stat *)base;
	const struct moment *end = &k->session->run_end;
	if (k->cancelled)
		return 0;
	int err = 0;
	/* The last line may end with the run. */
	if (k->opt.interval_ns && k->session->run_begin.known && end->known)
		err = pass_intervals(k, end->ns);
	if (!err)
		err = stat_tallies_apply(&k->tallies, &k->model, UINT64_MAX);
	if (!err)
		err = stat_model_end(&k->model, *end);
	if (!err)
		err = put_report(k, *end);
	int written = buf_finish(&k->buf);
	return err ? err : written;
}

static void stat_free(struct sink *base)
{
	struct stat *k = (struct stat *)base;
	stat_snapshot_done(&k->snapshot);
	stat_tallies_done(&k->tallies);
	stat_model_done(&k->model);
	blame_free(k->blame);
	histogram_done(&k->pauses);
	buf_done(&k->buf);
	free(k);
}

static void stat_cancel(struct sink *base)
{
	((struct stat *)base)->cancelled = true;
}

void stat_take_tally(void *sink, struct tally *t)
{
	stat_tallies_add(&((struct stat *)sink)->tallies, t);
}

static const struct sink_ops stat_ops = {
	.events = stat_events,
	.advance = stat_advance,
	.tick = stat_tick,
	.forget = stat_forget,
	.flush = stat_flush,
	.ready = stat_ready,
	.cancel = stat_cancel,
	.end = stat_end,
	.free = stat_free,
};

int stat_new(const struct session *s, int fd, const struct stat_options *o, struct sink **ret)
{
	struct stat *k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	int err = stat_model_init(&k->model, s, o->top);
	if (!err && o->blame)
		err = blame_new(s, o->longest, &k->blame);
	if (!err)
		err = buf_init_behind(&k->buf, fd, STAT_BUFFER_BYTES, SINK_BEHIND_BYTES);
	if (err) {
		blame_free(k->blame);
		stat_model_done(&k->model);
		free(k);
		return err;
	}
	k->base.ops = &stat_ops;
	k->base.out = &k->buf;
	k->session = s;
	k->opt = *o;
	k->interval.step_ns = o->interval_ns;
	if (o->interval_ns && !o->json)
		stat_model_count_intervals(&k->model, &k->pauses);
	if (o->mmu)
		stat_model_measure_mutators(&k->model);
	*ret = &k->base;
	return 0;
}
