/* SPDX-License-Identifier: BSD-2-Clause */
/* Captures of what was around long spans, read back and compared with the whole stream. */
#include "codec/capture/capture.h"
#include "format/ebt/span_watch.h"
#include "format/ebt/trigger.h"
#include "report/parts/ids.h"
#include "session/kinds.h"
#include "session/phases.h"
#include "tests/random.h"
#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CAPTURES    64
#define BEFORE_NS   500000000u
#define AFTER_NS    200000000u
#define SHORT_NS    1000u
#define LONG_NS	    10000000u
#define MEMORY	    (1u << 19)
#define BLOCK_BYTES (256u << 10)
#define LIMIT_NS    5000000u

/* A capture that was read back. */
struct part {
	struct trigger_capture told;
	struct capture_trigger trigger;
	struct capture_stats stats;
	uint64_t totals[CAPTURE_TOTAL_COUNT];
	struct ebt_event first;
	uint64_t events, last_ns, backwards;
	bool faulty;
};

struct run {
	struct session *session;
	struct sink *sink;
	int fd;
	struct part part[CAPTURES];
	unsigned parts;
	uint64_t now;
	int err;
};

static void count_item(struct part *p, const struct capture_item *item)
{
	if (item->what == CAPTURE_TOTALS)
		memcpy(p->totals, item->totals, sizeof(p->totals));
	if (item->what == CAPTURE_TRIGGER && !p->trigger.end_ns)
		p->trigger = item->trigger;
	if (item->what != CAPTURE_EVENT)
		return;
	if (!p->events++)
		p->first = item->event;
	p->backwards += item->event.ts < p->last_ns;
	p->last_ns = item->event.ts;
}

static void read_part(int fd, struct part *p)
{
	struct capture_reader *r;
	struct capture_item item;
	int got;
	if (capture_reader_new(&r))
		abort();
	while ((got = capture_reader_next(r, &item)) == 1 || got == -EAGAIN) {
		size_t room = 0;
		if (got == 1) {
			count_item(p, &item);
			continue;
		}
		void *to = capture_reader_room(r, &room);
		ssize_t n = read(fd, to, room);
		capture_reader_put(r, n > 0 ? (size_t)n : 0);
	}
	p->stats = *capture_reader_stats(r);
	p->faulty = got || capture_reader_fault(r) || p->stats.missing || !p->stats.whole;
	capture_reader_free(r);
}

static int open_part(void *ctx, const struct trigger_capture *c, int *ret_fd)
{
	struct run *r = ctx;
	(void)c;
	r->fd = *ret_fd = memfd_create("part", MFD_CLOEXEC);
	return r->fd < 0 ? -errno : 0;
}

static int close_part(void *ctx, const struct trigger_capture *c, int err)
{
	struct run *r = ctx;
	struct part *p = &r->part[r->parts++];
	p->told = *c;
	lseek(r->fd, 0, SEEK_SET);
	read_part(r->fd, p);
	close(r->fd);
	return err;
}

static struct run *begin(const struct trigger_options *o)
{
	struct run *r = calloc(1, sizeof(*r));
	struct trigger_options to = *o;
	if (!r || session_new(&r->session) || enter_processes(r->session, 2))
		abort();
	processes_announce(&r->session->processes, 1);
	to.open = open_part;
	to.close = close_part;
	to.ctx = r;
	if (trigger_new(r->session, &to, &r->sink))
		abort();
	r->now = 1000000000;
	return r;
}

static void push(struct run *r, uint16_t kind, uint32_t id, uint64_t after_ns)
{
	struct totals *t = &r->session->totals;
	r->now += after_ns;
	struct ebt_event ev = {.kind = kind,
			       .id = id,
			       .ts = r->now,
			       .process = 1,
			       .pos = kind == EBT_LOST ? r->now - 1000 : EBT_NO_POS,
			       .cpu = EBT_NO_CPU,
			       .domain = 0};
	if (!t->timed++)
		t->first_ns = ev.ts;
	t->last_ns = ev.ts;
	t->events++;
	if (!r->err)
		r->err = sink_events(r->sink, &ev, 1);
}

static void push_span(struct run *r, uint32_t id, uint64_t gap_ns, uint64_t ns)
{
	push(r, EBT_BEGIN, id, gap_ns);
	push(r, EBT_END, id, ns);
}

static void end(struct run *r)
{
	r->err = sink_end(r->sink);
	sink_free(r->sink);
	session_free(r->session);
}

static const struct span_rule pauses = {"pause>5ms", "pause", LIMIT_NS};
static const struct trigger_options usual = {.rule = &pauses,
					     .rules = 1,
					     .before_ns = BEFORE_NS,
					     .after_ns = AFTER_NS,
					     .memory = 64 << 20};

/* 10 s, with a long pause in the middle of each; all the time a phase is open in which the mutator
 * runs. */
static void test_ten(void)
{
	enum { SHORT = 100000 };
	struct run *r = begin(&usual);
	uint64_t at[10], open_ns;
	push(r, EBT_BEGIN, PHASE_domain_condition_wait, 0);
	open_ns = r->now;
	for (unsigned i = 0; i < 10; i++) {
		for (unsigned k = 0; k < SHORT; k++) {
			push_span(r, PHASE_minor, 9000, SHORT_NS);
			if (k != SHORT / 2)
				continue;
			push_span(r, PHASE_major, 9000, LONG_NS);
			at[i] = r->now - LONG_NS;
		}
	}
	end(r);
	is(r->parts, 10, "10 long pauses among 10^6 short ones give 10 captures");
	bool whole = true, around = true, opens = true, totals = true, exact = true;
	for (unsigned i = 0; i < r->parts && i < 10; i++) {
		const struct part *p = &r->part[i];
		uint64_t from = at[i] - BEFORE_NS, to = at[i] + LONG_NS + AFTER_NS;
		whole &= !p->faulty && !p->backwards;
		around &= p->told.kept_ns <= from && p->told.kept_ns + BEFORE_NS / 4 > from &&
			  p->last_ns <= to && p->last_ns + 10000 > to;
		opens &= p->first.id == PHASE_domain_condition_wait && p->first.ts == open_ns;
		totals &= p->totals[0] == p->events && p->events == p->told.events &&
			  !p->told.is_cut && p->totals[7] == p->told.kept_ns;
		/* Two events in 10 us, without the long pause, and the one that is open. */
		uint64_t without = p->last_ns - p->told.kept_ns - LONG_NS - 9000;
		uint64_t there = p->events - 3 - 2;
		exact &= there >= without / 10000 * 2 - 2 && there <= without / 10000 * 2 + 4;
	}
	ok(whole, "each is a whole capture, in order of time");
	ok(around, "with what was half a second before and 200 ms after, and little more");
	ok(opens, "a phase that was open when it begins is there, since it began");
	ok(totals && exact, "no event lacks, and they are counted, from the first on");
	ok(r->part[3].trigger.begin_ns == at[3] && r->part[3].trigger.pid == 1 &&
		   !strcmp(r->part[3].trigger.condition, "pause>5ms"),
	   "a capture says which pause it is about");
	free(r);
}

static void test_overlap(void)
{
	struct run *r = begin(&usual);
	for (unsigned i = 0; i < 5; i++)
		push_span(r, PHASE_minor, AFTER_NS - LONG_NS, LONG_NS);
	uint64_t last = r->now;
	push_span(r, PHASE_minor, AFTER_NS * 2, SHORT_NS);
	end(r);
	is(r->parts, 1, "long pauses that follow one another extend a capture");
	is(r->part[0].told.hits, 5, "which has all of them");
	is(r->part[0].last_ns, last, "and ends behind the last");
	is(r->part[0].events, 10, "without what comes later");
	free(r);
}

/* Spans at random, which hardly compress: blocks end by their age, or because they are full. */
static void test_memory(uint64_t gap_ns, const char *how)
{
	struct trigger_options o = usual;
	struct run *r;
	uint64_t state = 5;
	o.memory = MEMORY;
	r = begin(&o);
	for (unsigned i = 0; i < 200000; i++) {
		uint64_t ns = random_next(&state) % gap_ns;
		push_span(r, (uint32_t)(random_next(&state) % PHASES), ns, ns / 2);
	}
	push_span(r, PHASE_minor, 1000, LONG_NS);
	uint64_t from = r->now - LONG_NS - BEFORE_NS;
	end(r);
	const struct part *p = &r->part[0];
	ok(r->parts == 1 && !p->faulty && p->told.is_cut, "%s: what memory has no room for is cut",
	   how);
	ok(p->trigger.from_ns == from && p->trigger.kept_ns > from,
	   "%s: and the capture says since when it was kept", how);
	ok(p->stats.stored_bytes > MEMORY / 2 && p->stats.stored_bytes < MEMORY + BLOCK_BYTES,
	   "%s: it has what memory has, and the block that was open", how);
	free(r);
}

/* Of so many frames that no block has room for it: its event closes two. */
static void push_deep(struct run *r, uint64_t after_ns)
{
	struct session *s = r->session;
	struct frame_position at = {.function = strings_put(s->strings, "deep", 4)};
	uint32_t frame = frames_put(s->frames, &(struct frame){.count = 1, .position = &at});
	uint32_t stack = 0;
	for (uint32_t i = 0; i < CAPTURE_STACKS + 1000; i++)
		stack = stacks_push(s->stacks, stack, frame);
	r->now += after_ns;
	struct ebt_event ev = {.kind = EBT_BEGIN,
			       .id = PHASE_domain_condition_wait,
			       .ts = r->now,
			       .process = 1,
			       .pos = EBT_NO_POS,
			       .cpu = EBT_NO_CPU};
	session_put_stack(s, &ev, stack);
	s->totals.events++;
	s->totals.last_ns = ev.ts;
	if (!r->err)
		r->err = sink_events(r->sink, &ev, 1);
}

static void test_deep(void)
{
	struct trigger_options o = usual;
	o.before_ns = BEFORE_NS / 50;
	struct run *r = begin(&o);
	uint64_t kept_late = 0;
	bool whole = true, begins = true;
	for (unsigned i = 0; i < 8; i++) {
		push_span(r, PHASE_minor, 1000, SHORT_NS);
		push_deep(r, 1000);
		push(r, EBT_END, PHASE_domain_condition_wait, SHORT_NS);
		for (unsigned k = 0; k < 100; k++)
			push_span(r, PHASE_minor, 2 * BEFORE_NS / 100, SHORT_NS);
		push_span(r, PHASE_major, 9000, LONG_NS);
		uint64_t from = r->now - LONG_NS - o.before_ns;
		push_span(r, PHASE_minor, 2 * AFTER_NS, SHORT_NS);
		const struct part *p = &r->part[i];
		kept_late += p->told.kept_ns > from;
		whole &= r->parts == i + 1 && !p->faulty && !p->backwards;
		begins &= p->first.ts <= from && p->first.ts + o.before_ns > from;
	}
	end(r);
	ok(whole && !r->err, "captures behind stacks that fit no block are whole");
	ok(!kept_late && begins, "and begin where they should");
	free(r);
}

/* Its blocks are older than `before` when it ends. */
static void test_long(void)
{
	struct trigger_options o = usual;
	o.before_ns = 1000000;
	struct run *r = begin(&o);
	for (unsigned i = 0; i < 100; i++)
		push_span(r, PHASE_minor, 999000, SHORT_NS);
	push(r, EBT_BEGIN, PHASE_major, 1000);
	uint64_t from = r->now - o.before_ns;
	for (unsigned i = 0; i < 100; i++)
		push_span(r, PHASE_major_slice, 999000, SHORT_NS);
	push(r, EBT_END, PHASE_major, 1000);
	end(r);
	ok(r->parts == 1 && !r->part[0].told.is_cut && r->part[0].told.kept_ns <= from,
	   "a pause longer than what is kept has what was before it");
	free(r);
}

/* At the begin of a stream, at its limit, cut by a loss; the time after it passes without
 * events. */
static void test_edges(void)
{
	struct run *r = begin(&usual);
	push_span(r, PHASE_minor, 1000, LIMIT_NS);
	push(r, EBT_BEGIN, PHASE_minor, 1000);
	push(r, EBT_LOST, 0, LONG_NS);
	push(r, EBT_END, PHASE_minor, 1000);
	push(r, EBT_BEGIN, PHASE_domain_condition_wait, 1000);
	is(trigger_count(r->sink), 0, "neither a span of the limit nor one that a loss has cut");
	push_span(r, PHASE_minor, 1000, LIMIT_NS + 1);
	ok(!sink_advance(r->sink, r->now + AFTER_NS) && !r->parts,
	   "a capture waits for what follows");
	ok(!sink_advance(r->sink, r->now + AFTER_NS + 1) && r->parts == 1,
	   "but not for another event");
	ok(!r->part[0].told.is_cut && r->part[0].events == 8,
	   "what was not before the stream is not missing");
	end(r);
	free(r);
}

static void test_rules(void)
{
	static const struct span_rule rules[] = {{"minor_l*>1us", "minor_l*", 1000},
						 {"pause>8ms", "pause", 8000000}};
	struct trigger_options o = usual;
	struct run *r;
	o.rule = rules;
	o.rules = 2;
	o.max = 2;
	o.before_ns = o.after_ns = 1000;
	r = begin(&o);
	push(r, EBT_BEGIN, PHASE_minor, 10000);
	push_span(r, PHASE_minor_local_roots, 100, 900);
	push_span(r, PHASE_minor_local_roots, 100, 1001);
	push_span(r, PHASE_major, 100, 7000000);
	push(r, EBT_END, PHASE_minor, 100);
	push(r, EBT_BEGIN, PHASE_domain_condition_wait, 10000);
	push(r, EBT_END, PHASE_domain_condition_wait, LONG_NS);
	push_span(r, PHASE_major, 10000, 8000000);
	is(trigger_count(r->sink), 1, "of several limits a span must exceed its own");
	push_span(r, PHASE_major, 10000, LONG_NS);
	is(r->parts, 1, "a phase that runs the mutator is no pause, nor is one inside a pause");
	ok(!strcmp(r->part[0].told.hit.span, "minor_local_roots"), "a glob names phases");
	push_span(r, PHASE_minor, 10000, SHORT_NS);
	ok(r->parts == 2 && r->err == -EPIPE, "the run ends with the last capture");
	ok(!strcmp(r->part[1].told.hit.span, "pause"), "which is of the pause");
	end(r);
	ok(!r->err && r->parts == 2, "and no other follows");
	free(r);
}

/* What is kept in memory follows from it. */
static void test_oldest(void)
{
	struct run *r = begin(&usual);
	struct span_watch *w;
	struct span_hit hit;
	struct ebt_event ev = {.kind = EBT_BEGIN, .process = 1, .ts = 1000};
	if (span_watch_new(r->session, &pauses, 1, &w))
		abort();
	ev.id = PHASE_domain_condition_wait;
	span_watch_push(w, &ev, &hit);
	ok(span_watch_oldest_ns(w) == UINT64_MAX,
	   "a span that no rule is about needs nothing of what was before");
	ev.id = PHASE_minor;
	ev.ts = 2000;
	span_watch_push(w, &ev, &hit);
	ok(span_watch_oldest_ns(w) == 2000, "one that may last too long does");
	ev.id = PHASE_minor_local_roots;
	ev.ts = 3000;
	span_watch_push(w, &ev, &hit);
	ok(span_watch_oldest_ns(w) == 2000, "the oldest of them counts");
	span_watch_free(w);
	end(r);
	free(r);
}

/* What a watch is asked for at each block's begin is as large as what is open, in a run of days
 * too. */
static void test_open(void)
{
	struct run *r = begin(&usual);
	struct span_watch *w;
	struct span_hit hit;
	struct ebt_event *open, ev = {.process = 1, .pos = EBT_NO_POS};
	uint32_t n = 7;
	if (span_watch_new(r->session, &pauses, 1, &w))
		abort();
	for (uint64_t i = 0; i < 200000; i++) {
		ev.kind = i % 2 ? EBT_END : EBT_BEGIN;
		ev.ts = 1000 * i;
		if (span_watch_push(w, &ev, &hit) < 0)
			abort();
	}
	ok(!span_watch_open(w, &open, &n) && !n && malloc_usable_size(open) < 4096,
	   "spans that have ended take no room among those that are open");
	free(open);
	span_watch_free(w);
	end(r);
	free(r);
}

int main(void)
{
	test_open();
	test_oldest();
	test_ten();
	test_overlap();
	test_deep();
	test_memory(8000, "events of seconds");
	test_memory(200, "events at full speed");
	test_long();
	test_edges();
	test_rules();
	return tap_done();
}
