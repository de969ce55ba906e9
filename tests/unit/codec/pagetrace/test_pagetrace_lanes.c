/* SPDX-License-Identifier: BSD-2-Clause */
/* Lanes of page traces, and their merge: against a sort of what the reader of the file's order
 * has. */
#include <malloc.h>

#include "tests/random.h"
#include "tests/tap.h"
#include "tests/unit/pagetrace_fixture.h"

#define T0 (1ull << 40) /* ns */

/* A block of events that are step_ns apart. Their addresses number them. */
static void add_block(struct pt_bytes *b, int p, uint64_t ns, unsigned events, uint64_t step_ns)
{
	uint64_t word = (uint64_t)(int64_t)p << 3 | 4;
	pt_append(b, &word, 8);
	word = ns >> 7 << 3;
	pt_append(b, &word, 8);
	for (unsigned i = 0; i < events; i++) {
		uint64_t addr = (b->len & 0xffffffff) << 13;
		word = (i * step_ns) >> 7 << 48 | addr | 1 << 3 | 1;
		pt_append(b, &word, 8);
	}
}

static size_t lanes_of(struct pt_bytes *b, const struct ebt_pagetrace_lane **ret,
		       struct ebt_pagetrace_file **f)
{
	if (ebt_pagetrace_open(pt_pread, b, f, NULL))
		abort();
	return ebt_pagetrace_lanes(*f, ret);
}

/* Both readers have the same events; in order of time, if no two of equal time are of one P. */
static bool merges(struct pt_bytes *b, size_t batch)
{
	struct pt_events e = pt_read(b, 1u << 20, 64), all = pt_read_all(b, batch);
	pt_sort(&e);
	bool good = !e.end && !all.end && pt_same(&e, &all) &&
		    pt_same_counts(&e.counts, &all.counts) && pt_is_whole(&all.counts, b->len);
	pt_free(&e);
	pt_free(&all);
	return good;
}

static void test_one_lane_a_p(void)
{
	const struct ebt_pagetrace_lane *lane;
	struct ebt_pagetrace_file *f;
	struct pt_bytes b = {0};
	for (int i = 0; i < 50; i++)
		add_block(&b, i % 5, T0 + ((uint64_t)i << 20), 100, 1 << 10);
	add_block(&b, EBT_PAGETRACE_NO_P, T0 - 1000000, 3, 1 << 10);
	is(lanes_of(&b, &lane, &f), 6, "a P whose blocks are in order of time has one lane");
	ok(lane[0].p == 0 && lane[0].blocks == 10 && lane[0].events == 1000 &&
		   lane[0].first_ns == T0 && lane[0].last_ns == T0 + (45 << 20) + (99 << 10),
	   "with the number of its blocks and events, and its times");
	is(lane[5].p, EBT_PAGETRACE_NO_P, "the one of no P is there, too");
	is(ebt_pagetrace_file_counts(f).has_boot, 1, "and is reported when the trace is opened");
	is(ebt_pagetrace_file_counts(f).blocks, 51, "with the number of blocks");
	is(ebt_pagetrace_read_lane(f, 6, &(struct ebt_pagetrace_event){0}, 1), -EINVAL,
	   "there is no other lane");
	ebt_pagetrace_close(f);
	ok(merges(&b, 1) && merges(&b, 1000), "merged, they are in order of time");
	free(b.data);
}

/* A block may begin at the very time at which the one before it has ended. */
static void test_touching_blocks(void)
{
	const struct ebt_pagetrace_lane *lane;
	struct ebt_pagetrace_file *f;
	struct pt_bytes b = {0};
	add_block(&b, 2, T0, 10, 1 << 10);
	add_block(&b, 2, T0 + (9 << 10), 10, 1 << 10);
	is(lanes_of(&b, &lane, &f), 1, "a block that begins when the last one ends is of its lane");
	ok(lane[0].blocks == 2 && lane[0].events == 20, "which has the events of both");
	ebt_pagetrace_close(f);
	add_block(&b, 2, T0 + (18 << 10) - 128, 10, 1 << 10);
	is(lanes_of(&b, &lane, &f), 2, "one that begins a step of the clock earlier is not");
	ebt_pagetrace_close(f);
	free(b.data);
}

static void test_processes(unsigned processes)
{
	const struct ebt_pagetrace_lane *lane;
	struct ebt_pagetrace_file *f;
	struct pt_bytes b = {0};
	/* All write at the same time, each of them a second behind another, in no regular order. */
	uint64_t at[8], seed = 7, blocks = 0;
	for (unsigned i = 0; i < processes; i++)
		at[i] = T0 + (processes - i) * (1ull << 30);
	for (int i = 0; i < 200; i++) {
		unsigned process = (unsigned)random_next(&seed) % processes;
		add_block(&b, 3, at[process], 50, 1 << 12);
		at[process] += 1 << 20;
	}
	size_t lanes = lanes_of(&b, &lane, &f);
	is(lanes, processes, "blocks of one P that go back in time have a lane for each process");
	for (size_t i = 0; i < lanes; i++)
		blocks += lane[i].p == 3 ? lane[i].blocks : 0;
	is(blocks, 200, "all of which go on where each ended");
	ebt_pagetrace_close(f);
	ok(merges(&b, 256), "merged, they are in order of time");
	free(b.data);
}

static void test_ties(void)
{
	struct pt_bytes b = {0};
	for (int p = 9; p >= -1; p--)
		add_block(&b, p, T0, 300, 0);
	struct pt_events all = pt_read_all(&b, 64);
	bool good = all.n == 3300;
	for (size_t i = 1; i < all.n; i++)
		good &= all.at[i - 1].p <= all.at[i].p &&
			(all.at[i - 1].p < all.at[i].p || all.at[i - 1].addr < all.at[i].addr);
	ok(good, "events of one time are in order of P, then of the file");
	pt_free(&all);
	free(b.data);
}

/* Blocks of few and many events, in few and many Ps, some without any, each P in order of time. */
static void test_random(void)
{
	uint64_t seed = 99;
	unsigned failed = 0;
	for (unsigned run = 0; run < 200; run++) {
		struct pt_bytes b = {0};
		unsigned ps = 1 + (unsigned)random_next(&seed) % (run % 10 ? 12 : 300);
		uint64_t *at = calloc(ps, sizeof(*at));
		if (!at)
			abort();
		for (unsigned i = 0; i < ps; i++)
			at[i] = T0 + (random_next(&seed) & 0xffffff);
		for (unsigned i = 0; i < 3 * ps + 20; i++) {
			unsigned p = (unsigned)random_next(&seed) % ps;
			unsigned events = (unsigned)random_next(&seed) % (i % 3 ? 20 : 600);
			uint64_t step_ns = random_next(&seed) & 0x1fff;
			add_block(&b, (int)p - 1, at[p], events, step_ns);
			/* Not at the time of the last event: those sort by offset then. */
			at[p] += events * step_ns + 128 + (random_next(&seed) & 0xfffff);
		}
		failed += !merges(&b, 1 + random_next(&seed) % 500);
		free(at);
		free(b.data);
	}
	is(failed, 0, "200 random traces are merged as they would be sorted");
}

/* Each block begins before the one before it, and ends behind it. */
static void test_many_lanes(void)
{
	const struct ebt_pagetrace_lane *lane;
	struct ebt_pagetrace_file *f;
	struct pt_bytes b = {0};
	for (unsigned i = 0; i < 5000; i++)
		add_block(&b, 0, T0 + (uint64_t)(5000 - i) * 128, 2, 1 << 22);
	is(lanes_of(&b, &lane, &f), 5000, "blocks that all go back in time are lanes each");
	ebt_pagetrace_close(f);
	struct pt_events all = pt_read_all(&b, 256);
	bool good = all.n == 10000;
	for (size_t i = 1; i < all.n; i++)
		good &= all.at[i - 1].time_ns < all.at[i].time_ns;
	ok(good, "and are merged");
	pt_free(&all);
	for (unsigned i = 0; i <= EBT_PAGETRACE_LANES_MAX; i++)
		add_block(&b, 1, T0 + (1ull << 30) - (uint64_t)i * 128, 0, 0);
	all = pt_read_all(&b, 256);
	is(all.end, -EBADMSG, "but no more than a file may have");
	ok(*all.reason, "with a reason");
	pt_free(&all);
	free(b.data);
}

/* A file that fails, or is another one, once so many reads were done. */
struct changing {
	struct pt_bytes *bytes;
	int reads, until, err;
	uint64_t seed; /* not 0: words are replaced then */
	size_t len;    /* what is left of it then */
};

static ssize_t pread_changing(void *ctx, void *to, size_t bytes, uint64_t offset)
{
	struct changing *c = ctx;
	if (c->reads++ < c->until)
		return pt_pread(c->bytes, to, bytes, offset);
	if (c->err)
		return c->err;
	struct pt_bytes shorter = {c->bytes->data, c->len, 0};
	ssize_t n = pt_pread(&shorter, to, bytes, offset);
	for (ssize_t i = 0; c->seed && i + 8 <= n; i += 8)
		if (!(random_next(&c->seed) & 31))
			memcpy((char *)to + i,
			       c->bytes->data + random_next(&c->seed) % (c->len / 8) * 8, 8);
	return n;
}

/* What was one block when the trace was opened is two of other Ps when it is read. */
static void test_other_block(void)
{
	struct ebt_pagetrace_event ev[64];
	struct ebt_pagetrace_file *f;
	struct pt_bytes b = {0}, other = {0};
	add_block(&b, 3, T0, 6, 1 << 12);
	add_block(&b, 4, T0, 1, 1 << 12);
	add_block(&other, 3, T0, 2, 1 << 12);
	add_block(&other, 7, T0, 2, 1 << 12);
	if (ebt_pagetrace_open(pt_pread, &b, &f, NULL))
		abort();
	memcpy(b.data, other.data, other.len);
	is(ebt_pagetrace_read_lane(f, 0, ev, 64), 3, "a block that is two now gives the first one");
	ok(ev[2].what == EBT_PAGETRACE_DAMAGE && ev[2].addr == 32 && ev[2].pages == 32 &&
		   ev[2].p == 3,
	   "and the other one as damage of the lane's P");
	is(ebt_pagetrace_read_lane(f, 0, ev, 64), 0, "and then ends");
	ebt_pagetrace_close(f);
	free(b.data);
	free(other.data);
}

static size_t heap_bytes(void)
{
	return mallinfo2().uordblks;
}

/* Lanes end one after another, as those of threads of a long trace do. */
static void test_ended(void)
{
	const struct ebt_pagetrace_lane *lane;
	struct ebt_pagetrace_event ev[64];
	struct ebt_pagetrace_file *f;
	struct pt_bytes b = {0};
	size_t first = 0;
	for (int p = 0; p < 20; p++)
		add_block(&b, p, T0, 100 * (unsigned)(p + 1), 1 << 10);
	size_t lanes = lanes_of(&b, &lane, &f);
	for (size_t i = 0; i < lanes; i++) {
		while (ebt_pagetrace_read_lane(f, i, ev, 64) > 0)
			;
		first = i ? first : heap_bytes();
	}
	is(heap_bytes(), first, "a lane that has ended holds no memory while others go on");
	ebt_pagetrace_close(f);
	free(b.data);
}

static void test_errors(struct pt_bytes *b)
{
	struct changing c = {.bytes = b, .err = -EIO};
	struct ebt_pagetrace_event ev[64];
	struct ebt_pagetrace_file *f = NULL;
	char reason[EBT_PAGETRACE_REASON_BYTES] = "";
	is(ebt_pagetrace_open(pread_changing, &c, &f, reason), -EIO,
	   "an error of reading is returned");
	ok(*reason && !f, "with a reason, when the trace is opened");
	c = (struct changing){.bytes = b, .err = -EIO, .until = 4};
	is(ebt_pagetrace_open(pread_changing, &c, &f, reason), 0,
	   "one that comes later does not matter then");
	ssize_t n, events = 0;
	while ((n = ebt_pagetrace_read_all(f, ev, 64)) > 0)
		events += n;
	is(n, -EIO, "but when the block is read");
	ok(events > 0, "behind the events before it");
	is(ebt_pagetrace_read_all(f, ev, 64), -EIO, "and again");
	c.until = 1 << 30;
	while ((n = ebt_pagetrace_read_all(f, ev, 64)) > 0)
		events += n;
	struct pt_events all = pt_read(b, 1000, 64);
	ok(n == 0 && events == (ssize_t)all.n, "until it can be read: then the rest follows");
	pt_free(&all);
	ebt_pagetrace_close(f);
}

static void test_changes(struct pt_bytes *b)
{
	struct ebt_pagetrace_event ev[64];
	unsigned failed = 0;
	for (unsigned i = 0; i < 60; i++) {
		struct changing c = {.bytes = b, .until = 2, .seed = i & 1 ? i : 0};
		struct ebt_pagetrace_file *f;
		size_t events = 0;
		c.len = i % 3 ? b->len : b->len * i / 60 & ~7ull;
		c.len = c.len ? c.len : 8;
		if (ebt_pagetrace_open(pread_changing, &c, &f, NULL))
			abort();
		for (ssize_t n; (n = ebt_pagetrace_read_all(f, ev, 64)) > 0;)
			events += (size_t)n;
		struct ebt_pagetrace_counts n = ebt_pagetrace_file_counts(f);
		failed += events != n.events + n.damaged || events > b->len / 8 ||
			  (!(i % 3) && !n.damaged_bytes);
		ebt_pagetrace_close(f);
	}
	is(failed, 0, "a file that changes or shrinks meanwhile gives other events or damage");
}

int main(void)
{
	test_one_lane_a_p();
	test_touching_blocks();
	test_processes(2);
	test_processes(3);
	test_processes(7);
	test_ties();
	test_random();
	test_many_lanes();
	test_other_block();
	test_ended();
	struct pt_bytes b = pt_unpack("gc-p4-go121", ".pt.xz");
	test_errors(&b);
	test_changes(&b);
	free(b.data);
	return tap_done();
}
