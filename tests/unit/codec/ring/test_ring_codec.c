/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring decoder on words made by hand; batches cut anywhere; layouts, extension blocks, ids. */
#include <ebtrace/ring.h>
#include <errno.h>
#include <stdbool.h>

#include "codec/ring/ids.h"
#include "codec/ring/layout.h"
#include "codec/ring/ring.h"
#include "tests/tap.h"

#define RING   64
#define DATA   4096
#define EVENTS 64

#define head(words, user, type, id, seq)                                             \
	((uint64_t)(words) << 54 | (uint64_t)(user) << 53 | (uint64_t)(type) << 49 | \
	 (uint64_t)(id) << 36 | (uint32_t)(seq))

static struct ring_decoder decoder(bool counted)
{
	struct ring_decoder d;
	uint32_t phases;
	const uint16_t *phase = ring_canonical_phases(EBT_RELEASE_EBTRACE, &phases);
	ring_decoder_init(&d, 3, RING, DATA, phase, phases, counted);
	return d;
}

/* What the events were, in letters: b e c l a u i ( ) x = as in the ring, L lost, D damage. */
static const char *letters(const struct ebt_event *ev, size_t n)
{
	static const char of[] = {
		[EBT_BEGIN] = 'b',     [EBT_END] = 'e',		[EBT_COUNTER] = 'c',
		[EBT_LIFECYCLE] = 'l', [EBT_ALLOC_SIZES] = 'a', [EBT_UNIT] = 'u',
		[EBT_INT] = 'i',       [EBT_SPAN_BEGIN] = '(',	[EBT_SPAN_END] = ')',
		[EBT_CUSTOM] = 'x',    [EBT_LOST] = 'L',	[EBT_DAMAGE] = 'D',
	};
	static char text[EVENTS + 1];
	for (size_t i = 0; i < n; i++)
		text[i] = of[ev[i].kind];
	text[n] = 0;
	return text;
}

static size_t decode(struct ring_decoder *d, const uint64_t *w, size_t n, uint64_t pos,
		     struct ebt_event *ev)
{
	size_t used;
	struct ring_batch b = {.words = w, .n = n, .pos = pos};
	size_t got = ring_decode(d, &b, ev, EVENTS, &used);
	if (used != n)
		diag("%zu of %zu words used", used, n);
	return got;
}

/* One of each type, seq from 0; returns the number of words. */
static size_t all_types(uint64_t *w)
{
	size_t n = 0;
	uint32_t seq = 0;
	w[n++] = head(2, 0, 2, 11, seq++), w[n++] = 100;
	w[n++] = head(3, 0, 4, 4, seq++), w[n++] = 110, w[n++] = 4096;
	w[n++] = head(2, 0, 3, 11, seq++), w[n++] = 120;
	w[n++] = head(3, 0, 1, 0, seq++), w[n++] = 130, w[n++] = 77;
	w[n++] = head(2, 0, 1, 1, seq++), w[n++] = 140;
	w[n++] = head(22, 0, 5, 0, seq++), w[n++] = 150;
	for (uint64_t i = 0; i < 20; i++)
		w[n++] = i;
	w[n++] = head(2, 1, 0, 5, seq++), w[n++] = 160;
	w[n++] = head(3, 1, 1, 6, seq++), w[n++] = 170, w[n++] = (uint64_t)-9;
	w[n++] = head(2, 1, 2, 7, seq++), w[n++] = 180;
	w[n++] = head(2, 1, 3, 7, seq++), w[n++] = 190;
	w[n++] = head(4, 1, 4, 8, seq++), w[n++] = 200, w[n++] = 0x6867666564636261;
	w[n++] = 0x0600000000000069; /* one byte more; 6 unused before the last */
	w[n++] = head(2, 0, 2, 6, seq++), w[n++] = 150; /* a clock that went back */
	return n;
}

static void test_types(void)
{
	uint64_t w[RING];
	struct ebt_event ev[EVENTS];
	struct ring_decoder d = decoder(true);
	size_t n = all_types(w), got = decode(&d, w, n, 0, ev);
	is_str(letters(ev, got), "bcellaui()xb", "every type is known");
	bool common = true;
	for (size_t i = 0, pos = 0; i < got; pos += ev[i++].size)
		common &= ev[i].pos == pos && ev[i].seq == i && ev[i].domain == 3 &&
			  ev[i].cpu == EBT_NO_CPU && ev[i].flags & EBT_F_SEQ && ev[i].ts >= 100;
	ok(common, "with its position, ordinal, ring and size");
	ok(ev[1].id == 4 && ev[1].arg[0] == 4096, "a counter has its value");
	ok(ev[3].arg[0] == 77 && !ev[4].arg[0], "a lifecycle event may have no data");
	ok(ev[5].arg[0] == 8 * 14 && ev[5].arg[1] == 160, "20 buckets are a payload");
	is(ev[7].sarg[0], -9, "an int is signed");
	is(ev[10].arg[1], 9, "a custom payload has its length in bytes");
	is(ev[11].ts, 200, "time never goes back");

	d = decoder(false);
	got = decode(&d, w, n, 0, ev);
	ok(got == 12 && !(ev[3].flags & EBT_F_SEQ) && !ev[3].seq,
	   "in OCaml's rings there are no ordinals");
	uint64_t odd[] = {head(2, 0, 2, 60, 0), 1, head(3, 0, 4, 99, 1), 2, 0};
	d = decoder(true);
	decode(&d, odd, 5, 0, ev);
	ok(ev[0].id == (EBT_UNKNOWN_ID | 60) && ev[1].id == (EBT_UNKNOWN_ID | 99),
	   "ids that no table knows keep their number");
}

#define B(seq) head(2, 0, 2, 11, seq)

static const struct {
	const char *name, *want;
	uint64_t pos, lost; /* lost: arg[0] of the first L */
	bool gap, restart;
	uint64_t gap_words;
	size_t n;
	uint64_t w[10];
} word_rows[] = {
	{.name = "padding ends where the ring wraps",
	 .want = "bb",
	 .pos = 60,
	 .n = 6,
	 .w = {B(0), 9, head(2, 0, 0, 0, 0), ~0ull, B(1), 9}},
	{.name = "a jump is a loss of so many",
	 .want = "bLb",
	 .lost = 6,
	 .n = 4,
	 .w = {B(0), 9, B(7), 9}},
	{.name = "an overwritten beginning is a loss",
	 .want = "Lb",
	 .lost = 5,
	 .gap = true,
	 .gap_words = 10,
	 .n = 2,
	 .w = {B(5), 9}},
	{.name = "a hole without events is none",
	 .want = "b",
	 .gap = true,
	 .gap_words = 1,
	 .n = 2,
	 .w = {B(0), 9}},
	{.name = "a ring that begins anew is not counted on",
	 .want = "bb",
	 .restart = true,
	 .n = 4,
	 .w = {B(900), 9, B(901), 9}},
	{.name = "a hole before a new beginning is not counted",
	 .want = "Lb",
	 .lost = EBT_LOST_UNCOUNTED,
	 .restart = true,
	 .gap = true,
	 .gap_words = 8,
	 .n = 2,
	 .w = {B(900), 9}},
	{.name = "an impossible jump is damage, and counting goes on from it",
	 .want = "bDbLb",
	 .lost = 1,
	 .n = 6,
	 .w = {B(0), 9, B(0x80000000), 9, B(0x80000002), 9}},
	{.name = "an impossible jump over a hole leaves the hole uncounted",
	 .want = "DLb",
	 .lost = EBT_LOST_UNCOUNTED,
	 .gap = true,
	 .gap_words = 40,
	 .n = 2,
	 .w = {B(0xf0000000), 9}},
	{.name = "as many as the hole had room for are believed",
	 .want = "Lb",
	 .lost = 0x80000000,
	 .gap = true,
	 .gap_words = 1ull << 32,
	 .n = 2,
	 .w = {B(0x80000000), 9}},
	{.name = "a record of no length is damage",
	 .want = "bDb",
	 .n = 6,
	 .w = {B(0), 9, 0, 0, B(1), 9}},
	{.name = "behind damage, records 2^44 ns apart are believed",
	 .want = "bDbb",
	 .n = 8,
	 .w = {B(0), 9, 0, 0, B(1), 9, B(2), 9 + (1ull << 44)}},
	{.name = "one that is further away from the next is not",
	 .want = "bDLb",
	 .lost = 1,
	 .n = 8,
	 .w = {B(0), 9, 0, 0, B(1), 9, B(2), 10 + (1ull << 44)}},
	{.name = "a record of an unknown type is damage",
	 .want = "bDb",
	 .n = 6,
	 .w = {B(0), 9, head(2, 0, 9, 1, 1), 9, B(1), 9}},
	{.name = "a counter without its value is damage",
	 .want = "bDb",
	 .n = 6,
	 .w = {B(0), 9, head(2, 0, 4, 1, 1), 9, B(1), 9}},
	{.name = "a record beyond the end of the words is damage",
	 .want = "bD",
	 .n = 4,
	 .w = {B(0), 9, head(1000, 0, 2, 11, 1), 9}},
	{.name = "a payload of less than no bytes is damage",
	 .want = "bDb",
	 .n = 7,
	 .w = {B(0), 9, head(3, 1, 4, 1, 1), 9, 8ull << 56, B(1), 9}},
	{.name = "a record across the end of the ring is damage",
	 .want = "DLb",
	 .lost = 1,
	 .pos = 63,
	 .n = 3,
	 .w = {B(0), B(1), 9}},
};

/* The words of a damage are those that are in no event, from its offset on. */
static void check_damage(const char *const *name, const struct ebt_event *ev, size_t n,
			 size_t words, uint64_t pos)
{
	size_t of_events = 0, damaged = 0, misplaced = 0;
	bool any = false;
	for (size_t i = 0; i < n; i++) {
		if (ev[i].kind == EBT_DAMAGE) {
			misplaced += ev[i].arg[0] !=
				     DATA + 8 * ((pos + of_events + damaged) & (RING - 1));
			damaged += ev[i].arg[1];
			any = true;
		} else if (ev[i].kind != EBT_LOST) {
			of_events += ev[i].size;
		}
	}
	ok(!any || (of_events + damaged == words && !misplaced), "%s: with its words", *name) ||
		(diag("%zu words of events, %zu damaged of %zu", of_events, damaged, words), 0);
}

static void test_words(void)
{
	bool adds_up = true, has_seq = false;
	for (size_t i = 0; i < sizeof(word_rows) / sizeof(*word_rows); i++) {
		struct ebt_event ev[EVENTS];
		struct ring_decoder d = decoder(true);
		uint64_t w[10];
		memcpy(w, word_rows[i].w, sizeof(w));
		if (word_rows[i].restart)
			ring_decoder_restart(&d);
		if (word_rows[i].gap)
			ring_decoder_gap(&d, word_rows[i].gap_words, false);
		size_t got = decode(&d, w, word_rows[i].n, word_rows[i].pos, ev);
		is_str(letters(ev, got), word_rows[i].want, word_rows[i].name);
		const struct ebt_event *lost = NULL;
		uint64_t events = 0, words = 0;
		for (size_t k = got; k-- > 0;) {
			lost = ev[k].kind == EBT_LOST ? &ev[k] : lost;
			has_seq |= ev[k].kind == EBT_LOST && ev[k].flags & EBT_F_SEQ;
			events += ev[k].kind == EBT_LOST && ev[k].arg[0] != EBT_LOST_UNCOUNTED
					  ? ev[k].arg[0]
					  : 0;
			words += ev[k].kind == EBT_LOST ? ev[k].arg[1] : 0;
		}
		adds_up &= d.lost_events == events && d.lost_words == words;
		ok(!lost || lost->arg[0] == word_rows[i].lost, "%s: the loss has its number",
		   word_rows[i].name);
		check_damage(&word_rows[i].name, ev, got, word_rows[i].n, word_rows[i].pos);
	}
	ok(adds_up, "lost events and words are summed up");
	ok(!has_seq, "a loss has no ordinal of its own");
}

static void test_losses(void)
{
	struct ebt_event ev[EVENTS];
	struct ring_decoder d = decoder(true);
	uint64_t w[] = {B(0xffffffff), 9, B(0), 12, B(2), 15};
	d.next_seq = 0xffffffff;
	size_t got = decode(&d, w, 6, 0, ev);
	ok(!strcmp(letters(ev, got), "bbLb") && ev[2].arg[0] == 1, "ordinals go on behind 2^32");
	ok(EBT_LOST_SINCE(&ev[2]) == 12 && ev[2].ts == 15 && !(ev[2].flags & EBT_F_NO_SINCE),
	   "a loss has both its ends in time");

	d = decoder(true);
	ring_decoder_gap(&d, 100, true);
	uint64_t late[] = {B(50), 9};
	decode(&d, late, 2, 100, ev);
	ok(ev[0].flags & EBT_F_HISTORY && ev[0].arg[1] == 100, "a loss of history has its flag");
	ok(!EBT_LOST_SINCE(&ev[0]) && ev[0].flags & EBT_F_NO_SINCE,
	   "a loss before the first event has a flag: when it began is not known");
	d = decoder(true);
	ring_decoder_gap(&d, 60, true);
	ring_decoder_gap(&d, 40, false);
	decode(&d, late, 2, 100, ev);
	ok(!(ev[0].flags & EBT_F_HISTORY) && ev[0].arg[1] == 100,
	   "history and a loss of ours is a loss");
	d = decoder(false);
	ring_decoder_gap(&d, 100, false);
	decode(&d, late, 2, 100, ev);
	ok(ev[0].arg[0] == EBT_LOST_UNCOUNTED && ev[0].arg[1] == 100, "OCaml's losses are words");
	d = decoder(true);
	ring_decoder_damage(&d, 5000, 7, 20);
	got = decode(&d, w + 2, 2, 27, ev);
	ok(!strcmp(letters(ev, got), "Db") && ev[0].arg[0] == 5000 && ev[0].arg[1] == 7,
	   "damage that the caller found is told first");
	d = decoder(true);
	ring_decoder_damage(&d, 5000, 7, 20);
	ring_decoder_damage(&d, 6000, 3, 27);
	got = decode(&d, w + 2, 2, 30, ev);
	ok(!strcmp(letters(ev, got), "Db") && ev[0].arg[0] == 5000 && ev[0].arg[1] == 10,
	   "two that it found are one, of the words of both");
	d = decoder(false);
	ring_decoder_gap(&d, 100, false);
	ring_decoder_gap(&d, 20, true);
	got = decode(&d, w + 2, 2, 120, ev);
	ok(ev[0].kind == EBT_LOST && !(ev[0].flags & EBT_F_HISTORY) && ev[0].arg[1] == 120,
	   "two losses are one, and no history if only the last is");
}

/* Model: whole batches; any cut, with what is left over brought again, gives the same events. */
static void test_reports(void)
{
	struct ebt_event ev[EVENTS];
	uint64_t w[] = {B(0xffffffff), 9, B(0), 12, B(2), 15}, late[] = {B(50), 9};
	struct ring_decoder d = decoder(true);
	d.next_seq = 0xffffffff;
	decode(&d, w, 2, 0, ev);
	ring_decoder_gap(&d, 6, false);
	uint64_t ordinals = (1ull << 32) + 2;
	ok(ring_decoder_report(&d, &ordinals, 13, ev) && ev[0].kind == EBT_LOST &&
		   ev[0].arg[0] == 2 && ev[0].arg[1] == 6 && ev[0].ts == 13,
	   "a loss is reported without an event behind it, up to an ordinal");
	ok(!ring_decoder_report(&d, &ordinals, 14, ev), "and once");
	size_t got = decode(&d, w + 4, 2, 8, ev);
	ok(!strcmp(letters(ev, got), "b"), "the next event follows it");
	ring_decoder_gap(&d, 6, false);
	ordinals += 1u << 30;
	ok(!ring_decoder_report(&d, &ordinals, 15, ev),
	   "an ordinal that so few words cannot have reached is not believed");
	d = decoder(false);
	ring_decoder_gap(&d, 100, false);
	ok(ring_decoder_report(&d, NULL, 13, ev) && ev[0].arg[0] == EBT_LOST_UNCOUNTED &&
		   ev[0].arg[1] == 100,
	   "of OCaml's rings it is words");
	got = decode(&d, late, 2, 100, ev);
	ok(!strcmp(letters(ev, got), "b"), "which the next event does not report again");
	d = decoder(true);
	decode(&d, w + 2, 2, 0, ev);
	ring_decoder_gap(&d, 6, false);
	ok(ring_decoder_report(&d, NULL, 13, ev) && ev[0].arg[0] == EBT_LOST_UNCOUNTED &&
		   ev[0].arg[1] == 6 && !(ev[0].flags & EBT_F_SEQ),
	   "where its ordinals cannot be read, so it is of ours");
	got = decode(&d, w + 4, 2, 8, ev);
	ok(!strcmp(letters(ev, got), "b") && !d.lost_events,
	   "and the next event, of whatever ordinal, does not report that again");
}

static void test_cuts(void)
{
	uint64_t w[RING];
	struct ebt_event want[EVENTS], ev[EVENTS];
	size_t n = all_types(w), used;
	struct ring_decoder d = decoder(true);
	size_t total = decode(&d, w, n, 0, want);
	bool same = true;
	for (size_t cut = 0; cut <= n; cut++)
		for (size_t cap = 1; cap <= EVENTS; cap += 7) {
			size_t got = 0, at = 0, end = cut;
			d = decoder(true);
			while (at < n && got < total + 1) {
				struct ring_batch b = {w + at, end - at, at, end < n, 8 * at};
				size_t room = EVENTS - got < cap ? EVENTS - got : cap;
				size_t k = ring_decode(&d, &b, ev + got, room, &used);
				got += k;
				at += used;
				if (!k)
					end = n;
			}
			same &= got == total && !memcmp(ev, want, total * sizeof(*ev));
		}
	ok(same, "a batch cut at any word, with room for any number, gives the same events");
}

/* What is read of words that are cut at one place: the kinds, and how much is damage. */
struct seen {
	char kinds[EVENTS + 1];
	uint64_t damaged, misplaced, lost;
};

static struct seen read_cut(const uint64_t *w, size_t n, size_t cut)
{
	struct seen t = {0};
	struct ring_decoder d = decoder(true);
	size_t at = 0, end = cut, kinds = 0, used;
	while (at < n) {
		struct ring_batch b = {w + at, end - at, at, end < n, 8 * at};
		struct ebt_event ev[EVENTS];
		size_t got = ring_decode(&d, &b, ev, EVENTS, &used);
		for (size_t i = 0; i < got; i++) {
			t.damaged += ev[i].kind == EBT_DAMAGE ? ev[i].arg[1] : 0;
			t.misplaced +=
				ev[i].kind == EBT_DAMAGE && ev[i].arg[0] != DATA + 8 * ev[i].pos;
			t.lost += ev[i].kind == EBT_LOST ? ev[i].arg[0] : 0;
			if (ev[i].kind != EBT_DAMAGE)
				t.kinds[kinds++] = *letters(&ev[i], 1);
		}
		at += used;
		end = n;
	}
	return t;
}

/* Where a batch ends within damage, the next one begins with what may be no record. */
static void test_cut_damage(void)
{
	uint64_t w[RING];
	size_t n = all_types(w) - 2; /* without the time that goes back: it makes less sense */
	unsigned wrong = 0, uncovered = 0;
	/* From the second record on, as many words as several records have. */
	for (size_t words = 1; words <= 38; words++) {
		all_types(w);
		memset(w + 2, 0xff, words * sizeof(*w));
		struct seen whole = read_cut(w, n, n);
		uncovered += whole.damaged < words || whole.misplaced || !*whole.kinds;
		for (size_t cut = 1; cut < n; cut++) {
			struct seen got = read_cut(w, n, cut);
			wrong += memcmp(&got, &whole, sizeof(got)) != 0;
		}
	}
	is(uncovered, 0, "words that are no records are damage, from the first to the last");
	is(wrong, 0, "of damage that a batch cuts anywhere the same is read");
}

static void test_back(enum ebt_release release)
{
	uint32_t n, ids, back = 0, none = 0;
	const uint16_t *id = ring_canonical_phases(release, &n);
	const uint16_t *raw = ring_raw_phases(release, &ids);
	for (uint32_t i = 0; i < n; i++)
		back += id[i] < ids && raw[id[i]] == i;
	for (uint32_t i = 0; i < ids; i++)
		none += raw[i] == RING_NO_RAW;
	ok(back == n && none == ids - n,
	   "%s: each number is that of its phase, and others have none",
	   ring_release_name(release));
}

static void test_ids(void)
{
	/* OCaml's numbers: {release, its number, name}; from the tables of the releases */
	static const struct {
		enum ebt_release release;
		uint32_t raw;
		const char *name; /* NULL: the release has no such number */
	} rows[] = {
		{EBT_RELEASE_OCAML_5_0, 9, "major_mark"},
		{EBT_RELEASE_OCAML_5_0, 10, "minor"},
		{EBT_RELEASE_OCAML_5_0, 11, "minor_local_roots"},
		{EBT_RELEASE_OCAML_5_0, 12, "minor_finalized"},
		{EBT_RELEASE_OCAML_5_0, 39, "domain_resize_heap_reservation"},
		{EBT_RELEASE_OCAML_5_0, 40, NULL},
		{EBT_RELEASE_OCAML_5_1, 24, "major_slice"},
		{EBT_RELEASE_OCAML_5_1, 40, NULL},
		{EBT_RELEASE_OCAML_5_2, 40, "compaction"},
		{EBT_RELEASE_OCAML_5_2, 43, "compaction_release"},
		{EBT_RELEASE_OCAML_5_2, 44, NULL},
		{EBT_RELEASE_OCAML_5_3, 9, "major_memprof_roots"},
		{EBT_RELEASE_OCAML_5_3, 11, "minor"},
		{EBT_RELEASE_OCAML_5_3, 37, "major_memprof_clean"},
		{EBT_RELEASE_OCAML_5_4, 49, "minor_ephe_clean"},
		{EBT_RELEASE_OCAML_5_5, 49, "minor_ephe_clean"},
		{EBT_RELEASE_EBTRACE, 49, "minor_ephe_clean"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint32_t n, raws;
		const uint16_t *t = ring_canonical_phases(rows[i].release, &n);
		const char *name = rows[i].raw < n ? ebt_phase_name(t[rows[i].raw]) : NULL;
		ok(rows[i].name ? name && !strcmp(name, rows[i].name) : !name, "%s: phase %u is %s",
		   ring_release_name(rows[i].release), rows[i].raw,
		   rows[i].name ? rows[i].name : "none");
		const uint16_t *raw = ring_raw_phases(rows[i].release, &raws);
		if (raw && name)
			ok(raw[t[rows[i].raw]] == rows[i].raw, "and back");
	}
	for (enum ebt_release r = EBT_RELEASE_OCAML_5_0; r <= EBT_RELEASE_OCAML_5_2; r++)
		test_back(r);
	ok(!ring_numbering(EBT_RELEASE_EBTRACE) && !ring_numbering(EBT_RELEASE_OCAML_5_5) &&
		   ring_numbering(EBT_RELEASE_OCAML_5_0) == ring_numbering(EBT_RELEASE_OCAML_5_1) &&
		   ring_numbering(EBT_RELEASE_OCAML_5_1) != ring_numbering(EBT_RELEASE_OCAML_5_2) &&
		   ring_numbering(EBT_RELEASE_OCAML_5_2) < RING_NUMBERINGS,
	   "releases with the same numbers share a numbering");
	ok(!ebt_phase_name(50) && !ebt_counter_name(UINT32_MAX) && !ebt_lifecycle_name(8),
	   "numbers beyond the tables have no name");
}

static struct ebt_ring_ext ext_block(void)
{
	struct ebt_ring_ext e = {
		.magic = EBT_RING_EXT_MAGIC,
		.byte_order = 0x0102030405060708,
		.word_bytes = 8,
		.pid = 7,
		.phases = 2,
		.counters = 1,
		.size = sizeof(e) + 3 * EBT_RING_EXT_NAME_BYTES,
	};
	memset(e.producer, 'p', sizeof(e.producer)); /* no NUL */
	memset(e.comm, 'c', sizeof(e.comm));
	return e;
}

static void test_ext(void)
{
	struct ebt_ring_ext e = ext_block();
	struct ring_ext got;
	struct ring_fault fault;
	is(ring_ext_parse(&e, sizeof(e), 100, &got, &fault), 1, "an extension block is read");
	ok(got.pid == 7 && strlen(got.producer) == sizeof(got.producer) - 1 &&
		   strlen(got.comm) == sizeof(got.comm) - 1,
	   "its strings end even if they do not");
	for (size_t n = 0; n < sizeof(e); n++)
		if (ring_ext_parse(&e, n, 100, &got, &fault) != (n < 8 ? 0 : -EBADMSG))
			ok(0, "cut to %zu bytes it is refused", n);
#define REFUSED(field, value, err)                                             \
	e = ext_block();                                                       \
	e.field = value;                                                       \
	ok(ring_ext_parse(&e, sizeof(e), 100, &got, &fault) == err &&          \
		   fault.offset == 100 + offsetof(struct ebt_ring_ext, field), \
	   #field " " #value " is refused, and where")
	REFUSED(byte_order, 0x0807060504030201, -EPROTO);
	REFUSED(word_bytes, 4, -EPROTO);
	REFUSED(clock, 1, -EPROTO);
	REFUSED(phases, UINT32_MAX, -EBADMSG);
	REFUSED(counters, 1025, -EBADMSG);
	REFUSED(lifecycles, 0x80000000, -EBADMSG);
	REFUSED(phases, 1025, -EBADMSG);
	REFUSED(lifecycles, 1025, -EBADMSG);
	REFUSED(first_domain, EBT_RING_MAX_DOMAINS, -EBADMSG);
	REFUSED(first_domain, UINT64_MAX, -EBADMSG);
	REFUSED(size, 0, -EBADMSG);
	REFUSED(size, sizeof(e) + 3 * EBT_RING_EXT_NAME_BYTES - 1, -EBADMSG);
#undef REFUSED
	e = ext_block();
	for (uint32_t value = 0; value < 4; value++) {
		e.left_over = value;
		if (ring_ext_parse(&e, sizeof(e), 100, &got, &fault) != 1 ||
		    got.left_over != (value == 1))
			ok(0, "%u means that its process left it", value);
	}
	e = ext_block();
	e.phases = e.counters = e.lifecycles = EBT_RING_EXT_MAX_NAMES;
	e.size = sizeof(e) + 3 * EBT_RING_EXT_NAME_BYTES * EBT_RING_EXT_MAX_NAMES;
	ok(ring_ext_parse(&e, sizeof(e), 100, &got, &fault) == 1 &&
		   got.lifecycles == EBT_RING_EXT_MAX_NAMES,
	   "as many names as there may be are no fault");
	e = ext_block();
	e.first_domain = EBT_RING_MAX_DOMAINS - 1;
	ok(ring_ext_parse(&e, sizeof(e), 100, &got, &fault) == 1 &&
		   got.first_domain == EBT_RING_MAX_DOMAINS - 1,
	   "nor is the highest number of a first domain");
	e = ext_block();
	e.magic++;
	is(ring_ext_parse(&e, sizeof(e), 100, &got, &fault), 0, "other bytes are no block");
}

static void test_layout(void)
{
	struct ring_layout l;
	struct ring_fault fault;
	bool all = true;
	for (uint64_t domains = 1; domains <= 4096; domains *= 2)
		for (uint64_t words = 8; words <= 1ull << 27; words *= 2) {
			uint64_t data = 64 + 80 * domains, end = data + 8 * words * domains;
			struct ebt_ring_file h = {1, domains, 80, 8 * words, words, 64, data, end};
			all &= !ring_layout_parse(&h, sizeof(h), end + (1 << 20), &l, &fault) &&
			       l.max_domains == domains && l.ring_words == words &&
			       l.data_offset == data && l.names_offset == end && !l.repairs &&
			       ring_layout_word(&l, (uint32_t)domains - 1, words * 3 - 1) ==
				       end - 8;
		}
	ok(all, "every number of rings and every size has its places");
	struct ebt_ring_file none = {0}, h = {1, 1, 80, 4096, 512, 64, 144, 4240};
	is(ring_layout_parse(&none, sizeof(none), 4096, &l, &fault), -EAGAIN,
	   "a file that is not written yet is to be tried again");
	is(ring_layout_parse(&h, sizeof(h), 1ull << 40, &l, &fault), -EBADMSG,
	   "a terabyte behind a small ring is refused");
	is(ring_layout_parse(&h, 63, 4240, &l, &fault), -EBADMSG, "half a header is refused");
	h.version = 2, h.ring_header_size = 96, h.data_offset = 0, h.ring_size_bytes = 3;
	is(ring_layout_parse(&h, sizeof(h), 4240 + (1 << 20), &l, &fault), -EPROTO,
	   "another version with another layout is another version");
	h = (struct ebt_ring_file){1, 1, 80, 4096, 512, 64, 144, 0};
	ok(!ring_layout_parse(&h, sizeof(h), 4240, &l, &fault) && !l.names_offset && !l.repairs,
	   "OCaml 5.0 has no names");
}

/* What of a header is named, where no layout explains enough of it. */
static void test_refused(void)
{
	static const struct {
		uint64_t version, bytes;
		int err;
		const char *what;
		uint64_t offset, found, expected;
	} rows[] = {
		{1, 4240, -EBADMSG, "max_domains", 8, 7777, 128},
		{2, 4240, -EPROTO, "version", 0, 2, 1},
		{255, 4240, -EPROTO, "version", 0, 255, 1},
		{256, 4240, -EBADMSG, "version", 0, 256, 1},
		{0, 4240, -EBADMSG, "version", 0, 0, 1},
		{1ull << 56, 4240, -EPROTO, "it is of a machine with the other byte order: version",
		 0, 1ull << 56, 1},
		{1, 63, -EBADMSG, "end of file", 63, 63, 64},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct ebt_ring_file h = {rows[i].version, 7777, 1, 2, 3, 4, 5, 6};
		struct ring_layout l;
		struct ring_fault f = {0};
		int err = ring_layout_parse(&h, sizeof(h), rows[i].bytes, &l, &f);
		ok(err == rows[i].err && f.what && !strcmp(f.what, rows[i].what) &&
			   f.offset == rows[i].offset && f.found == rows[i].found &&
			   f.expected == rows[i].expected,
		   "a header of version %llu, in a file of %llu bytes, is refused for its %s",
		   (unsigned long long)rows[i].version, (unsigned long long)rows[i].bytes,
		   rows[i].what) ||
			(diag("%d %s at %llu: %llu, not %llu", err, f.what,
			      (unsigned long long)f.offset, (unsigned long long)f.found,
			      (unsigned long long)f.expected),
			 1);
	}
}

/* Behind the names a file may have a MiB for what later versions add. */
static void test_slack(void)
{
	static const struct {
		uint64_t more;
		int err;
		const char *name;
	} rows[] = {
		{0, 0, "a file that ends with its names is a ring file"},
		{1 << 20, 0, "so is one with a MiB behind them"},
		{(1 << 20) + 1, -EBADMSG, "one byte more is too much"},
		{5 << 20, -EBADMSG, "and so are 5 MiB"},
	};
	struct ebt_ring_file h = {
		.version = EBT_RING_VERSION,
		.max_domains = 2,
		.ring_header_size = sizeof(struct ebt_ring_header),
		.ring_size_bytes = 8 * 512,
		.ring_size_elements = 512,
		.headers_offset = EBT_RING_HEADERS_OFFSET,
		.data_offset = EBT_RING_HEADERS_OFFSET + 2 * sizeof(struct ebt_ring_header),
	};
	h.custom_events_offset = h.data_offset + 2 * h.ring_size_bytes;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct ring_layout l;
		struct ring_fault fault;
		uint64_t bytes = h.custom_events_offset + EBT_RING_NAMES_BYTES + rows[i].more;
		is(ring_layout_parse(&h, sizeof(h), bytes, &l, &fault), rows[i].err, rows[i].name);
	}
}

int main(void)
{
	test_slack();
	test_types();
	test_words();
	test_losses();
	test_reports();
	test_cuts();
	test_cut_damage();
	test_ids();
	test_ext();
	test_layout();
	test_refused();
	return tap_done();
}
