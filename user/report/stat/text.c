/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/text.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/plural.h"
#include "base/utf8.h"
#include "report/stat/mmu.h"
#include "report/stat/percentiles.h"
#include "report/text.h"

#define PHASES_SHOWN 10 /* without -v */

struct shown {
	char text[24];
};

/* Four or more digits, with the unit: "12.345 ms". */
static struct shown show_ns(double ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	struct shown s;
	unsigned u = 0;
	while (u < 3 && ns >= 1000) {
		ns /= 1000;
		u++;
	}
	snprintf(s.text, sizeof(s.text), u ? "%.3f %s" : "%.0f %s", ns, units[u]);
	return s;
}

/* "25.0", "99.9999": no more digits than it has. */
static struct shown show_percentile(uint32_t parts)
{
	struct shown s;
	snprintf(s.text, sizeof(s.text), "%u.%04u", parts / 10000, parts % 10000);
	for (size_t n = strlen(s.text); s.text[n - 1] == '0' && s.text[n - 2] != '.'; n--)
		s.text[n - 1] = 0;
	return s;
}

static struct shown show_count(double v)
{
	static const char *const units[] = {"", "k", "M", "G", "T"};
	struct shown s;
	unsigned u = 0;
	while (u < 4 && v >= 10000) {
		v /= 1000;
		u++;
	}
	snprintf(s.text, sizeof(s.text), "%.0f%s", v, units[u]);
	return s;
}

static struct shown show_words(const struct stat_words *w)
{
	struct shown s = {"n/a"};
	if (w->seen)
		snprintf(s.text, sizeof(s.text), "%" PRIu64, w->words);
	return s;
}

void stat_text_line(struct buf *b, const struct stat_line *l, bool heading)
{
	const struct histogram *h = l->pauses;
	if (heading)
		buf_puts(b, "#   time    pauses         p50         p99         max    GC %  "
			    "minor  major   words/s      lost\n");
	struct shown p50 = show_ns((double)histogram_at(h, 500000));
	struct shown p99 = show_ns((double)histogram_at(h, 990000));
	struct shown max = show_ns((double)h->max);
	struct shown words = {"n/a"};
	if (l->words_per_s >= 0)
		words = show_count(l->words_per_s);
	report_print(b,
		     "%8.3f  %8" PRIu64 "  %10s  %10s  %10s  %6.2f  %5" PRIu64 "  %5" PRIu64
		     "  %8s  ",
		     (double)l->end_ns / 1e9, h->count, h->count ? p50.text : "-",
		     h->count ? p99.text : "-", h->count ? max.text : "-", l->gc_percent, l->minors,
		     l->majors, words.text);
	if (l->lost_words && (!l->lost_events || l->lost_uncounted))
		report_print(b, "%7" PRIu64 "w\n", l->lost_words);
	else if (l->lost_uncounted)
		buf_puts(b, "       ?\n");
	else
		report_print(b, "%8" PRIu64 "\n", l->lost_events);
	if (l->open)
		stat_blame_open_text(b, l->open);
}

static void put_row(struct buf *b, const char *name, const char *value, const char *more)
{
	report_print(b, "  %-18s %14s", name, value);
	if (*more)
		report_print(b, "  %s", more);
	buf_puts(b, "\n");
}

static void put_times(struct buf *b, const struct stat_numbers *n, uint64_t wall_ns)
{
	const struct process_usage *u = &n->usage;
	char more[96] = "";
	put_row(b, "wall time", show_ns((double)wall_ns).text, "");
	if (u->known) {
		snprintf(more, sizeof(more), "(user %s, system %s)",
			 show_ns((double)u->user_ns).text, show_ns((double)u->system_ns).text);
		put_row(b, "CPU time", show_ns((double)(u->user_ns + u->system_ns)).text, more);
	} else {
		put_row(b, "CPU time", "n/a", "");
	}
	snprintf(more, sizeof(more), "%.2f %% of the domains' %s",
		 stat_numbers_percent(n->gc_ns, n->elapsed_ns),
		 show_ns((double)n->elapsed_ns).text);
	put_row(b, "GC time", show_ns((double)n->gc_ns).text, more);
	struct shown rss = {"n/a"};
	if (u->has_peak_rss)
		snprintf(rss.text, sizeof(rss.text), "%.1f MiB",
			 (double)u->peak_rss_bytes / 1048576);
	put_row(b, "peak RSS", rss.text, "");
}

struct shown_loss {
	char text[80];
};

/* "12 events, 40 words"; an unknown number is no 0. */
static struct shown_loss show_loss(uint64_t events, uint64_t uncounted, uint64_t words)
{
	struct shown_loss s;
	char number[32] = "an unknown number of";
	if (!uncounted)
		snprintf(number, sizeof(number), "%" PRIu64, events);
	else if (events)
		snprintf(number, sizeof(number), "at least %" PRIu64, events);
	snprintf(s.text, sizeof(s.text), "%s event%s, %" PRIu64 " word%s", number,
		 plural(uncounted ? 2 : events), words, plural(words));
	return s;
}

static void put_coverage(struct buf *b, const struct stat_numbers *n)
{
	static const char indent[] = "                                     ";
	const struct stat_loss *l = &n->lost;
	char covered[24] = "n/a", more[160] = "nothing lost";
	uint64_t history_uncounted = l->history_uncounted - l->unwatched;
	bool history = l->history_events || l->history_words || history_uncounted;
	if (n->elapsed_ns)
		snprintf(covered, sizeof(covered), "%.4f %%",
			 100 - stat_numbers_percent(n->uncovered_ns, n->elapsed_ns));
	if (l->events || l->words || l->uncounted)
		snprintf(more, sizeof(more), "lost: %s",
			 show_loss(l->events, l->uncounted, l->words).text);
	else if (history || l->unwatched)
		*more = 0;
	put_row(b, "coverage", covered, more);
	if (history)
		report_print(
			b, "%sbefore the trace began: %s\n", indent,
			show_loss(l->history_events, history_uncounted, l->history_words).text);
	if (l->unwatched)
		report_print(b, "%snot watched: %s before probes were in place\n", indent,
			     show_ns((double)l->unwatched_ns).text);
}

static void put_lanes(struct buf *b, const struct stat_process *p)
{
	bool one_for_all = false;
	buf_puts(b,
		 "\n  domain           elapsed         GC time    GC %      pauses   coverage\n");
	for (const struct stat_lane *l = p->lanes; l; l = l->next) {
		one_for_all |= !l->is_thread && !l->pauses.clock.now.tid && l->pauses.count;
		char name[16], covered[16] = "n/a";
		snprintf(name, sizeof(name), l->is_thread ? "t%u" : "%u", l->number);
		if (l->elapsed_ns)
			snprintf(covered, sizeof(covered), "%.2f %%",
				 100 - stat_numbers_percent(l->uncovered_ns, l->elapsed_ns));
		report_print(b, "  %6s  %16s%16s  %6.2f  %10" PRIu64 "  %9s\n", name,
			     show_ns((double)l->elapsed_ns).text,
			     show_ns((double)l->pauses.clock.gc_ns).text,
			     stat_numbers_percent(l->pauses.clock.gc_ns, l->elapsed_ns),
			     l->pauses.count, covered);
	}
	if (one_for_all)
		buf_puts(b,
			 "  (threads of a domain are not distinguished: a pause may hold the time "
			 "of others)\n");
}

/* Those that are the longest pause as the one before was are left out. */
static void put_percentiles(struct buf *b, const struct histogram *h, bool all)
{
	static const uint32_t few[] = {500000, 900000, 990000, 999000, 999900};
	const uint32_t *at = all ? stat_percentiles : few;
	size_t n = all ? STAT_PERCENTILES : sizeof(few) / sizeof(*few);
	uint64_t ns = 0;
	for (size_t i = 0; i < n && ns < h->max; i++) {
		ns = histogram_at(h, at[i]);
		report_print(b, "  %10s %%  %14s\n", show_percentile(at[i]).text,
			     show_ns((double)ns).text);
	}
}

static void put_pauses(struct buf *b, const struct stat_pauses *p, bool verbose)
{
	const struct histogram *h = &p->whole;
	const uint64_t *cut = p->cut;
	report_print(b, "\n  pauses %" PRIu64, h->count);
	if (cut[STAT_CUT_START] || cut[STAT_CUT_LOSS] || cut[STAT_CUT_END])
		report_print(b,
			     "; cut, and not in the percentiles: %" PRIu64 " at the begin, %" PRIu64
			     " by loss, %" PRIu64 " at the end (%s or more)",
			     cut[STAT_CUT_START], cut[STAT_CUT_LOSS], cut[STAT_CUT_END],
			     show_ns((double)p->cut_max_ns).text);
	if (cut[STAT_CUT_LATE])
		report_print(b,
			     "\n  and %" PRIu64
			     " of unknown length, as one of their events came late",
			     cut[STAT_CUT_LATE]);
	buf_puts(b, "\n");
	if (!h->count)
		return;
	report_print(b, "  min %s, max %s, mean %s, standard deviation %s\n",
		     show_ns((double)h->min).text, show_ns((double)h->max).text,
		     show_ns(histogram_mean(h)).text, show_ns(histogram_stddev(h)).text);
	put_percentiles(b, h, verbose);
}

static void put_work(struct buf *b, const struct stat_numbers *n)
{
	report_print(b,
		     "\n  collections        %" PRIu64 " minor, %" PRIu64 " major; forced %" PRIu64
		     " minor, %" PRIu64 " major\n",
		     stat_numbers_minors(n), stat_numbers_majors(n),
		     stat_numbers_begun(n, TRAITS_FORCED_MINOR),
		     stat_numbers_begun(n, TRAITS_FORCED_MAJOR));
	report_print(b, "  compactions        %" PRIu64 ", requested %" PRIu64 "\n", n->compactions,
		     stat_numbers_begun(n, TRAITS_FORCED_COMPACTION));
	struct stat_words minor = stat_numbers_minor_words(n),
			  promoted = stat_numbers_promoted_words(n);
	/* Promoted words are allocated there: the runtime did not count all. */
	bool too_few = n->major_words.seen && promoted.words > n->major_words.words;
	report_print(b, "  words allocated    %s in the minor heap, %s%s in the major heap\n",
		     show_words(&minor).text, too_few ? "at least " : "",
		     show_words(too_few ? &promoted : &n->major_words).text);
	report_print(b, "  words promoted     %s", show_words(&promoted).text);
	if (promoted.seen && minor.words)
		report_print(b, " (%.2f %%)", stat_numbers_percent(promoted.words, minor.words));
	report_print(b, "\n  heap words         %s at the end, %s at most\n",
		     show_words(&n->heap).text, show_words(&n->heap_max).text);
}

/* The phase of the most time of those that are not done. */
static uint32_t next_phase(const struct stat_numbers *n, const bool *done)
{
	uint32_t best = PHASE_ROWS;
	for (uint32_t i = 0; i < PHASE_ROWS; i++) {
		const struct stat_phase *ph = &n->phases[i];
		if (done[i] || !(ph->count || ph->cut))
			continue;
		if (best == PHASE_ROWS || ph->total_ns > n->phases[best].total_ns)
			best = i;
	}
	return best;
}

static void put_phases(struct buf *b, const struct stat_numbers *n, bool verbose)
{
	bool done[PHASE_ROWS] = {false};
	unsigned rows = 0, more = 0;
	buf_puts(b, "\n  phase                               count           total            self"
		    "             max\n");
	for (uint32_t i; (i = next_phase(n, done)) < PHASE_ROWS; done[i] = true) {
		const struct stat_phase *ph = &n->phases[i];
		if (rows++ >= PHASES_SHOWN && !verbose) {
			more++;
			continue;
		}
		report_print(b, "  %-30s %10" PRIu64 "%16s%16s%16s", phases_name(i), ph->count,
			     show_ns((double)ph->total_ns).text, show_ns((double)ph->self_ns).text,
			     show_ns((double)ph->max_ns).text);
		if (ph->cut)
			report_print(b, "  + %" PRIu64 " cut", ph->cut);
		if (!phases_stop(i))
			buf_puts(b, "  (no pause)");
		buf_puts(b, "\n");
	}
	if (more)
		report_print(b, "  (%u more with less time; -v shows them)\n", more);
	if (n->phases[PHASES_UNKNOWN].count || n->phases[PHASES_UNKNOWN].cut)
		buf_puts(b, "  (unknown: phases that are in no table, taken as pauses)\n");
}

static void put_section(struct buf *b, const struct stat_numbers *n,
			const struct stat_process *process, uint64_t wall_ns, bool verbose)
{
	put_times(b, n, wall_ns);
	put_coverage(b, n);
	if (process && process->lanes)
		put_lanes(b, process);
	put_pauses(b, &n->pauses, verbose);
	if (process)
		stat_mmu_text(b, process);
	put_work(b, n);
	put_phases(b, n, verbose);
	if (n->unmatched)
		report_print(b, "  (%" PRIu64 " end%s without a begin)\n", n->unmatched,
			     plural(n->unmatched));
	if (n->damaged)
		report_print(b, "  (%" PRIu64 " damaged place%s)\n", n->damaged,
			     plural(n->damaged));
	if (n->late)
		report_print(b, "  (%" PRIu64 " event%s came late)\n", n->late, plural(n->late));
}

/* What a program calls itself may hold anything. */
static void put_foreign(struct buf *b, const char *before, const char *name, const char *after)
{
	char plain[64];
	snprintf(plain, sizeof(plain), "%s", name);
	utf8_disarm(plain);
	if (*plain)
		report_print(b, "%s%s%s", before, plain, after);
}

static void put_heading(struct buf *b, const struct stat_section *s)
{
	const struct stat_program *g = s->program;
	if (g) {
		put_foreign(b, "\nProgram ", *g->comm ? g->comm : "without a name", "");
		report_print(b, ", %u process%s", g->processes, plural_of(g->processes, "", "es"));
		put_foreign(b, ", ", g->producer, "");
	} else {
		report_print(b, "\nProcess %u", s->process->pid);
		put_foreign(b, " (", s->process->comm, ")");
		put_foreign(b, ", ", s->process->producer, "");
	}
	buf_puts(b, ":\n\n");
}

/* What most people ask for, before the figures that it comes from. */
static void put_conclusion(struct buf *b, const struct stat_report *r)
{
	const struct stat_numbers *n = r->total;
	const struct histogram *h = &n->pauses.whole;
	report_print(b, "\n  GC took %.2f %% of the domains' %s",
		     stat_numbers_percent(n->gc_ns, n->elapsed_ns),
		     show_ns((double)n->elapsed_ns).text);
	if (h->count)
		report_print(b, ", in %" PRIu64 " pause%s: ", h->count, plural(h->count));
	if (h->count >= 2)
		report_print(b, "half of them %s at most, ",
			     show_ns((double)histogram_at(h, 500000)).text);
	if (h->count >= 100)
		report_print(b, "one in a hundred %s or more, ",
			     show_ns((double)histogram_at(h, 990000)).text);
	if (h->count)
		report_print(b, "the longest %s", show_ns((double)h->max).text);
	buf_puts(b, ".\n");
	if (n->uncovered_ns)
		report_print(
			b,
			"  Events were lost in %.2f %% of that time, and nothing is known of it.\n",
			stat_numbers_percent(n->uncovered_ns, n->elapsed_ns));
	if (!r->blame)
		return;
	stat_blame_sentence(b, r->session, r->blame);
	stat_advice_text(b, r);
}

void stat_text_report(struct buf *b, const struct stat_report *r)
{
	const struct stat_sections *all = r->sections;
	uint32_t processes = r->snapshot->count;
	if (!processes)
		buf_puts(b, "No events.\n");
	else
		put_conclusion(b, r);
	bool one = processes == 1;
	for (uint32_t i = 0; i < all->shown; i++) {
		const struct stat_section *s = &all->section[i];
		put_heading(b, s);
		put_section(b, s->numbers, s->process, one ? r->wall_ns : s->wall_ns, r->verbose);
	}
	if (all->shown < all->count)
		report_print(b, "\n(%u more %s with less GC time; --top %u shows them)\n",
			     all->count - all->shown, all->programs ? "programs" : "processes",
			     all->count);
	if (processes > 1) {
		report_print(b, "\nAll %u processes%s:\n\n", processes,
			     !all->programs ? ""
			     : r->snapshot->programs->count
				     ? " (--by process shows those with the most GC time)"
				     : " (--by process shows each)");
		put_section(b, r->total, NULL, r->wall_ns, r->verbose);
	}
	if (r->is_counted)
		buf_puts(b, "\n(counted in the kernel: when pauses were is not known, nor their "
			    "parts)\n");
	buf_puts(b, "\n");
	if (!r->blame)
		return;
	stat_blame_text(b, r->session, r->blame, r->begin_ns);
	buf_puts(b, "\n");
}
