/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/parts/numbers.h"

void stat_numbers_done(struct stat_numbers *n)
{
	histogram_done(&n->pauses.whole);
}

void stat_loss_count(struct stat_loss *l, const struct ebt_event *lost)
{
	uint64_t events = lost->arg[0] == EBT_LOST_UNCOUNTED ? 0 : lost->arg[0];
	bool history = lost->flags & EBT_F_HISTORY;
	*(history ? &l->history_events : &l->events) += events;
	*(history ? &l->history_words : &l->words) += lost->arg[1];
	*(history ? &l->history_uncounted : &l->uncounted) += lost->arg[0] == EBT_LOST_UNCOUNTED;
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

static void add_phases(struct stat_numbers *sum, const struct stat_numbers *n)
{
	for (uint32_t i = 0; i < PHASE_ROWS; i++) {
		struct stat_phase *to = &sum->phases[i];
		const struct stat_phase *ph = &n->phases[i];
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

int stat_numbers_add(struct stat_numbers *sum, const struct stat_numbers *n)
{
	sum->elapsed_ns += n->elapsed_ns;
	sum->gc_ns += n->gc_ns;
	sum->uncovered_ns += n->uncovered_ns;
	add_usage(&sum->usage, &n->usage);
	for (unsigned i = 0; i < STAT_CUTS; i++)
		sum->pauses.cut[i] += n->pauses.cut[i];
	if (n->pauses.cut_max_ns > sum->pauses.cut_max_ns)
		sum->pauses.cut_max_ns = n->pauses.cut_max_ns;
	add_phases(sum, n);
	/* By their own rules, since each process has its own runtime. */
	sum->minors += stat_numbers_minors(n);
	sum->majors += stat_numbers_majors(n);
	sum->compactions += n->compactions;
	struct stat_words minor = stat_numbers_minor_words(n);
	struct stat_words promoted = stat_numbers_promoted_words(n);
	add_words(&sum->minor_words, &minor);
	add_words(&sum->promoted_words, &promoted);
	add_words(&sum->major_words, &n->major_words);
	add_words(&sum->heap, &n->heap);
	add_words(&sum->heap_max, &n->heap_max);
	add_loss(&sum->lost, &n->lost);
	sum->unmatched += n->unmatched;
	sum->late += n->late;
	sum->damaged += n->damaged;
	return histogram_merge(&sum->pauses.whole, &n->pauses.whole);
}

uint64_t stat_numbers_begun(const struct stat_numbers *n, enum traits_role role)
{
	uint64_t begun = 0;
	for (uint32_t row = 0; row < PHASE_ROWS; row++)
		if (n->phases[row].begun && phases_at(row)->roles & role)
			begun += n->phases[row].begun;
	return begun;
}

uint64_t stat_numbers_minors(const struct stat_numbers *n)
{
	if (n->minors)
		return n->minors;
	uint64_t minors = stat_numbers_begun(n, TRAITS_MINOR_ONCE);
	if (!minors && !n->minor_is_shared)
		return stat_numbers_begun(n, TRAITS_MINOR);
	return n->lane_minors > minors ? n->lane_minors : minors;
}

uint64_t stat_numbers_majors(const struct stat_numbers *n)
{
	bool cycles = n->majors || stat_numbers_begun(n, TRAITS_SLICE);
	return cycles ? n->majors : stat_numbers_begun(n, TRAITS_MAJOR);
}

struct stat_words stat_numbers_minor_words(const struct stat_numbers *n)
{
	return n->minor_words.seen
		       ? n->minor_words
		       : (struct stat_words){n->minor_bytes.seen, n->minor_bytes.words / 8};
}

struct stat_words stat_numbers_promoted_words(const struct stat_numbers *n)
{
	return n->promoted_words.seen
		       ? n->promoted_words
		       : (struct stat_words){n->promoted_bytes.seen, n->promoted_bytes.words / 8};
}

double stat_numbers_percent(uint64_t part, uint64_t whole)
{
	return !whole ? 0 : part >= whole ? 100 : 100.0 * (double)part / (double)whole;
}
