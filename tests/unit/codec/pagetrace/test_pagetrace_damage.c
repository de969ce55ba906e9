/* SPDX-License-Identifier: BSD-2-Clause */
/* Damaged page traces: what is good is read, what is not has its offset, its size and a reason. */
#include "tests/tap.h"
#include "tests/unit/pagetrace_fixture.h"

#define T0   (1ull << 40) /* ns */
#define MS   (1ull << 20) /* about a millisecond */
#define HEAP 0xc000000000ull
#define ONES UINT64_MAX

/* Words: a P, a time, events of one page and the first ones of those of many. The pages are
 * letters. */
#define P(p)	       ((uint64_t)(int64_t)(p) << 3 | 4)
#define T(ns)	       ((uint64_t)(ns) >> 7 << 3)
#define AT(name)       (HEAP + (uint64_t)((name) - 'a') * 8192)
#define D(ns)	       ((uint64_t)(ns) >> 7 << 48)
#define E(name, ns)    (D(ns) | AT(name) | 1 << 3 | 1)
#define MANY(name, ns) (D(ns) | AT(name) | 4 | 1)
#define HEAD(p, ns)    P(p), T(ns)
#define LATER	       HEAD(1, T0 + 50 * MS), E('z', 0)
#define WORDS(...) \
	.word = (const uint64_t[]){__VA_ARGS__}, .bytes = sizeof((const uint64_t[]){__VA_ARGS__})

static const struct row {
	const char *name;
	const uint64_t *word;
	unsigned bytes, cut; /* cut: bytes missing at the end */
	const char *want;    /* in the order of the file: the pages' letters; X: damage */
	struct {
		uint64_t at, bytes;
	} damage[3];
	const char *reason;
} rows[] = {
	{"a whole trace has no damage", WORDS(HEAD(0, T0), E('a', 0), E('b', MS), LATER),
	 .want = "abz", .reason = ""},
	{"a block may have no event", WORDS(HEAD(0, T0), HEAD(1, T0), LATER), .want = "z",
	 .reason = ""},
	{"numbers of pages look like a P and a time, and are none",
	 WORDS(HEAD(0, T0), MANY('a', 0), 1028, T(T0 + MS), MANY('b', 0), 1024, E('c', 0)),
	 .want = "abc", .reason = ""},
	{"one damaged word between events is skipped alone",
	 WORDS(HEAD(0, T0), E('a', 0), ONES, E('b', MS), LATER), .want = "aXbz",
	 .damage = {{24, 8}}, .reason = "at byte 24: expected an event, a time or a P"},
	{"those in a row are one event",
	 WORDS(HEAD(0, T0), E('a', 0), ONES, ONES, ONES, E('b', MS), LATER), .want = "aXbz",
	 .damage = {{24, 24}}, .reason = "at byte 24: expected an event, a time or a P"},
	{"those apart are two, and the reason is the first one's",
	 WORDS(HEAD(0, T0), E('a', 0), ONES, E('b', MS), 1, E('c', MS), LATER), .want = "aXbXcz",
	 .damage = {{24, 8}, {40, 8}}, .reason = "at byte 24: expected an event, a time or a P"},
	{"an event of no page is damaged",
	 WORDS(HEAD(0, T0), E('a', 0), HEAP | 1, E('b', MS), LATER), .want = "aXbz",
	 .damage = {{24, 8}}, .reason = "at byte 24: expected 1 page or more, below address 2^48"},
	{"and one that reaches beyond 2^48",
	 WORDS(HEAD(0, T0), E('a', 0), 0xffffffffe000 | 2 << 3 | 1, E('b', MS), LATER),
	 .want = "aXbz", .damage = {{24, 8}},
	 .reason = "at byte 24: expected 1 page or more, below address 2^48"},
	{"and one with two numbers of pages",
	 WORDS(HEAD(0, T0), E('a', 0), MANY('q', 0) | 1 << 3, E('b', MS), LATER), .want = "aXbz",
	 .damage = {{24, 8}}, .reason = "at byte 24: expected an event, a time or a P"},
	{"a large event of fewer than 1024 pages is damaged, and what may be its number",
	 WORDS(HEAD(0, T0), MANY('a', 0), 1016 | 7, E('b', MS), LATER), .want = "Xbz",
	 .damage = {{16, 16}},
	 .reason = "at byte 16: expected 1024 pages or more, below address 2^48"},
	{"and one that reaches beyond 2^48",
	 WORDS(HEAD(0, T0), MANY('a', 0), 1ull << 35 | 1, E('b', MS), LATER), .want = "Xbz",
	 .damage = {{16, 16}},
	 .reason = "at byte 16: expected 1024 pages or more, below address 2^48"},
	{"behind a word that may have had a number, the block is lost",
	 WORDS(HEAD(0, T0), E('a', 0), ONES, 1028, E('b', MS), E('c', MS), LATER), .want = "aXz",
	 .damage = {{24, 32}}, .reason = "at byte 24: expected an event, a time or a P"},
	{"though the number looks like an event",
	 WORDS(HEAD(0, T0), E('a', 0), ONES, 1025, E('b', MS), E('c', MS), LATER), .want = "aXz",
	 .damage = {{24, 32}}, .reason = "at byte 24: expected an event, a time or a P"},
	{"behind one that has none, an event with a number is read",
	 WORDS(HEAD(0, T0), E('a', 0), ONES, MANY('b', MS), 2000, E('c', MS), LATER),
	 .want = "aXbcz", .damage = {{24, 8}},
	 .reason = "at byte 24: expected an event, a time or a P"},
	{"and behind one that may have been a P, before a time",
	 WORDS(HEAD(0, T0), E('a', 0), ONES, T(T0 + MS), E('b', 0), LATER), .want = "aXz",
	 .damage = {{24, 24}}, .reason = "at byte 24: expected an event, a time or a P"},
	{"and behind one that was a time: the next event is too early",
	 WORDS(HEAD(0, T0), E('a', MS), ONES, E('b', 0), LATER), .want = "aXz",
	 .damage = {{24, 16}}, .reason = "at byte 24: expected an event, a time or a P"},
	{"a damaged word at a block's end costs the next block nothing",
	 WORDS(HEAD(0, T0), E('a', MS), ONES, LATER), .want = "aXz", .damage = {{24, 8}},
	 .reason = "at byte 24: expected an event, a time or a P"},
	{"a P beyond the largest is damaged, and its block is lost",
	 WORDS(HEAD(0, T0), E('a', 0), HEAD(65534, T0), E('b', MS), LATER), .want = "aXz",
	 .damage = {{24, 24}}, .reason = "at byte 24: expected an event, a time or a P"},
	{"and a P below -1", WORDS(HEAD(0, T0), E('a', 0), HEAD(-2, T0), E('b', MS), LATER),
	 .want = "aXz", .damage = {{24, 24}},
	 .reason = "at byte 24: expected an event, a time or a P"},
	{"and one without a time", WORDS(HEAD(0, T0), E('a', 0), P(1), E('b', MS), LATER),
	 .want = "aXz", .damage = {{24, 16}}, .reason = "at byte 24: expected a time after the P"},
	{"the largest P and the last time are good",
	 WORDS(HEAD(65533, (1ull << 63) - (1 << 23) - 128), E('a', 0)), .want = "a", .reason = ""},
	{"a later time is not", WORDS(HEAD(0, T0), E('a', 0), T(1ull << 63), E('b', 0), LATER),
	 .want = "aXz", .damage = {{24, 16}},
	 .reason = "at byte 24: expected a time below 2^63 ns"},
	{"a number of pages is no P where a block is searched",
	 WORDS(HEAD(0, T0), E('a', 0), P(1), MANY('b', 0), 1028, T(T0 + MS), E('c', 0), LATER),
	 .want = "aXz", .damage = {{24, 40}}, .reason = "at byte 24: expected a time after the P"},
	{"a hole is damage up to the next block", WORDS(HEAD(0, T0), E('a', MS), 0, 0, 0, 0, LATER),
	 .want = "aXz", .damage = {{24, 32}},
	 .reason = "at byte 24: expected a time not before the last one"},
	{"at the end, too", WORDS(HEAD(0, T0), E('a', MS), 0, 0, 0), .want = "aX",
	 .damage = {{24, 24}}, .reason = "at byte 24: expected a time not before the last one"},
	{"as is any time that is earlier than the last",
	 WORDS(HEAD(0, T0), E('a', 0), T(T0 + MS), E('b', 0), T(T0), E('c', MS), LATER),
	 .want = "abXz", .damage = {{40, 16}},
	 .reason = "at byte 40: expected a time not before the last one"},
	{"one that is the same again is good",
	 WORDS(HEAD(0, T0), E('a', 0), T(T0), E('b', 0), LATER), .want = "abz", .reason = ""},
	{"an event earlier than the one before it is read in its place",
	 WORDS(HEAD(0, T0), E('a', MS), E('b', 0), E('c', 2 * MS), LATER), .want = "abcz",
	 .reason = ""},
	{"cut within a word, all events before it are read",
	 WORDS(HEAD(0, T0), E('a', 0), E('b', 0)), .cut = 3, .want = "aX", .damage = {{24, 5}},
	 .reason = "at byte 24: expected a whole word"},
	{"cut within an event", WORDS(HEAD(0, T0), E('a', 0), MANY('b', 0)), .want = "aX",
	 .damage = {{24, 8}},
	 .reason = "at byte 24: expected 1024 pages or more, below address 2^48"},
	{"cut within an event's second word", WORDS(HEAD(0, T0), E('a', 0), MANY('b', 0), 2000),
	 .cut = 7, .want = "aX", .damage = {{24, 9}},
	 .reason = "at byte 24: expected 1024 pages or more, below address 2^48"},
	{"cut behind a P", WORDS(HEAD(0, T0), E('a', 0), P(-1)), .want = "aX", .damage = {{24, 8}},
	 .reason = "at byte 24: expected a time after the P"},
	{"cut within a block's time", WORDS(HEAD(0, T0), E('a', 0), HEAD(-1, T0)), .cut = 1,
	 .want = "aX", .damage = {{24, 15}}, .reason = "at byte 24: expected a time after the P"},
	{"cut within a hole", WORDS(HEAD(0, T0), E('a', 0), 0, 0), .cut = 1, .want = "aX",
	 .damage = {{24, 15}}, .reason = "at byte 24: expected a time not before the last one"},
};

struct order {
	char text[64];
	size_t n;
};

static struct order order_of(const struct pt_bytes *b, size_t piece)
{
	struct ebt_pagetrace_reader *r;
	struct ebt_pagetrace_event ev;
	struct order o = {0};
	size_t at = 0;
	if (ebt_pagetrace_reader_new(&r))
		abort();
	for (ssize_t n; (n = ebt_pagetrace_read(r, &ev, 1)) && o.n < 63;) {
		if (n > 0) {
			bool damage = ev.what == EBT_PAGETRACE_DAMAGE;
			o.text[o.n++] = damage ? 'X' : (char)('a' + (ev.addr - HEAP) / 8192);
			continue;
		}
		if (at == b->len)
			ebt_pagetrace_finish(r);
		size_t room, some = b->len - at < piece ? b->len - at : piece;
		void *to = ebt_pagetrace_room(r, &room);
		if (at == b->len || some > room)
			continue;
		memcpy(to, b->data + at, some);
		ebt_pagetrace_put(r, some);
		at += some;
	}
	ebt_pagetrace_reader_free(r);
	return o;
}

static bool has_damage(const struct row *row, const struct pt_events *e)
{
	uint64_t bytes = 0;
	size_t n = 0;
	for (; n < 3 && row->damage[n].bytes; n++) {
		if (n >= e->damaged || e->damage[n].addr != row->damage[n].at ||
		    e->damage[n].pages != row->damage[n].bytes || e->damage[n].p != 0)
			return false;
		bytes += row->damage[n].bytes;
	}
	return n == e->damaged && e->counts.damaged == n && e->counts.damaged_bytes == bytes &&
	       pt_is_whole(&e->counts, row->bytes - row->cut);
}

static void check_row(const struct row *row)
{
	struct pt_bytes b = {0};
	pt_append(&b, row->word, row->bytes - row->cut);
	struct order small = order_of(&b, 1), large = order_of(&b, 1000);
	is_str(large.text, row->want, row->name);
	is_str(small.text, row->want, "byte by byte, too");
	struct pt_events e = pt_read(&b, 1, 2), all = pt_read_all(&b, 2);
	is_str(e.reason, row->reason, "with the first damage's offset, and what was expected");
	is_str(all.reason, row->reason, "in both readers");
	bool good = has_damage(row, &e) && has_damage(row, &all);
	ok(good, "with the offset and the size of each damage; no byte is missing");
	if (!good)
		for (size_t i = 0; i < e.damaged; i++)
			diag("at %" PRIu64 ", %" PRIu64 " bytes of P %d", e.damage[i].addr,
			     e.damage[i].pages, e.damage[i].p);
	pt_sort(&e);
	ok(pt_same(&e, &all) && pt_same_counts(&e.counts, &all.counts),
	   "the reader in order of time has the same events and counts");
	pt_free(&e);
	pt_free(&all);
	free(b.data);
}

static void test_damage_event(void)
{
	static const uint64_t word[] = {HEAD(5, T0),	E('a', 0),   E('b', MS), ONES,
					E('c', 2 * MS), HEAD(6, T0), ONES,	 E('d', 0)};
	struct pt_bytes b = {0};
	pt_append(&b, word, sizeof(word));
	struct pt_events e = pt_read_all(&b, 10);
	is(e.damaged, 2, "two words are damaged");
	ok(e.damage[0].p == 6 && e.damage[0].time_ns == T0,
	   "in order of time: the one of a block without an event before it has the block's time");
	ok(e.damage[1].p == 5 && e.damage[1].time_ns == T0 + MS,
	   "the other one has its block's P and the time of the event before it");
	pt_free(&e);
	free(b.data);
}

static void test_raised(void)
{
	static const uint64_t word[] = {HEAD(0, T0),	E('a', 3 * MS), E('b', MS),
					T(T0 + 2 * MS), E('c', 0),	E('d', 5 * MS)};
	struct pt_bytes b = {0};
	pt_append(&b, word, sizeof(word));
	struct pt_events e = pt_read_all(&b, 10);
	ok(e.n == 4 && e.at[1].time_ns == T0 + 3 * MS && e.at[2].time_ns == T0 + 3 * MS &&
		   e.at[3].time_ns == T0 + 7 * MS,
	   "events earlier than the one before them have its time");
	is(e.counts.raised, 2, "and are counted");
	pt_free(&e);
	free(b.data);
}

/* A block's first words, then single-page events, `words` in all. */
static void append_block(struct pt_bytes *b, int p, uint64_t ns, unsigned words)
{
	uint64_t head[] = {HEAD(p, ns)}, event = E('a', 0);
	pt_append(b, head, sizeof(head));
	for (unsigned i = 2; i < words; i++)
		pt_append(b, &event, 8);
}

static void test_long_blocks(void)
{
	struct pt_bytes b = {0};
	append_block(&b, 0, T0, 4096);
	append_block(&b, 0, T0, 4095);
	uint64_t large[] = {MANY('b', 0), 1024};
	pt_append(&b, large, sizeof(large));
	append_block(&b, 1, T0, 4100);
	append_block(&b, 2, T0, 3);
	for (int i = 0; i < 2; i++) {
		struct pt_events e = i ? pt_read_all(&b, 300) : pt_read(&b, 5000, 300);
		is(e.damaged, 2, i ? "in order of time, too" : "blocks too long are damaged");
		ok(e.damage[0].addr == 65536 - 8 && e.damage[0].pages == 16,
		   "by an event of two words that is half in its block");
		ok(e.damage[1].addr == 65536 + 8 + 32768 && e.damage[1].pages == 32,
		   "and by words beyond 32,768 bytes");
		is(e.counts.events, 4094 + 4093 + 4094 + 1, "all that are within are read");
		ok(pt_is_whole(&e.counts, b.len), "no byte is missing");
		pt_free(&e);
	}
	free(b.data);
}

static void test_no_trace(void)
{
	static const struct {
		const char *name;
		uint64_t word[3];
		size_t bytes;
		bool good;
	} bad[] = {
		{"nothing is a trace without blocks", {0}, 0, true},
		{"a P and a time are a trace", {HEAD(-1, T0)}, 16, true},
		{"half of a block's head is none", {P(0)}, 8, false},
		{"nor one byte less", {HEAD(0, T0)}, 15, false},
		{"nor one byte", {HEAD(0, T0)}, 1, false},
		{"an event first is none", {E('a', 0), HEAD(0, T0)}, 24, false},
		{"nor a time", {T(T0), HEAD(0, T0)}, 24, false},
		{"nor two Ps", {P(0), HEAD(0, T0)}, 24, false},
		{"nor a P too large", {HEAD(65534, T0)}, 24, false},
		{"nor a time too large", {P(0), T(1ull << 63)}, 24, false},
		{"nor zeros", {0}, 24, false},
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct pt_bytes b = {0};
		pt_append(&b, bad[i].word, bad[i].bytes);
		struct pt_events e = pt_read(&b, 1, 3), all = pt_read_all(&b, 3);
		int want = bad[i].good ? 0 : -EBADMSG;
		is(e.end, want, bad[i].name);
		is(all.end, want, "in order of time, too");
		ok((*e.reason != 0) == !bad[i].good && !strcmp(e.reason, all.reason) && !e.n &&
			   !all.n,
		   "with a reason, and no events");
		is(ebt_pagetrace_is(b.data, b.len), bad[i].good && b.len, "as its head shows");
		free(b.data);
	}
}

/* Where the events before a word of the trace end. */
static size_t events_before(const struct pt_bytes *b, size_t word)
{
	size_t events = 0;
	for (size_t i = 0; i < word; i++) {
		uint64_t w;
		memcpy(&w, b->data + i * 8, 8);
		bool is_large = w & 3 && w & 4;
		events += w & 3 && i + is_large < word;
		i += is_large;
	}
	return events;
}

/* What is wrong with a trace of which a word was replaced; NULL: nothing. */
static const char *check_replaced(struct pt_bytes *b, const struct pt_events *whole, size_t before)
{
	struct pt_events e = pt_read(b, 4096, 64);
	struct pt_events all = pt_read_all(b, 64);
	const char *wrong = NULL;
	if (e.end != all.end)
		wrong = "the readers do not agree on whether it is a trace";
	else if (!e.end && !pt_is_whole(&e.counts, b->len))
		wrong = "bytes are missing, or read twice";
	else if (!e.end && !pt_same_counts(&e.counts, &all.counts))
		wrong = "the counts differ";
	else if (e.n > b->len / 8)
		wrong = "more events than words";
	else if (!e.end && e.n < before)
		wrong = "events before it are missing";
	for (size_t i = 0; i < before && !wrong && !e.end; i++)
		if (!pt_same_event(&e.at[i], &whole->at[i]))
			wrong = "events before it are others";
	for (size_t i = 1; i < all.n && !wrong; i++)
		if (all.at[i].time_ns < all.at[i - 1].time_ns)
			wrong = "the events are not in order of time";
	pt_sort(&e);
	if (!wrong && !e.end && !pt_same(&e, &all) && !e.counts.raised)
		wrong = "the events differ";
	pt_free(&e);
	pt_free(&all);
	return wrong;
}

static void test_replaced(const char *name)
{
	static const uint64_t by[] = {0,    ONES,	P(0),	       P(1),	      P(128), P(-1),
				      T(1), T(T0 + MS), T(1ull << 62), T(1ull << 63), 1024,   1};
	struct pt_bytes b = pt_unpack(name, ".pt.xz");
	struct pt_events whole = pt_read(&b, 1u << 20, 256);
	unsigned failed = 0;
	for (size_t i = 0; i < b.len / 8; i++) {
		size_t before = events_before(&b, i);
		for (size_t k = 0; k < sizeof(by) / sizeof(by[0]); k++) {
			uint64_t old;
			memcpy(&old, b.data + i * 8, 8);
			memcpy(b.data + i * 8, &by[k], 8);
			const char *wrong = check_replaced(&b, &whole, before);
			if (wrong && failed++ < 5)
				diag("word %zu by %" PRIx64 ": %s", i, by[k], wrong);
			memcpy(b.data + i * 8, &old, 8);
		}
	}
	ok(!failed && whole.n > 80,
	   "%s: with any word replaced, what is before is read, and no byte is missing", name);
	pt_free(&whole);
	free(b.data);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_row(&rows[i]);
	test_damage_event();
	test_raised();
	test_long_blocks();
	test_no_trace();
	test_replaced("sleep-go122");
	test_replaced("huge-go122");
	return tap_done();
}
