/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the figures of a run suggest. Each line names its figures and the entry of ADVICE in the
 * manual that explains it; nothing is suggested by fewer than ADVICE_PAUSES pauses.
 */
#include <inttypes.h>

#include "base/plural.h"
#include "report/stat/blame.h"
#include "report/stat/report.h"
#include "report/text.h"
#include "session/phases.h"

#define ADVICE_PAUSES 10

/* What is compared, in per cent of the pauses' time or as it is said. */
#define WAIT_MANY     10
#define DOMAIN_MANY   20
#define FAULT_MANY    10
#define PROMOTED_MANY 20 /* of the words of the minor heap */
#define MAJOR_MANY    50 /* of the GC time */

static double part_percent(const struct blame_sum *s, enum blame_part part)
{
	return report_percent((double)s->ns[part], (double)s->pause_ns);
}

static uint32_t most_domains(const struct stat_snapshot *m)
{
	uint32_t most = 0;
	for (const struct stat_process *p = m->first; p; p = p->next) {
		uint32_t n = 0;
		for (const struct stat_lane *l = p->lanes; l; l = l->next)
			n += !l->is_thread;
		most = n > most ? n : most;
	}
	return most;
}

static void advise_of_cpus(struct buf *b, const struct stat_report *r, double wait)
{
	const struct blame_sum *s = &r->blame->total;
	const struct blame_runner *most = blame_sums_runner(r->blame);
	report_print(b, "  [cpu] %.1f %% of the pauses' time waits for a CPU", wait);
	if (most) {
		report_print(b, ", at least %.1f %% behind ",
			     report_percent((double)most->ns, (double)s->pause_ns));
		buf_put_plain(b, most->is_tracer ? "this tracer" : most->comm);
	}
	buf_puts(b, ". Give the process CPUs of its own, or more weight.\n");
}

static void advise_of_pauses(struct buf *b, const struct stat_report *r)
{
	const struct blame_sum *s = &r->blame->total;
	uint32_t domains = most_domains(r->snapshot);
	double wait = part_percent(s, BLAME_WAIT), domain = part_percent(s, BLAME_DOMAIN);
	double fault = part_percent(s, BLAME_FAULT) + part_percent(s, BLAME_FAULT_CPU) +
		       part_percent(s, BLAME_MEMORY);
	if (s->pauses < ADVICE_PAUSES)
		return;
	if (wait >= WAIT_MANY)
		advise_of_cpus(b, r, wait);
	if (r->cpus && domains > r->cpus)
		report_print(b,
			     "  [domains] %" PRIu32 " domains on %u CPU%s: each collection needs "
			     "all of them at once. Use as many as there are CPUs.\n",
			     domains, r->cpus, plural(r->cpus));
	if (domain >= DOMAIN_MANY)
		report_print(b,
			     "  [barrier] %.1f %% of the pauses' time waits for the last domain "
			     "to arrive. See above what it did.\n",
			     domain);
	if (fault >= FAULT_MANY)
		report_print(b,
			     "  [memory] %.1f %% of the pauses' time waits for memory: page "
			     "faults, and calls that map and return it.\n",
			     fault);
}

static uint64_t major_ns(const struct stat_numbers *n)
{
	uint64_t ns = 0;
	for (uint32_t row = 0; row < PHASE_ROWS; row++)
		ns += phases_at(row)->roles & TRAITS_MAJOR_WORK ? n->phases[row].total_ns : 0;
	return ns;
}

/* How often the program has called what runs cycles of the major collection to their end, if most
 * cycles are of these calls; 0: they are not. */
static uint64_t forced(const struct stat_numbers *n)
{
	uint64_t calls = 0, cycles = 0;
	for (uint32_t row = 0; row < PHASE_ROWS; row++) {
		const struct traits_phase *p = phases_at(row);
		if (!(p->roles & TRAITS_FORCED_MAJOR))
			continue;
		calls += n->phases[row].begun;
		cycles += n->phases[row].begun * p->cycles;
	}
	return cycles * 2 >= n->majors ? calls : 0;
}

static void advise_of_forced(struct buf *b, const struct stat_report *r, double major,
			     uint64_t calls)
{
	report_print(b,
		     "  [major] %.1f %% of the GC time marks and sweeps the major heap, most of it "
		     "because the program forces collections: %" PRIu64 " call%s",
		     major, calls, plural(calls));
	if (!stat_blame_put_calls(b, r->session, r->blame, TRAITS_FORCED_MAJOR))
		buf_puts(b, " (--blame --mode probes shows from which line)");
	buf_puts(b, ". Without calls it is collected at its own pace.\n");
}

/* What sets the minor heap's size, and the pace of the major collection, in the languages of the
 * run, in parentheses. */
static void put_setting(struct buf *b, const struct session *s, bool minor)
{
	struct process_kind kind;
	for (size_t at = 0; processes_next_kind(&s->processes, &at, &kind);) {
		const struct traits_language *l = kind.traits.runtime.language;
		const char *setting = !l      ? NULL
				      : minor ? l->minor_heap_setting
					      : l->major_pace_setting;
		if (!setting)
			continue;
		report_print(b, " (%s)", setting);
		return;
	}
}

static void advise_of_heap(struct buf *b, const struct stat_report *r)
{
	const struct stat_numbers *n = r->total;
	struct stat_words minor = stat_numbers_minor_words(n),
			  promoted = stat_numbers_promoted_words(n);
	double share = report_percent((double)promoted.words, (double)minor.words);
	double major = report_percent((double)major_ns(n), (double)n->gc_ns);
	if (stat_numbers_minors(n) < ADVICE_PAUSES)
		return;
	if (promoted.seen && share >= PROMOTED_MANY) {
		report_print(b,
			     "  [minor-heap] %.1f %% of the words of the minor heap are promoted. "
			     "In a larger minor heap",
			     share);
		put_setting(b, r->session, true);
		buf_puts(b, " more of them die before they are copied.\n");
	}
	uint64_t calls = forced(n);
	if (major >= MAJOR_MANY && calls) {
		advise_of_forced(b, r, major, calls);
	} else if (major >= MAJOR_MANY) {
		report_print(b,
			     "  [major] %.1f %% of the GC time marks and sweeps the major heap. A "
			     "slower pace",
			     major);
		put_setting(b, r->session, false);
		buf_puts(b, " does less of it, for more memory.\n");
	}
}

void stat_advice_text(struct buf *b, const struct stat_report *r)
{
	struct buf lines;
	if (!buf_init_part(&lines, b))
		return;
	advise_of_pauses(&lines, r);
	advise_of_heap(&lines, r);
	if (lines.len)
		report_print(b, "\nWhat the figures suggest (ADVICE in ebtrace-stat(1)):\n");
	buf_put(b, lines.data, lines.len);
	buf_done_part(&lines, b);
}
