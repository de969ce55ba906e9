/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Streams of a few events, and what they add up to. Times are in microseconds. What is compared is
 * a text: for each process its pauses (count, sum), what was cut (start, loss, end), unmatched
 * ends, then its domains: elapsed, GC time, uncovered.
 */
#include "report/stat/stat.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "report/parts/ids.h"
#include "session/language.h"
#include "tests/tap.h"
#include "tests/unit/stat_fixture.h"

#define MINOR PHASE_minor
#define ROOTS PHASE_minor_local_roots
#define LEAD  PHASE_stw_leader
#define WAIT  PHASE_domain_condition_wait

enum { START, STOP, PAUSE, RESUME, SPAWN = 6, TERMINATE = 7 };

struct step {
	uint64_t us;
	uint16_t kind, domain;
	uint32_t id;
	uint64_t since_us;
	uint32_t pid;
};

static struct ebt_event event_of(const struct step *s)
{
	struct ebt_event ev = {.ts = s->us * US,
			       .kind = s->kind,
			       .domain = s->domain,
			       .id = s->id,
			       .pid = s->pid ? s->pid : 1,
			       .pos = 7,
			       .cpu = EBT_NO_CPU};
	if (s->kind == EBT_END && s->since_us)
		ev.flags = EBT_F_LATE;
	if (s->kind == EBT_LOST) {
		ev.pos = s->since_us * US;
		ev.arg[0] = 5;
	}
	if (s->kind == EBT_COUNTER)
		ev.arg[0] = s->since_us;
	if (s->domain == EBT_NO_DOMAIN) {
		ev.pos = s->kind == EBT_LOST ? ev.pos : EBT_NO_POS;
		ev.tid = s->kind == EBT_LOST ? 0 : 42;
		ev.flags |= EBT_F_BPF;
	}
	return ev;
}

static void describe(const struct stat_snapshot *m, char *text)
{
	*text = 0;
	for (const struct stat_process *p = m->first; p; p = p->next) {
		const struct stat_pauses *ps = &p->numbers.pauses;
		text += sprintf(text, "%s%u/%u cut %u/%u/%u%s un %u", p == m->first ? "" : "; ",
				(unsigned)ps->whole.count, (unsigned)(ps->whole.sum / US),
				(unsigned)ps->cut[0], (unsigned)ps->cut[1], (unsigned)ps->cut[2],
				ps->cut[3] ? " late" : "", (unsigned)p->numbers.unmatched);
		for (const struct stat_lane *l = p->lanes; l; l = l->next)
			text += sprintf(text, " %s%u:%u-%u-%u", l->is_thread ? "t" : "d", l->number,
					(unsigned)(l->elapsed_ns / US),
					(unsigned)(l->pauses.clock.gc_ns / US),
					(unsigned)(l->uncovered_ns / US));
	}
}

/* No run of events makes more garbage collection than time. */
static bool is_sane(const struct stat_snapshot *m)
{
	for (const struct stat_process *p = m->first; p; p = p->next)
		for (const struct stat_lane *l = p->lanes; l; l = l->next)
			if (l->pauses.clock.gc_ns > l->elapsed_ns ||
			    l->uncovered_ns > l->elapsed_ns || l->state == STAT_LANE_LIVE ||
			    l->elapsed_ns > p->wall_ns)
				return false;
	return true;
}

/* begin_us: of a live run, which ends at 1000; 0: a file. */
static void check(const char *name, uint64_t begin_us, const struct step *steps, size_t count,
		  const char *want)
{
	struct stat_run run;
	stat_run_begin(&run, begin_us);
	for (size_t i = 0; i < count; i++) {
		struct ebt_event ev = event_of(&steps[i]);
		stat_run_push(&run, &ev);
	}
	stat_run_end(&run, begin_us ? 1000 : 0);
	char got[1024];
	describe(&run.end, got);
	if (!ok(!strcmp(got, want) && is_sane(&run.end), "%s", name))
		diag("got  %s\n# want %s", got, want);
	stat_run_done(&run);
}
#define CHECK(name, begin, want, ...)                    \
	check(name, begin, (struct step[]){__VA_ARGS__}, \
	      sizeof((struct step[]){__VA_ARGS__}) / sizeof(struct step), want)

#define B(us, d, id)                       \
	{                                  \
		us, EBT_BEGIN, d, id, 0, 0 \
	}
#define E(us, d, id)                     \
	{                                \
		us, EBT_END, d, id, 0, 0 \
	}
#define L(us, d, id)                           \
	{                                      \
		us, EBT_LIFECYCLE, d, id, 0, 0 \
	}
#define LOST(us, d, since)                   \
	{                                    \
		us, EBT_LOST, d, 0, since, 0 \
	}
#define C(us, d)                            \
	{                                   \
		us, EBT_COUNTER, d, 0, 0, 0 \
	}
#define PROCESS(us, what, pid)                               \
	{                                                    \
		us, EBT_PROCESS, EBT_NO_DOMAIN, what, 0, pid \
	}

static void test_pauses(void)
{
	CHECK("a pause is the outermost span", 0, "1/30 cut 0/0/0 un 0 d0:100-30-0",
	      L(100, 0, START), B(110, 0, LEAD), B(115, 0, MINOR), E(120, 0, MINOR),
	      E(140, 0, LEAD), L(200, 0, STOP));
	CHECK("what a domain does while it waits of itself is a pause, the wait is none", 0,
	      "1/10 cut 0/0/0 un 0 d0:100-10-0", L(100, 0, START), B(110, 0, WAIT),
	      B(120, 0, MINOR), E(130, 0, MINOR), E(180, 0, WAIT), L(200, 0, STOP));
	CHECK("a phase that is in no table stops", 0, "1/10 cut 0/0/0 un 0 d0:100-10-0",
	      L(100, 0, START), B(110, 0, EBT_UNKNOWN_ID | 60), E(120, 0, EBT_UNKNOWN_ID | 60),
	      L(200, 0, STOP));
	CHECK("an end inside that is missing ends with the span around it", 0,
	      "1/30 cut 0/0/0 un 0 d0:100-30-0", L(100, 0, START), B(110, 0, LEAD),
	      B(120, 0, MINOR), E(140, 0, LEAD), L(200, 0, STOP));
	CHECK("a pause that is open at the end is cut there", 0, "0/0 cut 0/0/1 un 0 d0:100-40-0",
	      L(100, 0, START), B(160, 0, LEAD), B(170, 0, MINOR), L(200, 0, STOP));
	CHECK("domains pause by themselves", 0, "2/30 cut 0/0/0 un 0 d0:100-20-0 d1:90-10-0",
	      L(100, 0, START), L(110, 1, SPAWN), B(120, 0, LEAD), B(125, 1, MINOR),
	      E(135, 1, MINOR), E(140, 0, LEAD), L(200, 0, STOP));
	CHECK("a pause of which an event came late has no known length", 0,
	      "1/10 cut 0/0/0 late un 0 d0:100-30-0", L(100, 0, START), B(110, 0, LEAD),
	      {130, EBT_END, 0, LEAD, 1, 0}, B(140, 0, MINOR), E(150, 0, MINOR), L(200, 0, STOP));
	CHECK("a second process is another account", 0,
	      "1/10 cut 0/0/0 un 0 d0:100-10-0; 1/20 cut 0/0/0 un 0 d0:50-20-0", L(100, 0, START),
	      {120, EBT_LIFECYCLE, 0, START, 0, 2}, B(130, 0, MINOR),
	      {130, EBT_BEGIN, 0, MINOR, 0, 2}, E(140, 0, MINOR), {150, EBT_END, 0, MINOR, 0, 2},
	      {170, EBT_LIFECYCLE, 0, STOP, 0, 2}, L(200, 0, STOP));
}

static void test_domains(void)
{
	CHECK("a slot that is used again counts its uses together", 0,
	      "2/20 cut 0/0/0 un 0 d0:200-0-0 d1:70-20-0", L(100, 0, START), L(110, 1, SPAWN),
	      B(120, 1, MINOR), E(130, 1, MINOR), L(150, 1, TERMINATE), L(200, 1, SPAWN),
	      B(210, 1, MINOR), E(220, 1, MINOR), L(230, 1, TERMINATE), L(300, 0, STOP));
	CHECK("an end behind a domain's end is none", 0, "0/0 cut 0/0/1 un 0 d0:100-0-0 d1:40-10-0",
	      L(100, 0, START), L(110, 1, SPAWN), B(140, 1, MINOR), L(150, 1, TERMINATE),
	      E(160, 1, MINOR), L(200, 0, STOP));
	CHECK("a domain whose end was not told ended with its last event", 0,
	      "1/10 cut 0/0/0 un 0 d0:100-0-0 d1:30-10-0", L(100, 0, START), L(110, 1, SPAWN),
	      B(120, 1, MINOR), E(130, 1, MINOR), L(190, 1, SPAWN), L(200, 0, STOP));
	CHECK("time without recording is not the domain's", 0, "2/20 cut 0/0/0 un 0 d0:70-20-0",
	      L(100, 0, START), B(110, 0, MINOR), E(120, 0, MINOR), L(140, 0, PAUSE),
	      L(170, 0, RESUME), B(180, 0, MINOR), E(190, 0, MINOR), L(200, 0, STOP));
	CHECK("a pause of the recording stops all domains, and cuts what is open", 0,
	      "0/0 cut 0/0/1 un 0 d0:70-0-0 d1:60-10-0", L(100, 0, START), L(110, 1, SPAWN),
	      B(130, 1, MINOR), L(140, 0, PAUSE), L(170, 0, RESUME), L(200, 0, STOP));
	CHECK("a resume that nobody announced reaches back to the last event", 0,
	      "1/10 cut 0/0/0 un 0 d0:50-10-0", L(100, 0, START), B(110, 0, MINOR),
	      E(120, 0, MINOR), L(170, 0, RESUME), L(200, 0, STOP));
	CHECK("a recording that stops and starts again is one time with a gap", 0,
	      "0/0 cut 0/0/0 un 0 d0:80-0-0", L(100, 0, START), L(150, 0, STOP), L(170, 0, START),
	      L(200, 0, STOP));
	CHECK("an exit ends all, and cuts what is open", 0, "0/0 cut 0/0/1 un 0 d0:100-40-0",
	      L(100, 0, START), B(160, 0, MINOR), PROCESS(200, EBT_PROCESS_EXIT, 1));
	CHECK("a thread without a ring has a time from its first event", 0,
	      "1/10 cut 0/0/0 un 0 d0:100-0-0 t42:80-10-0", L(100, 0, START),
	      B(120, EBT_NO_DOMAIN, MINOR), E(130, EBT_NO_DOMAIN, MINOR),
	      PROCESS(200, EBT_PROCESS_EXIT, 1));
}

static void test_loss(void)
{
	CHECK("a hole cuts what is open at its begin, and is not covered", 0,
	      "0/0 cut 0/1/0 un 0 d0:100-10-20", L(100, 0, START), B(110, 0, MINOR),
	      LOST(140, 0, 120), L(200, 0, STOP));
	CHECK("an end behind a hole tells that it lasted at least from there", 0,
	      "0/0 cut 0/2/0 un 0 d0:100-30-20", L(100, 0, START), B(110, 0, MINOR),
	      LOST(140, 0, 120), E(160, 0, MINOR), L(200, 0, STOP));
	CHECK("pauses that turn out to be parts of a cut one are none", 0,
	      "1/5 cut 0/1/0 un 0 d0:100-45-10", L(100, 0, START), LOST(130, 0, 120),
	      B(140, 0, MINOR), E(150, 0, MINOR), E(160, 0, ROOTS), E(170, 0, LEAD),
	      B(180, 0, MINOR), E(185, 0, MINOR), L(200, 0, STOP));
	CHECK("pauses behind a hole are pauses if no such end comes", 0,
	      "1/10 cut 0/0/0 un 0 d0:100-10-10", L(100, 0, START), LOST(130, 0, 120),
	      B(140, 0, MINOR), E(150, 0, MINOR), L(200, 0, STOP));
	CHECK("of a pause that was open when the run began the phase inside is none of its own",
	      300, "1/5 cut 1/0/0 un 0 d0:700-105-0", L(100, 0, START), B(290, 0, MINOR),
	      E(310, 0, MINOR), B(320, 0, MINOR), E(330, 0, MINOR), E(400, 0, LEAD),
	      B(410, 0, MINOR), E(415, 0, MINOR));
	CHECK("holes that overlap are one", 0, "0/0 cut 0/0/0 un 0 d0:100-0-30", L(100, 0, START),
	      LOST(140, 0, 120), LOST(150, 0, 130), L(200, 0, STOP));
	CHECK("a hole before all that is left begins with the process", 0,
	      "0/0 cut 0/0/0 un 0 d0:100-0-0 d1:100-0-50", C(100, 0), LOST(150, 1, 0), C(200, 0));
	CHECK("a hole of one domain leaves the others alone", 0,
	      "1/30 cut 0/0/0 un 0 d0:100-30-0 d1:90-0-10", L(100, 0, START), L(110, 1, SPAWN),
	      B(120, 0, MINOR), LOST(140, 1, 130), E(150, 0, MINOR), L(200, 0, STOP));
	CHECK("a loss outside all rings concerns the threads without one", 0,
	      "1/30 cut 0/1/0 un 0 d0:100-30-0 t42:80-5-15", L(100, 0, START), B(120, 0, MINOR),
	      B(120, EBT_NO_DOMAIN, MINOR), LOST(140, EBT_NO_DOMAIN, 125), E(150, 0, MINOR),
	      L(200, 0, STOP), PROCESS(200, EBT_PROCESS_EXIT, 1));
	CHECK("a loss that says it began after it ended takes no time", 0,
	      "0/0 cut 0/1/0 un 0 d0:100-30-0", L(100, 0, START), B(110, 0, MINOR),
	      LOST(140, 0, 900), L(200, 0, STOP));
	CHECK("the begin of a domain may be what was lost", 0,
	      "1/10 cut 0/0/0 un 0 d0:100-0-0 d1:80-10-20", L(100, 0, START), LOST(140, 1, 120),
	      B(150, 1, MINOR), E(160, 1, MINOR), L(200, 0, STOP));
}

static void test_attach(void)
{
	CHECK("nothing counts that lies before the run", 500, "1/10 cut 0/0/0 un 0 d0:500-10-0",
	      L(100, 0, START), B(110, 0, MINOR), E(120, 0, MINOR), B(600, 0, MINOR),
	      E(610, 0, MINOR));
	CHECK("a pause that is open when the run begins is cut there", 500,
	      "0/0 cut 1/0/0 un 0 d0:500-20-0", L(100, 0, START), B(490, 0, MINOR),
	      E(520, 0, MINOR));
	CHECK("an end whose begin nobody saw has lasted from the begin of the run", 500,
	      "1/10 cut 1/0/0 un 0 d0:500-40-0", B(510, 0, ROOTS), E(515, 0, ROOTS),
	      E(520, 0, MINOR), E(530, 0, LEAD), B(600, 0, MINOR), E(610, 0, MINOR));
	CHECK("an end of a wait whose begin nobody saw is no pause", 500,
	      "1/5 cut 0/0/0 un 0 d0:500-5-0", B(510, 0, ROOTS), E(515, 0, ROOTS), E(520, 0, WAIT));
	CHECK("an end that has no begin later is counted, and no pause", 500,
	      "0/0 cut 0/0/0 un 1 d0:500-0-0 d1:400-0-0", C(500, 0), L(600, 1, SPAWN),
	      E(700, 1, MINOR));
	CHECK("a domain that ended before the run has no time in it", 500,
	      "0/0 cut 0/0/0 un 0 d0:500-0-0 d1:0-0-0", L(100, 0, START), L(110, 1, SPAWN),
	      L(300, 1, TERMINATE));
	CHECK("a domain that was there before has the time from the begin of the run", 500,
	      "0/0 cut 0/0/0 un 0 d0:500-0-0 d1:500-0-0", C(600, 0), C(700, 1));
	CHECK("what was overwritten before the run is no hole in it", 500,
	      "0/0 cut 0/0/0 un 0 d0:500-0-0", LOST(400, 0, 0), C(600, 0));
	CHECK("a process that began in the run has its time from there", 500,
	      "0/0 cut 0/0/0 un 0 d0:300-0-0", L(700, 0, START), C(800, 0));
}

/* What a short run holds of everything. */
static const struct step busy_run[] = {
	L(100, 0, START),
	L(101, 1, SPAWN),
	B(110, 0, MINOR),
	B(111, 0, PHASE_minor_global_roots),
	E(112, 0, PHASE_minor_global_roots),
	B(113, 1, MINOR),
	E(114, 1, MINOR),
	E(115, 0, MINOR),
	/* one cycle of two domains, then one of one */
	B(120, 0, PHASE_major_gc_stw),
	B(121, 1, PHASE_major_gc_stw),
	E(122, 0, PHASE_major_gc_stw),
	E(123, 1, PHASE_major_gc_stw),
	B(124, 0, PHASE_major_gc_stw),
	E(125, 0, PHASE_major_gc_stw),
	B(130, 0, PHASE_explicit_gc_full_major),
	B(131, 0, PHASE_explicit_gc_full_major),
	E(135, 0, PHASE_explicit_gc_full_major),
	E(140, 0, PHASE_explicit_gc_full_major),
	{150, EBT_COUNTER, 0, 5, 800, 0},
	{150, EBT_COUNTER, 1, 5, 80, 0},
	{150, EBT_COUNTER, 0, 4, 160, 0},
	{160, EBT_COUNTER, 0, 17, 1000, 0},
	{161, EBT_COUNTER, 1, 17, 500, 0},
	L(170, 1, TERMINATE),
	{180, EBT_COUNTER, 0, 17, 700, 0},
	L(200, 0, STOP),
};

static void test_counts(void)
{
	struct stat_run run;
	struct stat_numbers total;
	memset(&total, 0, sizeof(total));
	stat_run_begin(&run, 0);
	processes_announce(&run.session->processes, 1)->traits.runtime.language =
		&language_ocaml.traits;
	for (size_t i = 0; i < sizeof(busy_run) / sizeof(*busy_run); i++) {
		struct ebt_event ev = event_of(&busy_run[i]);
		stat_run_push(&run, &ev);
	}
	stat_run_end(&run, 0);
	const struct stat_numbers *n = &run.end.first->numbers;
	if (stat_snapshot_total(&run.end, &total))
		abort();
	const struct stat_phase *full = &n->phases[PHASE_explicit_gc_full_major];
	is(stat_numbers_minors(n), 1, "a minor collection of two domains is one");
	is(stat_numbers_majors(n), 2, "so is the end of a major cycle");
	is(stat_numbers_begun(n, TRAITS_FORCED_MAJOR), 2, "each forced collection counts");
	is(full->total_ns, 10 * US, "a phase inside itself takes its time once");
	is(full->self_ns, 10 * US, "of which all is its own");
	is(full->count, 2, "and counts twice");
	is(full->max_ns, 10 * US, "its longest is the outer one");
	is(stat_numbers_minor_words(n).words, 110, "bytes are told as words");
	is(stat_numbers_promoted_words(n).words, 20, "promoted ones, too");
	is(n->major_words.seen, 0, "what no counter tells is not known");
	is(n->heap.words, 700, "the heap at the end is that of the domains that are left");
	is(n->heap_max.words, 1500, "at most it was that of both");
	ok(stat_numbers_minors(&total) == 1 && stat_numbers_majors(&total) == 2 &&
		   stat_numbers_minor_words(&total).words == 110 && total.gc_ns == n->gc_ns &&
		   total.pauses.whole.count == n->pauses.whole.count,
	   "a total of one process is that process");
	stat_numbers_done(&total);
	stat_run_done(&run);
}

/* Whatever comes, no domain has more pause or more hole than time. */
static void test_random(void)
{
	unsigned insane = 0;
	srandom(1);
	for (unsigned round = 0; round < 300; round++) {
		struct stat_run run;
		uint64_t us = 100, begin_us = random() % 2 ? 300 : 0;
		stat_run_begin(&run, begin_us);
		for (unsigned i = 0; i < 400; i++) {
			static const uint16_t kinds[] = {EBT_BEGIN,   EBT_END,	     EBT_END,
							 EBT_BEGIN,   EBT_LIFECYCLE, EBT_LOST,
							 EBT_COUNTER, EBT_PROCESS};
			us += (uint64_t)(random() % 4);
			struct step step = {.us = us,
					    .kind = kinds[random() % (random() % 8 ? 4 : 8)],
					    .domain = (uint16_t)(random() % 3),
					    .id = (uint32_t)(random() % 8),
					    .since_us = (uint64_t)random() % (us + 20),
					    .pid = 1 + (uint32_t)(random() % 2)};
			if (random() % 16 == 0)
				step.domain = EBT_NO_DOMAIN;
			struct ebt_event ev = event_of(&step);
			stat_run_push(&run, &ev);
		}
		stat_run_end(&run, begin_us ? us : 0);
		insane += !is_sane(&run.end);
		for (const struct stat_process *p = run.end.first; p; p = p->next)
			insane += p->numbers.gc_ns > p->numbers.elapsed_ns || p->majors_open;
		stat_run_done(&run);
	}
	is(insane, 0, "no stream of events makes more than 100 %");
}

static char lines_text[1 << 20];

/* The report with a line for each millisecond of a run. */
struct lines {
	struct session *session;
	struct sink *sink;
	int fd;
};

static void lines_begin(struct lines *l, struct moment begin, bool json)
{
	struct stat_options o = {.json = json, .interval_ns = 1000000};
	l->fd = memfd_create("lines", 0);
	if (l->fd < 0 || session_new(&l->session) || enter_processes(l->session, 16) ||
	    stat_new(l->session, l->fd, &o, &l->sink))
		abort();
	l->session->run_begin = begin;
}

static void lines_push(struct lines *l, struct ebt_event ev)
{
	if (sink_events(l->sink, &ev, 1))
		abort();
}

/* What it wrote is in lines_text. */
static void lines_end(struct lines *l, uint64_t advance_ns)
{
	if (sink_advance(l->sink, advance_ns) || sink_end(l->sink))
		abort();
	sink_free(l->sink);
	session_free(l->session);
	memset(lines_text, 0, sizeof(lines_text));
	if (pread(l->fd, lines_text, sizeof(lines_text) - 1, 0) < 0)
		abort();
	close(l->fd);
}

/* How many lines the events make, with the report's one behind them. */
static unsigned lines_until(struct moment begin, struct moment end, const uint64_t *ts,
			    unsigned count, uint64_t advance_ns)
{
	struct lines l;
	unsigned lines = 0;
	lines_begin(&l, begin, true);
	for (unsigned i = 0; i < count; i++)
		lines_push(&l, (struct ebt_event){
				       .ts = ts[i], .kind = i % 2 ? EBT_END : EBT_BEGIN, .pid = 1});
	l.session->run_end = end;
	if (sink_advance(l.sink, advance_ns))
		abort();
	lines_end(&l, UINT64_MAX);
	for (const char *at = lines_text; *at; at++)
		lines += *at == '\n';
	return lines;
}

static unsigned lines_of(struct moment begin, const uint64_t *ts, unsigned count,
			 uint64_t advance_ns)
{
	return lines_until(begin, (struct moment){0}, ts, count, advance_ns);
}

/* One of eight ends of four pauses, each in a line of its own. */
static struct ebt_event end_of_pause(unsigned i, uint32_t pid)
{
	return (struct ebt_event){.ts = 1100000 + i / 2 * 1000000 + i % 2 * 1000,
				  .kind = i % 2 ? EBT_END : EBT_BEGIN,
				  .id = PHASE_minor,
				  .pid = pid};
}

/* The words of one of the first four lines of text. */
static void line_of_text(unsigned number, char ret[14][16])
{
	const char *at = strchr(lines_text, '\n');
	for (unsigned i = 0; at && i < number; i++)
		at = strchr(at + 1, '\n');
	memset(ret, 0, 14 * sizeof(*ret));
	for (unsigned i = 0, n; at && i < 14; i++, at += n)
		if (sscanf(at, " %15s%n", ret[i], &n) != 1)
			break;
}

/* A pause in each of four lines, all in the second in which an unseen pause may still end. */
static void test_line_of_a_pause(void)
{
	struct lines l;
	unsigned counted = 0;
	char words[14][16];
	lines_begin(&l, moment_at(1000000), false);
	for (unsigned i = 0; i < 8; i++)
		lines_push(&l, end_of_pause(i, 1));
	lines_end(&l, 5000001);
	for (unsigned i = 0; i < 4; i++) {
		line_of_text(i, words);
		counted += !strcmp(words[1], "1");
	}
	is(counted, 4, "a line counts the pauses that end in it, also right behind the begin");
}

/* Two processes, of which one counts words, and that once. */
static void test_line_of_words(void)
{
	struct lines l;
	lines_begin(&l, moment_at(1000000), false);
	for (unsigned i = 0; i < 8; i++) {
		if (i == 4)
			lines_push(&l, (struct ebt_event){.ts = 2200000,
							  .kind = EBT_COUNTER,
							  .id = COUNTER_minor_allocated_words,
							  .arg = {5000},
							  .pid = 1});
		lines_push(&l, end_of_pause(i, 1 + i / 2 % 2));
	}
	lines_end(&l, 5000001);
	char got[256] = "", words[14][16];
	for (unsigned i = 0; i < 4; i++) {
		line_of_text(i, words);
		/* Behind time, pauses, three lengths with their units, GC %, minor and major. */
		strcat(strcat(got, words[11]), " ");
	}
	is_str(got, "n/a 5000k 0 0 ",
	       "words a second are not known until a process counts them, and then for good");
}

static void test_lines(void)
{
	const struct moment none = {0};
	static const uint64_t few[] = {1000000, 1500000, 3500000, 4100000};
	static const uint64_t far[] = {1000000, UINT64_MAX - 7, UINT64_MAX - 6, UINT64_MAX};
	static const uint64_t long_ago[] = {1000000, 501500000, 502000000, 502100000};
	static const uint64_t old[] = {1000000, 2000000, 9000000, 9100000};
	is(lines_of(none, few, 4, 0), 3 + 1, "a file has a line for each interval that is over");
	is(lines_of(none, few, 4, 90000000), 3 + 1, "but time goes on by its events alone");
	is(lines_of(moment_at(8000000), old, 4, 12500000), 4 + 1,
	   "a live run has lines without events");
	is(lines_of(moment_at(0), few, 4, 12500000), 12 + 1, "also one that began at moment 0");
	is(lines_until(moment_at(8000000), moment_at(13000000), old, 4, 12500000), 5 + 1,
	   "and one for the interval that ends with it");
	is(lines_until(moment_at(8000000), moment_at(13999999), old, 4, 12500000), 5 + 1,
	   "but none for a part of an interval");
	ok(lines_of(none, far, 4, 0) < 150, "an endless silence is a line, not endless lines");
	is(lines_of(none, long_ago, 4, 0), 100 + 2 + 1,
	   "of a long one each of the first 100 intervals has its line");
	ok(strstr(lines_text, "\"at_ns\":101000000,") &&
		   strstr(lines_text, "\"at_ns\":501000000,") &&
		   strstr(lines_text, "\"at_ns\":502000000,"),
	   "and the line of the others ends where one of them does");
}

int main(void)
{
	test_lines();
	test_line_of_a_pause();
	test_line_of_words();
	test_pauses();
	test_domains();
	test_loss();
	test_attach();
	test_counts();
	test_random();
	return tap_done();
}
