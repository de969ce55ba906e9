/* SPDX-License-Identifier: BSD-2-Clause */
/* Tracks of fibers: which fiber has which, in what order slices come, what is not shown. */
#include "format/fiber_tracks.h"

#include "tests/tap.h"
#include "tests/unit/eio_fixture.h"
#include <inttypes.h>

static struct eio_feed feed;
static struct fiber_tracks *tracks;
static char seen[8192], message[256];
static uint64_t first_ts;
static bool loud;
static unsigned highest, begun, ended;
static struct fiber_track *last;

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *fmt, ...)
{
	va_list ap;
	size_t at = strlen(seen);
	va_start(ap, fmt);
	if (loud)
		vsnprintf(seen + at, sizeof(seen) - at, fmt, ap);
	va_end(ap);
}

static int on_begin(void *ctx, struct fiber_track *t, const struct fiber_slice *s)
{
	(void)ctx;
	begun++;
	highest = t->number > highest ? t->number : highest;
	last = t;
	say("%u(%s@%" PRIu64, t->number, s->name, s->begin_ns - first_ts);
	if (s->kind == FIBER_SLICE_FIBER && s->has_context)
		say(" in %" PRId64, s->context);
	say("%s%s ", s->type ? " is " : "", s->type ? s->type : "");
	return 0;
}

static int on_end(void *ctx, struct fiber_track *t, const struct fiber_slice *s)
{
	(void)ctx;
	ended++;
	say("%u)%s@%" PRIu64 "/%d ", t->number, s->name, s->end_ns - first_ts, s->how);
	return 0;
}

static int on_whole(void *ctx, struct fiber_track *t, const struct fiber_slice *s)
{
	(void)ctx;
	say("%u[%s@%" PRIu64 "-%" PRIu64, t->number, s->name, s->begin_ns - first_ts,
	    s->end_ns - first_ts);
	if (s->arrow)
		say("<%" PRIu64, s->arrow);
	say("] ");
	return 0;
}

static int on_note(void *ctx, struct fiber_track *t, const struct ebt_event *ev, const char *text)
{
	(void)ctx;
	say("%u\"%s@%" PRIu64 " ", t->number, text, ev->ts - first_ts);
	return 0;
}

static int on_put(void *ctx, struct fiber_track *t, const struct ebt_event *ev, uint64_t arrow,
		  unsigned count)
{
	(void)ctx, (void)count;
	say("%u>%" PRIu64 "@%" PRIu64 " ", t->number, arrow, ev->ts - first_ts);
	return 0;
}

static const struct fiber_tracks_visitor visitor = {
	.begin = on_begin, .end = on_end, .whole = on_whole, .note = on_note, .put = on_put};

static int push(void *ctx, const struct ebt_event *ev)
{
	(void)ctx;
	return fiber_tracks_event(tracks, ev);
}

static void keep_message(void *ctx, enum log_level level, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));
static void keep_message(void *ctx, enum log_level level, const char *fmt, va_list ap)
{
	(void)ctx, (void)level;
	vsnprintf(message, sizeof(message), fmt, ap);
}

static void begin(bool is_loud)
{
	eio_begin(&feed);
	feed.session->messages.line = keep_message;
	feed.push = push;
	first_ts = feed.ts;
	*seen = *message = 0;
	loud = is_loud;
	highest = begun = ended = 0;
	if (fiber_tracks_new(feed.session, &visitor, NULL, &tracks))
		abort();
}

static void end(void)
{
	ok(!feed.err && !fiber_tracks_end(tracks, feed.ts), "all is processed");
	is(ended, begun, "each slice that has begun has ended");
	fiber_tracks_free(tracks);
	session_free(feed.session);
}

static void test_slices(void)
{
	begin(true);
	eio_context(&feed, 1, EIO_ROOT); /* 0: of no fiber */
	eio_create(&feed, 2, 1);
	eio_name(&feed, 2, "main"); /* 2 */
	eio_run(&feed, 2);
	eio_context(&feed, 3, EIO_SWITCH); /* 4 */
	eio_create(&feed, 4, 3);
	eio_run(&feed, 4); /* 6 */
	eio_suspend(&feed, "readv");
	eio_run(&feed, 2); /* 8 */
	eio_int(&feed, EIO_EXIT_FIBER, 2);
	eio_run(&feed, 5); /* 10: has the track that is free */
	eio_custom(&feed, EIO_ERROR, 1, 5, 0, -1, "Exit");
	end();
	is_str(seen,
	       "0(main@3 in 1 0[running@3-4] 0(switch 3@4 is switch 0[running@4-6] "
	       "1(fiber 4@6 in 3 1[running@6-7] 0[ready@6-8] 0[running@8-9] 0)switch 3@9/1 "
	       "0)main@9/0 0(fiber 5@10 0\"Exit@11 1[suspended: readv@7-12] 1)fiber 4@12/4 "
	       "0[running@10-12] 0)fiber 5@12/4 ",
	       "fibers, contexts and states are slices, a track is used again");
	is_str(message, "", "nothing is left out");
}

static void test_first_run(void)
{
	begin(true);
	eio_run(&feed, 1); /* 0 */
	eio_suspend(&feed, "take");
	eio_int(&feed, EIO_TRY_GET, 9); /* 2 */
	eio_run(&feed, 2);
	eio_int(&feed, EIO_PUT, 9); /* 4: it has no interval yet */
	eio_run(&feed, 1);
	end();
	is_str(seen,
	       "0(fiber 1@0 0[running@0-1] 1(fiber 2@3 1>1@4 1[running@3-5] 0[suspended: take@1-4] "
	       "0[ready@4-5] 0[running@5-6<1] 0)fiber 1@6/4 1[ready@5-6] 1)fiber 2@6/4 ",
	       "an arrow begins on the track of a fiber that runs for the first time");
}

static void test_limit(void)
{
	begin(false);
	for (int64_t id = 1; id <= FIBER_TRACKS + 20; id++) {
		eio_run(&feed, id);
		eio_span(&feed, "work");
		eio_suspend(&feed, "");
	}
	is(begun, 2 * FIBER_TRACKS, "as many fibers as there are tracks are shown");
	is(highest, FIBER_TRACKS - 1, "a domain has 1,000 tracks");
	feed.domain = 1;
	eio_run(&feed, 9000);
	eio_int(&feed, EIO_EXIT_FIBER, 9000);
	ok(last->domain == 1 && last->number == 0, "another domain has its own");
	feed.domain = 0;
	eio_int(&feed, EIO_EXIT_FIBER, 77);
	begun = ended = 0;
	loud = true;
	eio_run(&feed, FIBER_TRACKS + 7);
	eio_suspend(&feed, "");
	is_str(seen, "76(fiber 1007@3063 76(work@3063 76[running@3063-3064] ",
	       "a fiber without a track gets the one that is free, with what is open in it");
	begun = ended + 2 * FIBER_TRACKS;
	end();
	is_str(message, "19 fibers are not shown: a domain has 1000 tracks of fibers",
	       "those that were never shown are counted");
}

static void test_forget(void)
{
	begin(false);
	eio_run(&feed, 1);
	eio_span(&feed, "x");
	is(fiber_tracks_forget(tracks, feed.process, feed.ts), 0, "a process is forgotten");
	is(ended, begun, "its slices end");
	eio_run(&feed, 1);
	end();
}

/* One fiber after the other, each with a name of its own: a track holds the name of its fiber. */
static void test_names_end(void)
{
	char name[64];
	begin(false);
	for (int64_t id = 1; id <= 200000; id++) {
		loud = id == 200000;
		snprintf(name, sizeof(name), "a fiber with a name of its own, %" PRId64, id);
		eio_create(&feed, id, 0);
		eio_name(&feed, id, name);
		eio_run(&feed, id);
		eio_int(&feed, EIO_EXIT_FIBER, id);
	}
	ok(strstr(seen, "0(a fiber with a name of its own, 200000@"),
	   "the last of 200,000 fibers has its name: those of the others take no room");
	end();
}

int main(void)
{
	test_slices();
	test_first_run();
	test_limit();
	test_forget();
	test_names_end();
	return tap_done();
}
