/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a run, and what its numbers add up to. */
#include "sink/stat_lane.h"
#include "sink/stat_sleep.h"

static uint64_t end_of(const struct stat_model *m, const struct stat_process *p)
{
	struct moment end = p->end;
	if (!end.known && p->about)
		end = p->about->end;
	if (!end.known)
		end = m->session->run_end;
	return end.ns > p->last_ns ? end.ns : p->last_ns;
}

static int end_process(struct stat_model *m, struct stat_process *p)
{
	stat_model_know(m, p);
	int err = stat_lanes_sort(p);
	if (p->about)
		p->usage = p->about->usage;
	uint64_t end = end_of(m, p);
	for (struct stat_lane *l = p->lanes; l && !err; l = l->next) {
		stat_sleep_wake(l);
		err = stat_lane_close(m, l, end, true);
		p->elapsed_ns += l->elapsed_ns;
		p->gc_ns += l->gc_ns;
		p->uncovered_ns += l->uncovered_ns;
	}
	p->wall_ns = end > p->begin_ns ? end - p->begin_ns : 0;
	/* Of one that was never seen to do anything its life counts, and what of it was not watched. */
	if (!p->lanes && p->lost.unwatched_ns) {
		uint64_t hole = p->lost.unwatched_ns;
		p->elapsed_ns = p->wall_ns;
		p->uncovered_ns = hole < p->wall_ns ? hole : p->wall_ns;
	}
	return err;
}

int stat_model_end(struct stat_model *m)
{
	int err = 0;
	for (struct stat_process *p = m->processes; p && !err; p = p->next)
		err = end_process(m, p);
	return err;
}

static void add_words(struct stat_words *to, const struct stat_words *w)
{
	to->seen |= w->seen;
	to->words += w->words;
}

static void add_loss(struct stat_loss *to, const struct stat_loss *l)
{
	to->events += l->events;
	to->words += l->words;
	to->history_events += l->history_events;
	to->history_words += l->history_words;
	to->uncounted += l->uncounted;
	to->history_uncounted += l->history_uncounted;
	to->unwatched += l->unwatched;
	to->unwatched_ns += l->unwatched_ns;
}

static void add_phases(struct stat_process *total, const struct stat_process *p)
{
	for (uint32_t i = 0; i <= STAT_PHASES; i++) {
		struct stat_phase *to = &total->phases[i];
		const struct stat_phase *ph = &p->phases[i];
		to->begun += ph->begun;
		to->count += ph->count;
		to->cut += ph->cut;
		to->total_ns += ph->total_ns;
		to->self_ns += ph->self_ns;
		if (ph->max_ns > to->max_ns)
			to->max_ns = ph->max_ns;
	}
}

static void add_usage(struct process_usage *to, const struct process_usage *u)
{
	to->known |= u->known;
	to->user_ns += u->user_ns;
	to->system_ns += u->system_ns;
	to->peak_rss_bytes += u->peak_rss_bytes;
	to->has_peak_rss |= u->has_peak_rss;
}

int stat_model_add(struct stat_process *total, const struct stat_process *p)
{
	total->elapsed_ns += p->elapsed_ns;
	total->gc_ns += p->gc_ns;
	total->uncovered_ns += p->uncovered_ns;
	add_usage(&total->usage, &p->usage);
	for (unsigned i = 0; i < STAT_CUTS; i++)
		total->pauses.cut[i] += p->pauses.cut[i];
	if (p->pauses.cut_max_ns > total->pauses.cut_max_ns)
		total->pauses.cut_max_ns = p->pauses.cut_max_ns;
	add_phases(total, p);
	/* By their own rules, since each process has its own runtime. */
	total->minors += stat_minors(p);
	total->majors += stat_majors(p);
	total->compactions += p->compactions;
	struct stat_words minor = stat_minor_words(p), promoted = stat_promoted_words(p);
	add_words(&total->minor_words, &minor);
	add_words(&total->promoted_words, &promoted);
	add_words(&total->major_words, &p->major_words);
	add_words(&total->heap, &p->heap);
	add_words(&total->heap_max, &p->heap_max);
	add_loss(&total->lost, &p->lost);
	total->unmatched += p->unmatched;
	total->late += p->late;
	total->damaged += p->damaged;
	return histogram_merge(&total->pauses.whole, &p->pauses.whole);
}

uint64_t stat_minors(const struct stat_process *p)
{
	if (p->minors)
		return p->minors;
	uint64_t minors = p->phases[STAT_PHASE_minor_global_roots].begun;
	if (!minors && !p->minor_is_shared)
		return p->phases[STAT_PHASE_minor].begun;
	return p->lane_minors > minors ? p->lane_minors : minors;
}

uint64_t stat_majors(const struct stat_process *p)
{
	bool cycles = p->majors || p->phases[STAT_PHASE_major_slice].begun;
	return cycles ? p->majors : p->phases[STAT_PHASE_major].begun;
}

uint64_t stat_forced_majors(const struct stat_process *p)
{
	return p->phases[STAT_PHASE_explicit_gc_major].begun +
	       p->phases[STAT_PHASE_explicit_gc_full_major].begun +
	       p->phases[STAT_PHASE_explicit_gc_compact].begun;
}

struct stat_words stat_minor_words(const struct stat_process *p)
{
	return p->minor_words.seen
		       ? p->minor_words
		       : (struct stat_words){p->minor_bytes.seen, p->minor_bytes.words / 8};
}

struct stat_words stat_promoted_words(const struct stat_process *p)
{
	return p->promoted_words.seen
		       ? p->promoted_words
		       : (struct stat_words){p->promoted_bytes.seen, p->promoted_bytes.words / 8};
}

double stat_percent(uint64_t part, uint64_t whole)
{
	return !whole ? 0 : part >= whole ? 100 : 100.0 * (double)part / (double)whole;
}
