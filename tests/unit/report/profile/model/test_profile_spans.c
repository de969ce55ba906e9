// SPDX-License-Identifier: BSD-2-Clause
/* Samples in the spans and fibers that the events around them have begun. */
#include "report/profile/model/spans.h"

#include "session/marker_values.h"
#include "tests/tap.h"
#include "tests/unit/eio_fixture.h"

#include <stdio.h>

/* User events: spans that are not those of a library. */
enum { OUTER = 1000, INNER, CROWD };

static struct eio_feed feed;
static struct profile_spans *spans;
static char seen[2048];

static int push(void *ctx, const struct ebt_event *ev)
{
	(void)ctx;
	return profile_spans_event(spans, ev);
}

static void begin(void)
{
	eio_begin(&feed);
	feed.push = push;
	*seen = 0;
	if (processes_set_user_name(&feed.session->processes, feed.process, OUTER, "outer") ||
	    processes_set_user_name(&feed.session->processes, feed.process, INNER, "inner") ||
	    profile_spans_new(feed.session, &spans))
		abort();
}

static void sample_at(uint16_t domain, uint32_t tid)
{
	uint32_t number;
	size_t at = strlen(seen);
	struct ebt_event ev = {
		.kind = EBT_SAMPLE, .ts = feed.ts, .process = feed.process, .tid = tid};
	if (profile_spans_find(spans, &ev, domain, &number))
		abort();
	snprintf(seen + at, sizeof(seen) - at, "%s; ", profile_spans_name(spans, number));
}

static void sample(void)
{
	sample_at(feed.domain, 7);
}

static void span(uint16_t kind, uint32_t id)
{
	eio_event(&feed, (struct ebt_event){.kind = kind, .id = id}, NULL, 0);
}

static void enter(uint32_t id)
{
	span(EBT_SPAN_BEGIN, id);
}

static void leave(uint32_t id)
{
	span(EBT_SPAN_END, id);
}

static void end(const char *want, const char *name)
{
	is_str(seen, want, name);
	ok(!feed.err && !profile_spans_forget(spans, feed.process, feed.ts), "%s: all is processed",
	   name);
	profile_spans_free(spans);
	session_free(feed.session);
}

static void test_threads(void)
{
	begin();
	sample();
	enter(OUTER);
	sample();
	enter(INNER);
	sample();
	leave(INNER);
	sample();
	leave(OUTER);
	sample();
	end("no span; outer; inner; outer; no span; ", "a sample is in the innermost span");

	begin();
	enter(OUTER);
	enter(INNER);
	leave(OUTER);
	sample();
	leave(INNER);
	leave(INNER);
	sample();
	end("inner; no span; ", "spans may overlap, and an end without a begin ends nothing");

	begin();
	enter(OUTER);
	enter(OUTER);
	leave(OUTER);
	sample();
	leave(OUTER);
	sample();
	end("outer; no span; ", "a span in one of its name");

	begin();
	enter(OUTER);
	feed.domain = 1;
	enter(INNER);
	sample();
	feed.domain = 0;
	sample();
	sample_at(2, 7);
	sample_at(EBT_NO_DOMAIN, 7);
	end("inner; outer; no span; no span; ", "domains have spans of their own");
}

static void thread_span(uint16_t kind, uint32_t tid, uint32_t id)
{
	struct ebt_event ev = {.kind = kind,
			       .ts = feed.ts++,
			       .process = feed.process,
			       .domain = EBT_NO_DOMAIN,
			       .tid = tid,
			       .id = id,
			       .flags = EBT_F_BPF,
			       .pos = EBT_NO_POS};
	if (profile_spans_event(spans, &ev))
		abort();
}

static void test_outside(void)
{
	begin();
	thread_span(EBT_SPAN_BEGIN, 70, OUTER);
	thread_span(EBT_SPAN_BEGIN, 71, INNER);
	sample_at(EBT_NO_DOMAIN, 70);
	sample_at(EBT_NO_DOMAIN, 71);
	sample_at(EBT_NO_DOMAIN, 72);
	thread_span(EBT_SPAN_END, 70, OUTER);
	sample_at(EBT_NO_DOMAIN, 70);
	sample_at(EBT_NO_DOMAIN, 71);
	end("outer; inner; no span; no span; inner; ", "and so have threads without a domain");
}

/* Spans that nest in their thread have an id for each level. */
static void marker(uint16_t kind, uint32_t tid, uint32_t request, uint32_t level)
{
	thread_span(kind, tid, marker_id_at(marker_id(request, 0), level));
}

static void name_marker(uint32_t request, uint32_t level, const char *name)
{
	if (processes_set_user_name(&feed.session->processes, feed.process,
				    marker_id_at(marker_id(request, 0), level), name))
		abort();
}

static void test_markers(void)
{
	begin();
	name_marker(0, 1, "a~b");
	name_marker(1, 1, "c~d");
	name_marker(1, 2, "c~d");
	marker(EBT_SPAN_BEGIN, 70, 0, 1);
	marker(EBT_SPAN_BEGIN, 70, 1, 1);
	sample_at(EBT_NO_DOMAIN, 70);
	marker(EBT_SPAN_BEGIN, 70, 1, 2);
	marker(EBT_SPAN_END, 70, 1, 2);
	sample_at(EBT_NO_DOMAIN, 70);
	marker(EBT_SPAN_END, 70, 1, 1);
	sample_at(EBT_NO_DOMAIN, 70);
	marker(EBT_SPAN_END, 70, 0, 1);
	sample_at(EBT_NO_DOMAIN, 70);
	end("c~d; c~d; a~b; no span; ", "pairs of markers nest");

	begin();
	name_marker(0, 1, "a~b");
	marker(EBT_SPAN_BEGIN, 7, 0, 1);
	sample();
	sample_at(1, 7);
	sample_at(0, 8);
	enter(OUTER);
	sample();
	leave(OUTER);
	sample();
	eio_run(&feed, 1);
	sample();
	eio_span(&feed, "request");
	sample();
	marker(EBT_SPAN_END, 7, 0, 1);
	sample();
	end("a~b; a~b; no span; outer; a~b; a~b; request; request; ",
	    "one is that of its thread in any domain, and the last one to begin counts");
}

static void lifecycle(uint32_t id)
{
	eio_event(&feed, (struct ebt_event){.kind = EBT_LIFECYCLE, .id = id}, NULL, 0);
}

static void test_losses(void)
{
	begin();
	enter(OUTER);
	eio_lose(&feed, feed.ts - 1);
	sample();
	enter(INNER);
	sample();
	leave(INNER);
	sample();
	end("span not known; inner; no span; ", "after a loss it is not known up to the next span");

	begin();
	eio_run(&feed, 1);
	eio_lose(&feed, feed.ts - 1);
	sample();
	eio_run(&feed, 1);
	sample();
	end("span not known; fiber (no name); ", "nor which fiber runs");

	begin();
	enter(OUTER);
	lifecycle(7); /* domain_terminate */
	lifecycle(6); /* domain_spawn */
	sample();
	leave(OUTER);
	enter(INNER);
	sample();
	end("no span; inner; ", "another thread in a ring is in no span of the one before");

	begin();
	enter(OUTER);
	if (profile_spans_forget(spans, feed.process, feed.ts))
		abort();
	sample();
	end("no span; ", "a process that is gone has none");
}

static void test_fibers(void)
{
	begin();
	eio_create(&feed, 1, 0);
	eio_name(&feed, 1, "first");
	eio_run(&feed, 1);
	sample();
	eio_span(&feed, "request");
	sample();
	eio_span(&feed, "part");
	sample();
	eio_create(&feed, 2, 0);
	eio_run(&feed, 2);
	sample();
	eio_suspend(&feed, "readv");
	sample();
	eio_run(&feed, 1);
	sample();
	eio_unit(&feed, EIO_EXIT_SPAN);
	sample();
	eio_int(&feed, EIO_EXIT_FIBER, 1);
	sample();
	end("fiber first; request; part; fiber (no name); no fiber; part; request; no fiber; ",
	    "spans are those of the fiber that runs");

	begin();
	eio_run(&feed, 1);
	eio_context(&feed, 5, EIO_SWITCH);
	eio_name(&feed, 5, "server");
	eio_context(&feed, 6, EIO_SWITCH);
	eio_name(&feed, 6, "worker");
	sample();
	end("fiber server; ", "a fiber has the name of its outermost context");

	begin();
	enter(OUTER);
	eio_run(&feed, 1);
	sample();
	enter(INNER);
	sample();
	eio_span(&feed, "request");
	sample();
	eio_run(&feed, 2);
	sample();
	eio_suspend(&feed, "");
	sample();
	end("fiber (no name); inner; request; fiber (no name); outer; ",
	    "a span that began in a fiber is not one of others");
}

static void test_limits(void)
{
	char name[32];
	uint32_t last = PROFILE_SPAN_NONE, distinct = 0;
	begin();
	for (uint32_t i = 0; i < PROFILE_SPANS + 10; i++) {
		struct ebt_event ev = {.kind = EBT_SAMPLE, .process = feed.process};
		uint32_t number;
		snprintf(name, sizeof(name), "name %u", i);
		if (processes_set_user_name(&feed.session->processes, feed.process, CROWD + i,
					    name))
			abort();
		enter(CROWD + i);
		if (profile_spans_find(spans, &ev, 0, &number))
			abort();
		distinct += number != last;
		last = number;
		leave(CROWD + i);
	}
	ok(distinct == PROFILE_SPANS + 1 && last == PROFILE_SPAN_OTHERS,
	   "names beyond the limit are one");
	enter(CROWD + 3);
	sample();
	enter(CROWD + PROFILE_SPANS + 3);
	sample();
	end("name 3; other spans; ", "and those before it stay");
}

int main(void)
{
	test_threads();
	test_outside();
	test_markers();
	test_losses();
	test_fibers();
	test_limits();
	return tap_done();
}
