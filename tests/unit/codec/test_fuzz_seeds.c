/* SPDX-License-Identifier: BSD-2-Clause */
/* How far the fuzz targets get on their seeds: a seed that is refused at the door fuzzes
 * nothing. */
#include "tests/fuzz/capture_body.h"
#include "tests/fuzz/eio_body.h"
#include "tests/fuzz/memtrace_body.h"
#include "tests/fuzz/memtrace_index_body.h"
#include "tests/fuzz/notes_body.h"
#include "tests/fuzz/ocaml_body.h"
#include "tests/fuzz/ocaml_frames_body.h"
#include "tests/fuzz/pagetrace_body.h"
#include "tests/fuzz/ring_body.h"
#include "tests/fuzz/symtab_body.h"
#include "tests/fuzz/unwind_body.h"
#include "tests/fuzz/usdt_args_body.h"
#include "tests/tap.h"

#define MAX_SEED_BYTES 65536

static uint8_t seed[MAX_SEED_BYTES];

static size_t load(const char *name)
{
	char path[128];
	snprintf(path, sizeof(path), "tests/fuzz/seeds/%s", name);
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(seed, 1, sizeof(seed), f) : 0;
	if (f)
		fclose(f);
	ok(n > 0 && n < sizeof(seed), "seed %s is there, and small enough for the fuzzer", name);
	return n;
}

static void test_ring(void)
{
	struct ring_body b = ring_body(seed, load("ring/once"));
	ok(b.events >= 12 && b.payloads >= 3, "a whole ring gives its events, with payloads");
	ok(b.names >= 4, "and the names of its user events");
	is(b.ours, 1, "packed, it is read with its extension block");
	b = ring_body(seed, load("ring/wrapped"));
	ok(b.events >= 50 && b.payloads >= 10, "a ring that has wrapped gives what it still holds");
	ok(b.bad > 0, "and what it has lost");
	b = ring_body(seed, load("ring/damaged"));
	ok(b.events > 0 && b.bad > 0, "a damaged ring gives events and damage");
	static const char *const ocaml[] = {"ring/c-user-5.3.0", "ring/g-instr-5.1.1"};
	for (size_t i = 0; i < 2; i++) {
		size_t n = load(ocaml[i]);
		b = ring_body(seed, n);
		ok(b.events > 50, "%s gives events, of OCaml's ring", ocaml[i]);
	}
	b = ring_body(seed, 63);
	ok(!b.events && !b.bad, "half a header gives nothing");
}

static void test_notes(void)
{
	struct notes_body b = notes_body(seed, load("notes/shared"));
	is(b.sites, 6, "a shared object gives its three markers, twice");
	ok(b.chars > 100, "with their strings");
	is(b.skipped, 0, "and nothing is skipped");
	b = notes_body(seed, load("notes/object"));
	ok(!b.sites && b.skipped, "an object that is not linked gives none, and they are counted");
	b = notes_body(seed, load("notes/damaged"));
	ok(b.sites < 6 && b.skipped, "of a damaged one a note is skipped");
}

static void test_symtab(void)
{
	static const char *const names[] = {"symtab/shared", "symtab/stripped"};
	for (size_t i = 0; i < 2; i++) {
		struct symtab_body b = symtab_body(seed, load(names[i]));
		ok(b.functions > 4 && b.chars > 20, "%s gives functions", names[i]);
	}
}

static void test_usdt_args(void)
{
	struct usdt_args_body b = usdt_args_body(seed, load("usdt_args/postgres"));
	ok(!b.err && b.arguments == 8, "a string of postgres is parsed: eight arguments");
	b = usdt_args_body(seed, load("usdt_args/sdt"));
	ok(!b.err && b.arguments == 6, "one of <sys/sdt.h>, with an index: six");
	b = usdt_args_body(seed, load("usdt_args/symbols"));
	ok(!b.err && b.arguments == 3, "one with symbols, where these are known: three");
}

static void test_capture(void)
{
	struct capture_body b = capture_body(seed, load("capture/file"));
	ok(b.events > 200 && b.payloads >= 2 && b.items >= 6, "a capture gives all it holds");
	is(b.end, 0, "to its end");
	b = capture_body(seed, load("capture/damaged"));
	ok(b.items > 0 && b.bad >= 2 && !b.end, "a damaged one gives its end, and what is missing");
	b = capture_body(seed, load("capture/records"));
	ok(b.events > 200 && b.payloads >= 2 && b.items >= 6, "records alone give their events");
	is(b.end, 0, "to their end");
	b = capture_body(seed, load("capture/wild"));
	ok(b.events > 50 && b.payloads > 10 && b.bad > 5 && b.items > 20, "and so do wild ones");
	is(b.end, 0, "to their end, too");
	static const char *const stacks[] = {"capture/stacks", "capture/stack-records"};
	for (size_t i = 0; i < 2; i++) {
		b = capture_body(seed, load(stacks[i]));
		ok(b.stacks > 20 && b.items > 60 && !b.end, "%s gives events with their stacks",
		   stacks[i]);
	}
}

/* What each seed holds, exactly: a reader that drops one event, or one note of damage, is seen. */
static void test_exact(void)
{
	struct held {
		const char *name, *holds;
	};
	static const struct held ring[] = {
		{"ring/c-user-5.3.0", "86 events, 29 payloads, 1 bad, 0 names, 0 ours"},
		{"ring/damaged", "28 events, 6 payloads, 7 bad, 8 names, 1 ours"},
		{"ring/g-instr-5.1.1", "220 events, 2 payloads, 1 bad, 0 names, 0 ours"},
		{"ring/once", "28 events, 6 payloads, 1 bad, 8 names, 1 ours"},
		{"ring/wrapped", "220 events, 64 payloads, 3 bad, 8 names, 1 ours"},
	};
	static const struct held capture[] = {
		{"capture/damaged", "0 events, 0 payloads, 2 items, 3 bad, 0 stacks, 0"},
		{"capture/file", "253 events, 44 payloads, 87 items, 0 bad, 0 stacks, 0"},
		{"capture/lanes", "4096 events, 0 payloads, 0 items, 0 bad, 0 stacks, -74"},
		{"capture/positions", "0 events, 0 payloads, 1 items, 0 bad, 0 stacks, -74"},
		{"capture/records", "253 events, 44 payloads, 85 items, 0 bad, 0 stacks, 0"},
		{"capture/runs", "0 events, 0 payloads, 2 items, 0 bad, 0 stacks, -74"},
		{"capture/shapes", "4096 events, 0 payloads, 0 items, 0 bad, 0 stacks, -74"},
		{"capture/stack-records", "40 events, 0 payloads, 169 items, 0 bad, 30 stacks, 0"},
		{"capture/stacks", "40 events, 0 payloads, 171 items, 0 bad, 30 stacks, 0"},
		{"capture/wild", "81 events, 23 payloads, 30 items, 9 bad, 0 stacks, 0"},
	};
	char text[160];
	for (size_t i = 0; i < sizeof(ring) / sizeof(ring[0]); i++) {
		struct ring_body b = ring_body(seed, load(ring[i].name));
		snprintf(text, sizeof(text),
			 "%zu events, %zu payloads, %zu bad, %zu names, %zu ours", b.events,
			 b.payloads, b.bad, b.names, b.ours);
		ok(!strcmp(text, ring[i].holds), "%s holds %s", ring[i].name, text);
	}
	for (size_t i = 0; i < sizeof(capture) / sizeof(capture[0]); i++) {
		struct capture_body b = capture_body(seed, load(capture[i].name));
		snprintf(text, sizeof(text),
			 "%zu events, %zu payloads, %zu items, %zu bad, %zu stacks, %d", b.events,
			 b.payloads, b.items, b.bad, b.stacks, b.end);
		ok(!strcmp(text, capture[i].holds), "%s holds %s", capture[i].name, text);
	}
}

/* From these a fuzzer is one entry away from what the decoder must refuse. */
static void test_capture_limits(void)
{
	static const struct {
		const char *name;
		size_t events, items;
	} rows[] = {
		{"capture/lanes", CAPTURE_LANES, 0},
		{"capture/shapes", CAPTURE_SHAPES, 0},
		{"capture/positions", 0, 1},
		{"capture/runs", 0, 2},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct capture_body b = capture_body(seed, load(rows[i].name));
		ok(b.events == rows[i].events && b.items == rows[i].items && b.end == -EBADMSG,
		   "%s fills a table of the decoder, and is damage from there", rows[i].name);
	}
}

static void test_ocaml(void)
{
	is(ocaml_body(seed, load("ocaml/program")), OCAML_FUNCTIONS,
	   "a program with the functions of OCaml's runtime can be probed at all of them");
	size_t n = load("ocaml/library");
	is(ocaml_body(seed, n), OCAML_FUNCTIONS, "and a library");
	is(ocaml_body(seed, n / 2), 0, "but not half of one");
}

static void test_unwind(void)
{
	struct unwind_body b = unwind_body(seed, load("unwind/whole"));
	ok(b.end == UNWIND_WHOLE && b.frames == 10, "a stack of all sorts of functions is whole");
	b = unwind_body(seed, load("unwind/called"));
	ok(b.end == UNWIND_HIGH && b.frames == 4, "one on top of another ends there");
	b = unwind_body(seed, load("unwind/links"));
	ok(b.end == UNWIND_WHOLE && b.frames == 13, "one of frame pointers is whole");
}

static void test_ocaml_frames(void)
{
	static const char *const names[] = {"ocaml_frames/ocaml-5.1", "ocaml_frames/ocaml-5.3"};
	for (size_t i = 0; i < 2; i++) {
		struct ocaml_frames_body b = ocaml_frames_body(seed, load(names[i]));
		ok(b.lines > 80 && b.inlined >= 1 && b.allocations > 10,
		   "%s gives positions in its source, inlined ones and allocations", names[i]);
		if (b.lines <= 80)
			diag("%zu lines, %zu inlined, %zu allocations", b.lines, b.inlined,
			     b.allocations);
	}
}

static void test_memtrace_index(void)
{
	struct memtrace_index_body *b = memtrace_index_body(seed, load("memtrace_index/many"));
	ok(b->domains == 70 && b->places == 140 + b->damages && b->damages == 6,
	   "two packets of each of 70 domains, and places without one");
	ok(b->extents > 140 + 70 * b->damages, "are found by the index of each domain");
	free(b);
	b = memtrace_index_body(seed, load("memtrace_index/cut"));
	ok(b->domains > 20 && b->damages > 1, "of a trace without its middle and its end, too");
	free(b);
}

static void test_memtrace(void)
{
	static const struct {
		const char *name;
		unsigned flags;
		size_t events, frames;
	} rows[] = {
		{"memtrace/external", 0, 5006, 10},
		{"memtrace/domains", 0, 60, 100},
		{"memtrace/deep", 0, 20, 900},
		{"memtrace/skip", EBT_MEMTRACE_SKIP_BACKTRACES, 150, 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct memtrace_body b = {0};
		size_t n = load(rows[i].name);
		memtrace_body(&b, seed + 1, n - 1, 1u << 20, rows[i].flags);
		ok(!b.end && b.events == rows[i].events && b.frames >= rows[i].frames,
		   "%s gives its events and their backtraces to the end", rows[i].name);
		ebt_memtrace_reader_free(b.reader);
	}
}

static void test_pagetrace(void)
{
	static const struct {
		const char *name;
		size_t events, damaged, lanes;
	} rows[] = {
		{"pagetrace/small", 86, 0, 3},
		{"pagetrace/large-events", 920, 0, 3},
		{"pagetrace/damaged", 88, 4, 3},
		{"pagetrace/processes", 600, 0, 8},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t n = load(rows[i].name);
		struct pagetrace_body b = pagetrace_body(seed + 1, n - 1, 1 + seed[0] * 16);
		ok(!b.end && b.events >= rows[i].events && b.damaged >= rows[i].damaged &&
			   b.lanes == rows[i].lanes,
		   "%s gives its events, damage and lanes", rows[i].name);
	}
}

static void test_eio(void)
{
	struct eio_body b = eio_body(seed, load("eio/requests"));
	ok(b.events > 500 && b.decoded == b.events && b.fibers_begun > 20,
	   "a program with requests gives its events and fibers");
	ok(b.parts_begun > 80 && b.arrow_ends > 3 && b.states[FIBER_SUSPENDED] > 50,
	   "with their contexts, spans, suspensions and arrows");
	b = eio_body(seed, load("eio/domains"));
	ok(b.events > 500 && b.decoded == b.events && b.fibers_begun > 20,
	   "one of several domains, too");
	b = eio_body(seed, load("eio/hostile"));
	ok(b.decoded > 300 && b.decoded < b.events && b.arrows == 3 && b.arrow_ends > 0,
	   "hostile events give those that are well-formed, and arrows");
	ok(b.parts_begun >= FIBERS_DEPTH && b.fibers_begun >= 10,
	   "contexts to the limit of their depth, and fibers whose ids come again");
}

int main(void)
{
	test_eio();
	test_memtrace();
	test_memtrace_index();
	test_pagetrace();
	test_capture();
	test_exact();
	test_capture_limits();
	test_ring();
	test_notes();
	test_ocaml();
	test_ocaml_frames();
	test_unwind();
	test_usdt_args();
	test_symtab();
	return tap_done();
}
