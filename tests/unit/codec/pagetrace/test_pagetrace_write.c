/* SPDX-License-Identifier: BSD-2-Clause */
/* The writer of page traces: the same bytes as Go's runtime, and its own rules. */
#include "tests/random.h"
#include "tests/tap.h"
#include "tests/unit/pagetrace_fixture.h"

#define BASE_NS	 1000000000ull
#define MAX_ADDR ((1ull << 48) - EBT_PAGETRACE_PAGE_BYTES)

static int store(void *ctx, const void *block, size_t bytes)
{
	if (!bytes || bytes > EBT_PAGETRACE_BLOCK_BYTES)
		abort();
	pt_append(ctx, block, bytes);
	return 0;
}

static uint64_t word_at(const struct pt_bytes *b, size_t i)
{
	uint64_t word;
	memcpy(&word, b->data + i * 8, 8);
	return le64toh(word);
}

/* The blocks of one P, in the order of the trace, which is not damaged. */
static struct pt_bytes blocks_of(const struct pt_bytes *trace, int32_t p)
{
	struct pt_bytes b = {0};
	bool ours = false;
	for (size_t i = 0; i < trace->len / 8; i++) {
		uint64_t word = word_at(trace, i);
		size_t words = word & 3 && word & 4 ? 2 : 1;
		if ((word & 7) == 4)
			ours = (int64_t)word >> 3 == p;
		if (ours)
			pt_append(&b, trace->data + i * 8, words * 8);
		i += words - 1;
	}
	return b;
}

/* The events of one lane, written by another writer. */
static struct pt_bytes write_lane(struct ebt_pagetrace_file *f, size_t lane, int32_t p)
{
	static struct ebt_pagetrace_writer w;
	struct ebt_pagetrace_event ev[256];
	struct pt_bytes b = {0};
	ebt_pagetrace_writer_init(&w, p, store, &b);
	for (ssize_t n; (n = ebt_pagetrace_read_lane(f, lane, ev, 256)) > 0;)
		for (ssize_t i = 0; i < n; i++)
			if (ebt_pagetrace_write(&w, ev[i].what, ev[i].addr, ev[i].pages,
						ev[i].time_ns))
				abort();
	ebt_pagetrace_write_flush(&w);
	return b;
}

static void check_trace(const char *name)
{
	struct pt_bytes trace = pt_unpack(name, ".pt.xz");
	struct ebt_pagetrace_file *f;
	const struct ebt_pagetrace_lane *lane;
	if (ebt_pagetrace_open(pt_pread, &trace, &f, NULL))
		abort();
	size_t lanes = ebt_pagetrace_lanes(f, &lane), bytes = 0, same = 0;
	for (size_t i = 0; i < lanes; i++) {
		struct pt_bytes theirs = blocks_of(&trace, lane[i].p);
		struct pt_bytes ours = write_lane(f, i, lane[i].p);
		same += ours.len == theirs.len && !memcmp(ours.data, theirs.data, ours.len);
		bytes += ours.len;
		free(ours.data);
		free(theirs.data);
	}
	ok(same == lanes && bytes == trace.len,
	   "%s: the events of each P, written again, are the blocks that Go wrote", name);
	ebt_pagetrace_close(f);
	free(trace.data);
}

static void test_fixtures(void)
{
	static const char *const names[] = {
		"bigstream2-go122",  "exit0-go122",    "exit3-go122",	 "gc-p2-go122",
		"gc-p4-go121",	     "gcbig-p2-go122", "hiaddr40-go122", "huge-go122",
		"kill9-go122",	     "light-go122",    "panic-go122",	 "procs-go122",
		"scav-freeos-go122", "sleep-go122",
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check_trace(names[i]);
}

static struct ebt_pagetrace_writer writer;

static int put(uint64_t addr, uint64_t pages, uint64_t now_ns)
{
	return ebt_pagetrace_write(&writer, EBT_PAGETRACE_ALLOC, addr, pages, now_ns);
}

static void test_arguments(void)
{
	static const struct {
		const char *name;
		unsigned what;
		uint64_t addr, pages, now_ns;
		int want;
	} rows[] = {
		{"an event of one page is written", 1, 8192, 1, BASE_NS, 0},
		{"the last page below 2^48 is", 2, MAX_ADDR, 1, BASE_NS, 0},
		{"all pages below 2^48 at once are", 3, 0, 1ull << 35, BASE_NS, 0},
		{"the last time is", 1, 0, 1, (1ull << 63) - (1 << 23) - 1, 0},
		{"no event of what 0", 0, 0, 1, BASE_NS, -EINVAL},
		{"nor 4", 4, 0, 1, BASE_NS, -EINVAL},
		{"nor damage", EBT_PAGETRACE_DAMAGE, 0, 1, BASE_NS, -EINVAL},
		{"no address within a page", 1, 8193, 1, BASE_NS, -EINVAL},
		{"nor of half a page", 1, 4096, 1, BASE_NS, -EINVAL},
		{"nor at 2^48", 1, 1ull << 48, 1, BASE_NS, -EINVAL},
		{"no pages beyond 2^48", 1, MAX_ADDR, 2, BASE_NS, -EINVAL},
		{"not even so many that they wrap around", 1, 8192, UINT64_MAX, BASE_NS, -EINVAL},
		{"not none", 1, 8192, 0, BASE_NS, -EINVAL},
		{"no time that has no bits", 1, 8192, 1, (1ull << 63) - (1 << 23), -EINVAL},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pt_bytes b = {0};
		ebt_pagetrace_writer_init(&writer, 3, store, &b);
		int got = ebt_pagetrace_write(&writer, rows[i].what, rows[i].addr, rows[i].pages,
					      rows[i].now_ns);
		is(got, rows[i].want, rows[i].name);
		is(ebt_pagetrace_write_flush(&writer), 0, "and it can be flushed");
		struct pt_events e = pt_read(&b, 1000, 10);
		ok(!e.end && !e.damaged && e.n == !rows[i].want &&
			   (!e.n || (e.at->what == rows[i].what && e.at->addr == rows[i].addr &&
				     e.at->pages == rows[i].pages && e.at->p == 3 &&
				     e.at->time_ns == (rows[i].now_ns & ~127ull))),
		   "the trace has it if it was written, else nothing");
		pt_free(&e);
		free(b.data);
	}
}

/* Fills the block but for `left` words. */
static void fill(unsigned left)
{
	while (writer.words < EBT_PAGETRACE_BLOCK_BYTES / 8 - left)
		put(8192, 1, BASE_NS);
}

static void test_blocks(void)
{
	struct pt_bytes b = {0};
	ebt_pagetrace_writer_init(&writer, 0, store, &b);
	fill(0);
	is(b.len, 0, "a full block is not stored before it must be");
	put(8192, 1, BASE_NS);
	is(b.len, 32768, "one event more stores it");
	is(writer.words, 3, "and begins the next, with its P and time");
	fill(1);
	put(8192, 1024, BASE_NS);
	is(b.len, 32768 + 32760, "an event of two words ends a block that has one word left");
	fill(1);
	put(8192, 1, BASE_NS + (1 << 23));
	is(b.len, 32768 + 32760 + 32768, "a time may be a block's last word");
	is(writer.base_ns, BASE_NS + (1 << 23), "and begins the next, too");
	ebt_pagetrace_write_flush(&writer);
	size_t len = b.len;
	is(ebt_pagetrace_write_flush(&writer), 0, "flushing an empty block is no error");
	is(b.len, len, "and stores nothing");
	put(8192, 1, BASE_NS);
	is(writer.base_ns, BASE_NS + (1 << 23), "a time before the last event's is raised to it");
	ebt_pagetrace_write_flush(&writer);
	struct pt_events e = pt_read_all(&b, 100);
	/* In the first block, the second, the third with its two words, and the last. */
	ok(!e.end && !e.damaged && e.n == 4094 + 4093 + (1 + 4091) + 2 && e.counts.large == 1,
	   "all of it is read again");
	pt_free(&e);
	free(b.data);
}

static int refuse(void *ctx, const void *block, size_t bytes)
{
	(void)block;
	(void)bytes;
	++*(int *)ctx;
	return *(int *)ctx == 1 ? -ENOSPC : -EIO;
}

static void test_error(void)
{
	int calls = 0;
	ebt_pagetrace_writer_init(&writer, 0, refuse, &calls);
	fill(0);
	is(put(8192, 1, BASE_NS), -ENOSPC, "an error of the caller's function is returned");
	is(put(8192, 1, BASE_NS), -ENOSPC, "and again with each event");
	is(ebt_pagetrace_write_flush(&writer), -ENOSPC, "and by a flush");
	is(calls, 1, "the function is not called again");
	is(writer.words, 0, "and no event is kept");
}

/* Random events: what is read is what was written, in 128 ns. */
static void test_round_trip(void)
{
	uint64_t seed = 42, now_ns = BASE_NS;
	struct pt_bytes b = {0};
	struct pt_events want = {0};
	ebt_pagetrace_writer_init(&writer, 65533, store, &b);
	for (int i = 0; i < 50000; i++) {
		uint64_t r = random_next(&seed);
		now_ns += r % 16 ? r >> 8 & 0xfff : r >> 8 & 0xffffff;
		struct ebt_pagetrace_event ev = {
			.addr = r >> 3 & MAX_ADDR & ~8191ull,
			.pages = 1 + (r % 8 ? r >> 16 & 1023 : r >> 16 & 0xffffff),
			.p = 65533,
			.what = 1 + (uint32_t)(r >> 40) % 3,
		};
		uint64_t room = ((1ull << 48) - ev.addr) / EBT_PAGETRACE_PAGE_BYTES;
		ev.pages = ev.pages < room ? ev.pages : room;
		if (ebt_pagetrace_write(&writer, ev.what, ev.addr, ev.pages, now_ns))
			abort();
		ev.time_ns = (writer.base_ns & ~127ull) + ((now_ns - writer.base_ns) & ~127ull);
		pt_keep(&want, &ev, 1);
		if (!(r >> 20 & 0xfff))
			ebt_pagetrace_write_flush(&writer);
	}
	ebt_pagetrace_write_flush(&writer);
	struct pt_events e = pt_read(&b, 999, 64), all = pt_read_all(&b, 64);
	ok(!e.end && !e.damaged && pt_same(&e, &want), "random events are read as written");
	ok(!all.end && pt_same(&all, &want), "in the order of time, too");
	ok(e.counts.blocks > 12 && e.counts.large > 1000 && e.counts.syncs > e.counts.blocks,
	   "there are events of two words and times among them");
	for (size_t i = 1; i < want.n; i++)
		if (want.at[i - 1].time_ns > want.at[i].time_ns)
			abort();
	pt_free(&e);
	pt_free(&all);
	pt_free(&want);
	free(b.data);
}

int main(void)
{
	test_arguments();
	test_blocks();
	test_error();
	test_round_trip();
	test_fixtures();
	return tap_done();
}
