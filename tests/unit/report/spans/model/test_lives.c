/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports of the lives of fibers: their parts, and lives that began before the run. Times are in
 * nanoseconds. */
#include "report/spans/model/spans.h"

#include "tests/tap.h"
#include "tests/unit/eio_fixture.h"
#include "tests/unit/said.h"

#include <inttypes.h>
#include <stdio.h>

static struct eio_feed feed;
static struct span_model *model;

static int push(void *ctx, const struct ebt_event *ev)
{
	(void)ctx;
	return span_model_events(model, ev, 1);
}

static void begin(void)
{
	const struct span_model_options o = {.fibers = true, .slowest = 3};
	eio_begin(&feed);
	feed.push = push;
	if (span_model_new(feed.session, &o, &model))
		abort();
}

/* "NAME COUNT of NS: PART NS ... CUT=COUNT ..." of each name. */
static const char *end(void)
{
	static const char *const cuts[] = {
#define X(CONSTANT, key) #key,
		SPAN_CUTS_LIST(X)
#undef X
	};
	struct span_result r;
	*said = 0;
	if (feed.err || span_model_end(model, feed.ts) || span_model_result(model, &r))
		say("an error");
	else {
		for (uint32_t i = 0; i < r.names; i++) {
			struct span_name *n = r.name[i];
			span_parts_sort(&n->parts);
			say("%s %" PRIu64 " of %" PRIu64 ":", strings_text(r.sums->texts, n->text),
			    n->lengths.count, n->total_ns);
			for (uint32_t k = 0; k < n->parts.count; k++)
				say(" %s %" PRIu64, span_part_key(n->parts.at[k].kind),
				    n->parts.at[k].ns);
			for (unsigned k = 0; k < SPAN_CUTS; k++)
				if (n->cut[k])
					say(" %s=%" PRIu64, cuts[k], n->cut[k]);
			say("\n");
		}
		span_result_done(&r);
	}
	span_model_free(model);
	session_free(feed.session);
	return said;
}

/* A fiber with this name waits 3 ns until it runs, is suspended in "read" for 12 ns, and ends.
 * Fiber 0 runs before it; no event says when that was created. */
static void live(int64_t id, const char *name)
{
	eio_create(&feed, id, 0);
	eio_name(&feed, id, name);
	eio_run(&feed, 0);
	eio_run(&feed, id);
	eio_suspend(&feed, "read");
	feed.ts += 10;
	eio_run(&feed, 0);
	eio_run(&feed, id);
	eio_int(&feed, EIO_EXIT_FIBER, id);
}

static void test_lives(void)
{
	begin();
	live(1, "server");
	live(2, "server");
	live(3, "client");
	is_str(end(),
	       "(no name) 0 of 52: ready 46 unknown 6 open_at_begin=1\n"
	       "server 2 of 34: suspended 24 ready 6 unknown 4\n"
	       "client 1 of 17: suspended 12 ready 3 unknown 2\n",
	       "each name has what the lives of its fibers were made of");
}

static void test_before_run(void)
{
	begin();
	feed.session->run_begin = moment_at(feed.ts + 100);
	live(1, "early");
	eio_create(&feed, 2, 0);
	eio_name(&feed, 2, "server");
	eio_run(&feed, 2);
	eio_suspend(&feed, "read");
	feed.ts += 200;
	eio_run(&feed, 2);
	eio_suspend(&feed, "write");
	feed.ts += 50;
	eio_run(&feed, 2);
	eio_int(&feed, EIO_EXIT_FIBER, 2);
	live(3, "late");
	is_str(end(),
	       "(no name) 0 of 194: ready 192 unknown 2 open_at_begin=1\n"
	       "server 0 of 175: suspended 122 suspended 51 unknown 2 open_at_begin=1\n"
	       "late 1 of 17: suspended 12 ready 3 unknown 2\n",
	       "of what was before the run nothing is counted");
}

int main(void)
{
	test_lives();
	test_before_run();
	return tap_done();
}
