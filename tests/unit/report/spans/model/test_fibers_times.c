/* SPDX-License-Identifier: BSD-2-Clause */
/* The times of fibers: sums by state and operation, names, snapshots, and that nothing is lost: the
 * sums of a fiber are its life, whatever the events. */
#include "report/spans/model/fibers.h"

#include "tests/random.h"
#include "tests/tap.h"
#include "tests/unit/eio_fixture.h"
#include "tests/unit/said.h"
#include <inttypes.h>
#include <malloc.h>

static struct eio_feed feed;
static struct fibers_times *model;
static uint64_t first_ts;
static size_t reported, unbalanced;

static int push(void *ctx, const struct ebt_event *ev)
{
	(void)ctx;
	return fibers_times_event(model, ev);
}

static int print(void *ctx, const struct fiber_times *t)
{
	const char *name = fiber_times_name(t);
	(void)ctx;
	say("%" PRId64 " d%u %s %" PRIu64 "-%" PRIu64 "/%d run %" PRIu64 "x%" PRIu64
	    " ready %" PRIu64 " wait %" PRIu64,
	    t->id, t->domain, name ? name : "-", t->begin_ns - first_ts, t->end_ns - first_ts,
	    t->how, t->running_ns, t->runs, t->ready_ns, t->suspended_ns);
	for (unsigned i = 0; i < t->operations; i++) {
		const struct fiber_operation *o = &t->operation[i];
		say(" %s=%" PRIu64 "x%" PRIu64, o->name ? o->name : "others", o->ns, o->count);
	}
	say("\n");
	return 0;
}

static int count(void *ctx, const struct fiber_times *t)
{
	uint64_t ns = 0;
	(void)ctx;
	for (unsigned i = 0; i < t->operations; i++)
		ns += t->operation[i].ns;
	reported++;
	unbalanced += t->running_ns + t->ready_ns + t->suspended_ns != t->end_ns - t->begin_ns ||
		      ns != t->suspended_ns;
	return 0;
}

static void begin(fibers_times_fn *fn)
{
	eio_begin(&feed);
	feed.push = push;
	first_ts = feed.ts;
	*said = 0;
	reported = unbalanced = 0;
	if (fibers_times_new(feed.session, fn, NULL, &model))
		abort();
}

static void end(void)
{
	ok(!feed.err && !fibers_times_end(model, feed.ts), "all is processed");
	fibers_times_free(model);
	session_free(feed.session);
}

static void test_sums(void)
{
	begin(print);
	feed.domain = 3;
	eio_create(&feed, 1, 0); /* 0 */
	eio_run(&feed, 1);
	eio_context(&feed, 2, EIO_SWITCH); /* 2 */
	eio_name(&feed, 2, "server");
	eio_create(&feed, 3, 2); /* 4 */
	eio_run(&feed, 3);
	eio_span(&feed, "request"); /* 6 */
	eio_span(&feed, "inner");
	eio_suspend(&feed, "readv"); /* 8 */
	eio_run(&feed, 1);
	eio_suspend(&feed, ""); /* 10 */
	eio_sleep(&feed, 100);	/* 11-112 */
	eio_run(&feed, 3);	/* 113 */
	eio_suspend(&feed, "readv");
	eio_run(&feed, 3); /* 115 */
	eio_int(&feed, EIO_EXIT_FIBER, 3);
	is_str(said, "3 d3 request 4-116/0 run 5x3 ready 2 wait 105 readv=105x2\n",
	       "a fiber that has ended has its sums, by its outermost span");
	*said = 0;
	is(fibers_times_snapshot(model, feed.ts + 9, print, NULL), 0, "a snapshot is made");
	is_str(said, "1 d3 server 0-126/4 run 5x2 ready 5 wait 116 =116x1\n",
	       "an open fiber has its open interval, up to now");
	*said = 0;
	end();
	is_str(said, "1 d3 server 0-117/4 run 5x2 ready 5 wait 107 =107x1\n",
	       "which a snapshot does not change; at the end it is reported");
}

static void test_operations(void)
{
	char name[16];
	begin(print);
	for (int i = 0; i < 12; i++) {
		eio_run(&feed, 1);
		snprintf(name, sizeof(name), "op%d", i);
		eio_suspend(&feed, name);
	}
	is(fibers_times_snapshot(model, feed.ts, print, NULL), 0, "a snapshot is made");
	end();
	is_str(said,
	       "1 d0 - 0-24/4 run 12x12 ready 0 wait 12 op0=1x1 op1=1x1 op2=1x1 op3=1x1 op4=1x1 "
	       "op5=1x1 op6=1x1 op7=1x1 others=4x4\n"
	       "1 d0 - 0-24/4 run 12x12 ready 0 wait 12 op0=1x1 op1=1x1 op2=1x1 op3=1x1 op4=1x1 "
	       "op5=1x1 op6=1x1 op7=1x1 others=4x4\n",
	       "operations beyond the limit are one sum, in a snapshot and at the end");
}

/* Any events, on two domains, with losses. */
static void test_any(void)
{
	static const char *const texts[] = {"", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
	uint64_t seed = 7;
	begin(count);
	for (int i = 0; i < TAP_ROUNDS(200000); i++) {
		int64_t id = (int64_t)(random_next(&seed) % 20);
		const char *text = texts[random_next(&seed) % 11];
		feed.domain = (uint16_t)(random_next(&seed) % 2);
		feed.ts += random_next(&seed) % 5;
		switch (random_next(&seed) % 16) {
		case 0:
			eio_create(&feed, id, id + 1);
			break;
		case 1:
			eio_int(&feed, EIO_EXIT_FIBER, id);
			break;
		case 2:
		case 3:
			eio_suspend(&feed, text);
			break;
		case 4:
			eio_context(&feed, id, EIO_SUB);
			break;
		case 5:
			eio_unit(&feed, EIO_EXIT_CC);
			break;
		case 6:
			eio_span(&feed, text);
			break;
		case 7:
			eio_unit(&feed, EIO_EXIT_SPAN);
			break;
		case 8:
			eio_int(&feed, EIO_TRY_GET, id % 3);
			break;
		case 9:
			eio_int(&feed, EIO_PUT, id % 3);
			break;
		case 10:
			eio_sleep(&feed, 3);
			break;
		case 11:
			if (id == 3)
				eio_lose(&feed, feed.ts - 4);
			break;
		default:
			eio_run(&feed, id);
		}
		if (i % 1000 == 0 && fibers_times_snapshot(model, feed.ts, count, NULL))
			abort();
	}
	end();
	ok(reported > (size_t)TAP_ROUNDS(10000), "fibers of any events are reported");
	is(unbalanced, 0, "the sums of each are its life, and those of its operations its waits");
}

static void test_many(void)
{
	begin(count);
	struct mallinfo2 m = mallinfo2();
	size_t before = m.uordblks + m.hblkhd;
	char name[64];
	for (int64_t id = 1; id <= FIBERS_OPEN; id++) {
		snprintf(name, sizeof(name), "a name of its own %" PRId64, id);
		eio_create(&feed, 2 * id, 2 * id - 1);
		eio_name(&feed, 2 * id, name);
		eio_run(&feed, 2 * id);
		eio_context(&feed, 2 * id + 1, EIO_SWITCH);
		eio_span(&feed, name + 2);
		eio_suspend(&feed, "readv");
		eio_run(&feed, 2 * id);
		eio_suspend(&feed, "sleep");
	}
	m = mallinfo2();
	size_t bytes = m.uordblks + m.hblkhd - before;
	ok(bytes < 64u << 20, "100,000 open fibers with their sums take less than 64 MiB");
	diag("%zu bytes", bytes);
	is(reported, 0, "none has ended");
	end();
	ok(reported == FIBERS_OPEN && !unbalanced, "at the end all are reported");
}

int main(void)
{
	test_sums();
	test_operations();
	test_any();
	test_many();
	return tap_done();
}
