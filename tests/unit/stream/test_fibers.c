/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What fibers did, by visits in order: states, parts, names, arrows, losses. Then hostile input:
 * it has a result, takes bounded memory, and what is beyond a limit is counted.
 */
#include "stream/fibers.h"

#include "tests/tap.h"
#include "tests/unit/eio_fixture.h"
#include "tests/unit/said.h"
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>

static struct eio_feed feed;
static struct fibers *fibers;
static uint64_t first_ts;
static unsigned arrows_drawn = 1;

static const char *text_of(uint32_t id)
{
	return id ? fibers_text(fibers, id) : "-";
}

static int on_begin(void *ctx, struct fiber *f)
{
	(void)ctx;
	say("+%" PRId64 ":%s:%s ", f->id, text_of(f->name), text_of(f->group));
	return 0;
}

static int on_end(void *ctx, struct fiber *f, uint64_t end_ns, enum track_end how)
{
	(void)ctx;
	say("-%" PRId64 "@%" PRIu64 "/%d ", f->id, end_ns - first_ts, how);
	return 0;
}

static int on_open(void *ctx, struct fiber *f, const struct fiber_part *p)
{
	(void)ctx;
	say("%" PRId64 "(%s%" PRId64 "/%s ", f->id, p->is_context ? "c" : "s", p->id,
	    text_of(p->name));
	return 0;
}

static int on_close(void *ctx, struct fiber *f, const struct fiber_part *p, uint64_t end_ns,
		    enum track_end how)
{
	(void)ctx;
	say("%" PRId64 ")%s@%" PRIu64 "/%d ", f->id, p->is_context ? "c" : "s", end_ns - first_ts,
	    how);
	return 0;
}

static int on_spent(void *ctx, struct fiber *f, const struct fiber_interval *i)
{
	(void)ctx;
	say("%" PRId64 "%c%" PRIu64 "-%" PRIu64, f->id, "rRS"[i->state], i -> begin_ns - first_ts,
	    i -> end_ns - first_ts);
	if (i->operation)
		say(":%s", text_of(i->operation));
	if (i->arrow)
		say("<%" PRIu64, i->arrow);
	say(" ");
	return 0;
}

static int on_put(void *ctx, struct fiber *by, const struct ebt_event *ev, uint64_t arrow,
		  unsigned count)
{
	(void)ctx;
	say("%" PRId64 ">%" PRIu64 "x%u@%" PRIu64 " ", by ? by->id : -1, arrow, count,
	    ev->ts - first_ts);
	return !arrows_drawn;
}

static int on_note(void *ctx, struct fiber *by, const struct ebt_event *ev,
		   const struct eio_record *r)
{
	(void)ctx, (void)ev;
	say("%" PRId64 "\"%.*s ", by ? by->id : -1, (int)r->text_bytes, r->text);
	return 0;
}

static const struct fibers_visitor loud = {.begin = on_begin,
					   .end = on_end,
					   .open = on_open,
					   .close = on_close,
					   .spent = on_spent,
					   .put = on_put,
					   .note = on_note};
static const struct fibers_visitor quiet;

static int push(void *ctx, const struct ebt_event *ev)
{
	(void)ctx;
	return fibers_push(fibers, ev);
}

static void begin(const struct fibers_visitor *v)
{
	eio_begin(&feed);
	feed.push = push;
	first_ts = feed.ts;
	*said = 0;
	if (fibers_new(feed.session, v, NULL, &fibers))
		abort();
}

/* Ends all, and compares the visits. */
static void end(const char *want, const char *name)
{
	ok(!feed.err && !fibers_end(fibers, feed.ts) && !fibers_count(fibers),
	   "%s: all is processed, and no fiber is left", name);
	is_str(said, want, name);
	fibers_free(fibers);
	session_free(feed.session);
}

static void test_states(void)
{
	begin(&loud);
	eio_create(&feed, 1, 0); /* 0 */
	eio_run(&feed, 1);
	eio_create(&feed, 2, 0); /* 2 */
	eio_run(&feed, 2);
	eio_suspend(&feed, "readv"); /* 4 */
	eio_run(&feed, 1);
	eio_suspend(&feed, ""); /* 6 */
	eio_sleep(&feed, 10);	/* 7-18 */
	eio_run(&feed, 2);	/* 19 */
	eio_int(&feed, EIO_EXIT_FIBER, 2);
	eio_run(&feed, 1); /* 21 */
	eio_int(&feed, EIO_EXIT_FIBER, 1);
	end("+1:-:- 1r0-1 +2:-:- 1R1-3 2r2-3 2R3-4 1r3-5 1R5-6 2S4-18:readv 2r18-19 2R19-20 "
	    "-2@20/0 1S6-18 1r18-21 1R21-22 -1@22/0 ",
	    "a fiber runs, is displaced by its child, suspended, and ready behind a sleep");
}

static void test_parts(void)
{
	begin(&loud);
	eio_run(&feed, 1); /* 0: in the middle */
	eio_context(&feed, 2, EIO_SWITCH);
	eio_name(&feed, 2, "server");
	eio_span(&feed, "request"); /* 3 */
	eio_create(&feed, 3, 2);
	eio_name(&feed, 3, "child"); /* 5 */
	eio_unit(&feed, EIO_EXIT_CC);
	eio_unit(&feed, EIO_EXIT_CC); /* 7: no more */
	eio_unit(&feed, EIO_EXIT_SPAN);
	eio_context(&feed, 4, 99); /* 9 */
	eio_custom(&feed, EIO_LOG, 0, 0, 0, -1, "hello");
	eio_int(&feed, EIO_EXIT_FIBER, 1); /* 11 */
	end("+1:-:- 1R0-1 1(c2/server 1R1-3 1(s0/request +3:child:server 1R3-6 1)s@6/1 1)c@6/0 "
	    "1R6-9 1(c4/- 1\"hello 1R9-11 1)c@11/1 -1@11/0 3r4-12 -3@12/4 ",
	    "contexts and spans nest, an end without a begin is dropped, names follow");
}

static void test_arrows(void)
{
	begin(&loud);
	eio_object(&feed, 9, EIO_PROMISE); /* 0 */
	eio_run(&feed, 1);
	eio_suspend(&feed, "Promise.await"); /* 2 */
	eio_int(&feed, EIO_TRY_GET, 9);
	eio_run(&feed, 2); /* 4 */
	eio_int(&feed, EIO_TRY_GET, 9);
	eio_suspend(&feed, "Promise.await"); /* 6 */
	feed.domain = 1;
	eio_run(&feed, 3); /* 7 */
	eio_int(&feed, EIO_PUT, 9);
	eio_int(&feed, EIO_PUT, 9); /* no fiber waits for 9 */
	feed.domain = 0;
	eio_run(&feed, 2); /* 10 */
	eio_int(&feed, EIO_EXIT_FIBER, 2);
	eio_run(&feed, 1); /* 12 */
	end("+1:-:- 1R1-2 +2:-:- 2R4-6 +3:-:- 3>1x2@8 2S6-8:Promise.await 2r8-10 2R10-11<2 "
	    "-2@11/0 1S2-8:Promise.await 1r8-12 1R12-13<1 -1@13/4 3R7-13 -3@13/4 ",
	    "a promise lets all go on that wait for it, on any domain, with an arrow each");
}

static void test_first_waits(void)
{
	begin(&loud);
	arrows_drawn = 0;
	for (int64_t id = 1; id <= 2; id++) {
		eio_run(&feed, id); /* 0, 3 */
		eio_suspend(&feed, "lock");
		eio_int(&feed, EIO_TRY_GET, 7);
	}
	eio_int(&feed, EIO_PUT, 7); /* 6 */
	eio_run(&feed, 2);	    /* 7: it has been cancelled */
	eio_run(&feed, 1);
	eio_int(&feed, EIO_PUT, 7); /* 9 */
	arrows_drawn = 1;
	end("+1:-:- 1R0-1 +2:-:- 2R3-4 -1>1x1@6 2S4-7:lock 2R7-8 1S1-6:lock 1r6-8 1R8-10 "
	    "-1@10/4 2r8-10 -2@10/4 ",
	    "of another object the first that waits is ready; arrows that are not drawn do not "
	    "end");
}

static void test_losses(void)
{
	begin(&loud);
	eio_run(&feed, 1); /* 0 */
	eio_span(&feed, "work");
	eio_run(&feed, 2); /* 2 */
	feed.domain = 1;
	eio_run(&feed, 3); /* 3 */
	feed.domain = 0;
	feed.ts += 10;
	eio_lose(&feed, first_ts + 5);
	eio_unit(&feed, EIO_EXIT_SPAN); /* 15: of a fiber that is not known */
	eio_run(&feed, 1);
	eio_run(&feed, 3); /* 17: on another domain */
	end("+1:-:- 1R0-1 1(s0/work +2:-:- 1R1-2 +3:-:- 1r2-5 1)s@5/2 -1@5/2 2R2-5 -2@5/2 +1:-:- "
	    "3R3-17 -3@17/2 +3:-:- 1R16-17 1r17-18 -1@18/4 3R17-18 -3@18/4 ",
	    "a loss ends the fibers of its domain, and a fiber has one domain");
}

static void test_ends(void)
{
	begin(&loud);
	eio_run(&feed, 1);
	eio_create(&feed, 2, 0); /* 1 */
	eio_create(&feed, 2, 0);
	eio_event(&feed, (struct ebt_event){.kind = EBT_PROCESS, .id = EBT_PROCESS_FORK}, NULL, 0);
	eio_event(&feed, (struct ebt_event){.kind = EBT_PROCESS, .id = EBT_PROCESS_EXEC}, NULL, 0);
	eio_run(&feed, 5); /* 5 */
	is(fibers_forget(fibers, feed.process, feed.ts), 0, "a process is forgotten");
	end("+1:-:- +2:-:- 2r1-2 -2@2/2 +2:-:- 1R0-4 -1@4/3 2r2-4 -2@4/3 +5:-:- 5R5-6 -5@6/3 ",
	    "an id that comes again, an exec and an exit end fibers");
}

static int count_each(void *ctx, struct fiber *f)
{
	(void)f;
	return ++*(int *)ctx == 2 ? -ECANCELED : 0;
}

/* As those of a ring that is read from a pipe. */
static void test_unknown_process(void)
{
	int seen = 0;
	begin(&loud);
	feed.process = PROCESS_UNKNOWN;
	eio_register(feed.session, PROCESS_UNKNOWN);
	eio_run(&feed, 1);
	is(fibers_each(fibers, count_each, &seen), 0, "a fiber of no known process is visited");
	is(seen, 1, "once");
	feed.domain = 1;
	eio_run(&feed, 2);
	feed.domain = 0;
	seen = 0;
	is(fibers_each(fibers, count_each, &seen), -ECANCELED, "and one of another domain");
	end("+1:-:- +2:-:- 1R0-2 -1@2/4 2R1-2 -2@2/4 ",
	    "the end of the run is that of fibers of no known process, too");
}

static void test_foreign(void)
{
	begin(&loud);
	struct ebt_event ev = {.ts = 5, .process = feed.process, .kind = EBT_INT, .id = 4711};
	is(fibers_push(fibers, &ev), 0, "an event of the program's own is no matter of fibers");
	ev.id = EIO_FIBER;
	ev.kind = EBT_UNIT;
	is(fibers_push(fibers, &ev), 0, "nor is one of Eio's name and another type");
	eio_event(&feed, (struct ebt_event){.kind = EBT_CUSTOM, .id = EIO_CREATE_FIBER}, "xyz", 3);
	eio_suspend(&feed, "nobody runs");
	eio_unit(&feed, EIO_EXIT_SPAN);
	eio_int(&feed, EIO_EXIT_FIBER, 9);
	eio_context(&feed, 1, EIO_ROOT);
	eio_int(&feed, EIO_TRY_GET, 1);
	eio_int(&feed, EIO_PUT, 1);
	eio_lose(&feed, 0);
	end("", "what has no fiber has no effect");
}

static int count_open(void *ctx, struct fiber *f)
{
	(void)f;
	++*(size_t *)ctx;
	return 0;
}

static size_t used(void)
{
	struct mallinfo2 m = mallinfo2();
	return m.uordblks + m.hblkhd;
}

/* Each in a context and a span that never end, with names of their own, waiting for an object. */
static void test_many(void)
{
	begin(&quiet);
	size_t before = used(), open = 0;
	char name[64];
	for (int64_t id = 1; id <= FIBERS_OPEN + 50; id++) {
		eio_create(&feed, 3 * id, 3 * id - 3);
		snprintf(name, sizeof(name), "a fiber with a name of its own, %" PRId64, id);
		eio_name(&feed, 3 * id, name);
		eio_run(&feed, 3 * id);
		eio_context(&feed, 3 * id + 1, EIO_SWITCH);
		eio_name(&feed, 3 * id + 1, name + 2);
		eio_span(&feed, name + 4);
		eio_suspend(&feed, name + 6);
		eio_int(&feed, EIO_TRY_GET, 3 * id + 2);
	}
	size_t bytes = used() - before;
	struct fibers_limits over = fibers_over_limits(fibers);
	is(feed.err, 0, "more fibers than can be followed are no error");
	is(fibers_count(fibers), FIBERS_OPEN, "as many as the limit are followed");
	is(over.fibers, 50, "the others are counted, each once");
	is(over.parts, 0, "as many contexts and spans are followed");
	ok(over.texts > 0, "texts that are too much are counted");
	ok(bytes < 64u << 20, "they take less than 64 MiB");
	diag("%zu bytes for %d fibers", bytes, FIBERS_OPEN);
	fibers_each(fibers, count_open, &open);
	is(open, FIBERS_OPEN, "all are listed");
	eio_int(&feed, EIO_EXIT_FIBER, 3);
	eio_create(&feed, 7, 0);
	is(fibers_over_limits(fibers).fibers, 50, "where one has ended there is room for another");
	eio_create(&feed, 11, 0);
	is(fibers_over_limits(fibers).fibers, 51, "for one more there is none");
	eio_int(&feed, EIO_EXIT_FIBER, 6);
	is(fibers_count(fibers), FIBERS_OPEN - 1, "when another one has ended");
	eio_run(&feed, 13);
	ok(fibers_count(fibers) == FIBERS_OPEN && fibers_over_limits(fibers).fibers == 51,
	   "one that runs is followed, if it is not the one that was left out");
	end("", "100,000 open fibers");
}

static void test_hostile(void)
{
	begin(&quiet);
	size_t before = used();
	char name[32];
	eio_run(&feed, 1);
	for (int i = 0; i < TAP_ROUNDS(1000000); i++) {
		snprintf(name, sizeof(name), "name %d", i);
		eio_name(&feed, 1, name);
		eio_object(&feed, i, EIO_PROMISE);
		eio_context(&feed, i % 300, EIO_SWITCH);
		eio_name(&feed, i % 300, name);
	}
	ok(used() - before < 4u << 20,
	   "a million names and contexts that never end take no memory");
	ok(fibers_over_limits(fibers).parts > 0, "contexts that are too deep are counted");
	for (int i = 0; i < TAP_ROUNDS(1000000); i++) {
		eio_unit(&feed, EIO_EXIT_CC);
		eio_unit(&feed, EIO_EXIT_SPAN);
	}
	eio_span(&feed, "x"); /* all have ended: there is room again */
	uint64_t parts = fibers_over_limits(fibers).parts;
	eio_span(&feed, "y");
	is(fibers_over_limits(fibers).parts, parts, "after their ends there is room again");
	/* Two fibers, each made in a context of the other. */
	for (int i = 0; i < 1000; i++) {
		eio_context(&feed, 1000 + i % 2, EIO_SWITCH);
		eio_create(&feed, 2000 + i % 2, 1000 + i % 2);
		eio_run(&feed, 2000 + i % 2);
	}
	end("", "a million names, ends without begins, contexts in circles");
}

/* A context ends with more inside than is followed. */
static void test_too_deep(void)
{
	begin(&quiet);
	eio_run(&feed, 1);
	eio_context(&feed, 2, EIO_SWITCH);
	for (int i = 0; i < FIBERS_DEPTH + 2; i++)
		eio_span(&feed, "deep");
	is(fibers_over_limits(fibers).parts, 3, "parts that are too deep are counted");
	eio_unit(&feed, EIO_EXIT_CC);
	eio_span(&feed, "x");
	is(fibers_over_limits(fibers).parts, 3, "they end with the context around them");
	end("", "a context with too much inside");
}

/* The contexts of two fibers have the same id. */
static void test_same_context(void)
{
	static const char *const names[] = {"", "a", "b"};
	begin(&loud);
	for (int64_t id = 1; id <= 2; id++) {
		eio_run(&feed, id); /* 0, 3 */
		eio_context(&feed, 5, EIO_SWITCH);
		eio_name(&feed, 5, names[id]);
	}
	eio_run(&feed, 1); /* 6 */
	eio_unit(&feed, EIO_EXIT_CC);
	eio_create(&feed, 9, 5); /* 8 */
	end("+1:-:- 1R0-1 1(c5/a +2:-:- 1R1-3 2R3-4 2(c5/b 2R4-6 1r3-6 1R6-7 1)c@7/0 +9:-:b "
	    "1R7-9 -1@9/4 2r6-9 2)c@9/4 -2@9/4 9r8-9 -9@9/4 ",
	    "the end of a context leaves another one of its id");
}

/* One fiber after the other, each with a name of its own. */
static int number_text(void *ctx, struct fiber *f, const struct fiber_part *p)
{
	uint64_t *number = fibers_text_user(fibers, p->name);
	(void)ctx, (void)f;
	say("%s%" PRIu64 " ", strlen(text_of(p->name)) < 5 ? text_of(p->name) : "", *number);
	*number += 1;
	return 0;
}

static void test_text_users(void)
{
	static const struct fibers_visitor numbers = {.open = number_text};
	const char *const names[] = {"a", "b",	   "a",	    "ab",   "ba",
				     "b", "a\xff", "a\xff", "a\0b", "a?b"};
	begin(&numbers);
	eio_run(&feed, 1);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		eio_event(&feed, (struct ebt_event){.kind = EBT_CUSTOM, .id = EIO_ENTER_SPAN},
			  names[i], i == 8 ? 3 : strlen(names[i]));
		eio_unit(&feed, EIO_EXIT_SPAN);
	}
	end("a0 b0 a1 ab0 ba0 b1 a\xef\xbf\xbd"
	    "0 a\xef\xbf\xbd"
	    "1 a?b0 a?b1 ",
	    "equal texts have one number of the user's");
	begin(&numbers);
	eio_run(&feed, 1);
	for (unsigned i = 0; i < 1000; i++) {
		char name[32];
		snprintf(name, sizeof(name), "name %u", i);
		eio_span(&feed, name);
		eio_unit(&feed, EIO_EXIT_SPAN);
	}
	ok(strspn(said, "0 ") == strlen(said) && strlen(said) == 2000,
	   "a text that has the id of one that is gone has not its number");
	said[0] = 0;
	end("", "a thousand texts");
}

static void test_texts_end(void)
{
	char name[64];
	begin(&quiet);
	for (int64_t id = 1; id <= 200000; id++) {
		snprintf(name, sizeof(name), "a fiber with a name of its own, %" PRId64, id);
		eio_create(&feed, id, 0);
		eio_name(&feed, id, name);
		eio_run(&feed, id);
		eio_int(&feed, EIO_EXIT_FIBER, id);
	}
	is(fibers_over_limits(fibers).texts, 0, "texts of fibers that have ended take no room");
	end("", "many names, one after the other");
}

/* Waiters of one object, woken one by one, and all at once. */
static void test_waiters(void)
{
	begin(&quiet);
	eio_object(&feed, -1, EIO_PROMISE);
	for (int64_t id = 1; id <= 20000; id++) {
		eio_run(&feed, id);
		eio_suspend(&feed, "take");
		eio_int(&feed, EIO_TRY_GET, id % 2 ? -1 : -2);
	}
	for (int i = 0; i < 30000; i++)
		eio_int(&feed, EIO_PUT, i % 2 ? -1 : -2);
	end("", "many that wait for one object");
}

/* Four wait for one promise; one in the middle and the last stop, and are no more. */
static void test_waiters_stop(void)
{
	begin(&loud);
	eio_object(&feed, 9, EIO_PROMISE); /* 0 */
	for (int64_t id = 1; id <= 4; id++) {
		eio_run(&feed, id); /* 1, 4, 7, 10 */
		eio_suspend(&feed, "await");
		eio_int(&feed, EIO_TRY_GET, 9);
	}
	for (int64_t id = 3; id <= 4; id++) {
		eio_run(&feed, id); /* 13, 15: it was cancelled */
		eio_int(&feed, EIO_EXIT_FIBER, id);
	}
	eio_run(&feed, 5); /* 17 */
	eio_suspend(&feed, "await");
	eio_int(&feed, EIO_TRY_GET, 9);
	eio_int(&feed, EIO_PUT, 9); /* 20 */
	end("+1:-:- 1R1-2 +2:-:- 2R4-5 +3:-:- 3R7-8 +4:-:- 4R10-11 3S8-13:await 3R13-14 -3@14/0 "
	    "4S11-15:await 4R15-16 -4@16/0 +5:-:- 5R17-18 -1>1x3@20 1S2-20:await 1r20-21 -1@21/4 "
	    "2S5-20:await 2r20-21 -2@21/4 5S18-20:await 5r20-21 -5@21/4 ",
	    "those that stop waiting, in the middle and last, leave the others");
}

int main(void)
{
	test_states();
	test_parts();
	test_arrows();
	test_first_waits();
	test_losses();
	test_ends();
	test_unknown_process();
	test_foreign();
	test_many();
	test_hostile();
	test_waiters();
	test_waiters_stop();
	test_too_deep();
	test_same_context();
	test_text_users();
	test_texts_end();
	return tap_done();
}
