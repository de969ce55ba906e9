/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/live/scan.h"

#include <time.h>

#include "base/clock.h"

/* Scan period until the first ring of a program of ours: FIRST_NS, then elapsed / FIRST_SHARE, at
 * most FIRST_MAX_NS, a time in which few rings wrap. */
#define FIRST_NS     250000ull
#define FIRST_MAX_NS 8000000ull
#define FIRST_SHARE  32
/* Scans that take longer than EXPENSIVE_SCAN_NS get at most 1/CPU_SHARE of our CPU time: CPU_SHARE
 * is one more for each SHARE_PROCESSES. */
#define EXPENSIVE_SCAN_NS (RING_FILES_SCAN_NS / 4)
#define CPU_SHARE	  5
#define SHARE_PROCESSES	  100u
/* Where it is to be frugal, or is late, scans get 1/FRUGAL_SHARE of a CPU, those that ends of
 * processes bring forward 1/ENDS_SHARE, if FRUGAL_MAX_NS permits. What finds new processes runs in
 * between. */
#define FRUGAL_SHARE  800
#define ENDS_SHARE    50
#define FRUGAL_MAX_NS 500000000ull
#define EVERYONE_NS   50000000ull

static void set(struct scan *s, uint64_t at_ns)
{
	uint64_t due_ns = traced_due_ns(s->traced);
	due_ns = due_ns < s->births_ns ? due_ns : s->births_ns;
	s->at_ns = at_ns;
	loop_timer_set(s->loop, &s->timer, due_ns < at_ns ? due_ns : at_ns);
}

/* The time until the ring of a program that has none yet is searched for again. */
static uint64_t first_period(const struct scan *s, uint64_t now)
{
	uint64_t ns = (now - s->began_ns) / FIRST_SHARE;
	ns = ns > FIRST_NS ? ns : FIRST_NS;
	return ns < FIRST_MAX_NS ? ns : FIRST_MAX_NS;
}

int scan_due(struct scan *s)
{
	if (!s->loop || traced_due_ns(s->traced) > now_ns())
		return 0;
	/* An exec is known before the mappings of its program are read. */
	int err = s->probing->source ? source_poll(s->probing->source) : 0;
	if (!err)
		err = traced_scan_due(s->traced);
	set(s, s->at_ns);
	return err;
}

/* The time from the end of a scan that has cost so much to the next one. */
static uint64_t frugal_ns(uint64_t cost_ns, uint64_t share)
{
	return cost_ns * share < FRUGAL_MAX_NS ? cost_ns * share : FRUGAL_MAX_NS;
}

/* The end of the rest behind a scan that has cost so much. What one costs that inspects new code is
 * no measure of the rest that many processes need. */
static uint64_t fair_ns(struct scan *s, uint64_t now, uint64_t cost)
{
	uint64_t usual = cost < s->cost_ns ? cost : s->cost_ns;
	uint64_t rest_ns = (CPU_SHARE - 1) * cost;
	uint64_t many_ns = (CPU_SHARE - 1 + traced_running(s->traced) / SHARE_PROCESSES) * usual;
	s->cost_ns = cost;
	return now + (rest_ns > many_ns ? rest_ns : many_ns);
}

/* The next scan, behind one that began at `begin`, was one of all, and has cost so much. */
static void plan(struct scan *s, uint64_t begin, bool waiting, bool all, uint64_t cost)
{
	uint64_t now = now_ns(), fair = fair_ns(s, now, cost);
	uint64_t next = begin + (waiting ? first_period(s, begin) : RING_FILES_SCAN_NS);
	bool expensive = cost > EXPENSIVE_SCAN_NS;
	const struct engine_options *o = s->probing->engine->options;
	if (!o->frugal && !o->is_late) {
		s->births_ns = now + RING_FILES_SCAN_NS;
		s->rests_until_ns = expensive ? fair : 0;
		s->all_ns = expensive && fair > next ? fair : next;
		set(s, s->all_ns);
		return;
	}
	fair = now + frugal_ns(cost, FRUGAL_SHARE);
	if (all) {
		s->rests_until_ns = now + frugal_ns(cost, ENDS_SHARE);
		s->all_ns = fair > next ? fair : next;
	}
	bool sooner = s->everyone && now + EVERYONE_NS < s->all_ns;
	set(s, sooner ? now + EVERYONE_NS : s->all_ns);
}

/* What is done between scans. */
static int scan_births(struct scan *s, uint64_t now)
{
	int err = 0;
	if (now >= s->births_ns) {
		/* Its forks are known before others are found. */
		err = s->probing->source ? source_poll(s->probing->source) : 0;
		if (!err)
			err = traced_scan_births(s->traced);
		s->births_ns = now + RING_FILES_SCAN_NS;
		set(s, s->at_ns);
	}
	return err ? err : scan_due(s);
}

static int on_timer(void *ctx)
{
	struct scan *s = ctx;
	bool waiting = s->hurried && !ring_files_opened(s->files);
	uint64_t begin = now_ns();
	if (begin < s->at_ns)
		return scan_births(s, begin);
	bool all = begin >= s->all_ns;
	/* The scan drops processes that have ended, so the BPF source is polled first for their
	 * last records. */
	int err = s->probing->source ? source_poll(s->probing->source) : 0;
	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID), attach = s->probing->attach_cpu_ns;
	if (!err)
		err = everyone_scan(s->everyone);
	if (!err && all)
		err = ring_files_scan(s->files, probing_known_ns(s->probing));
	/* Events and attachments are no part of its cost: their number is not the scan's. */
	cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu - (s->probing->attach_cpu_ns - attach);
	if (ring_files_opened(s->files))
		probing_report_missing(s->probing);
	plan(s, begin, waiting, all, cpu);
	return err;
}

static int on_process(void *ctx, const struct process_event *e)
{
	/* The pidfd of a traced process reports its end, too, and then it can be noticed. */
	if (e->kind == PROCESS_EXITED && !(e->by_bpf && e->process))
		scan_soon(ctx);
	return 0;
}

void scan_begin(struct scan *s, struct loop *l, struct everyone *everyone, struct traced *traced,
		struct ring_files *files, struct probing *p, bool hurried)
{
	*s = (struct scan){
		.loop = l,
		.everyone = everyone,
		.traced = traced,
		.files = files,
		.probing = p,
		.hurried = hurried && !engine_probes_alone(p->engine->options),
		.timer = {.fn = on_timer, .ctx = s},
		.began_ns = now_ns(),
		.births_ns = UINT64_MAX,
	};
	traced_subscribe(traced, on_process, s);
	set(s, s->began_ns);
}

void scan_end(struct scan *s)
{
	if (s->loop)
		loop_timer_clear(s->loop, &s->timer);
	s->loop = NULL;
}

/* Never later than it would be without. */
static void scan_by(struct scan *s, uint64_t at_ns)
{
	uint64_t from = at_ns > s->rests_until_ns ? at_ns : s->rests_until_ns;
	s->all_ns = from < s->all_ns ? from : s->all_ns;
	if (s->loop && from < s->at_ns)
		set(s, from);
}

void scan_soon(struct scan *s)
{
	scan_by(s, now_ns());
}
