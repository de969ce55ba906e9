/* SPDX-License-Identifier: BSD-2-Clause */
/* A stream as letters, what is visited as text: b<id> begins, e<id> ends, with the moment. */
#include "stream/tracks.h"

#include "session/marker_values.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

static char seen[4096];

static int on_begin(void *ctx, struct track *t, struct track_span *s, unsigned depth,
		    const struct ebt_event *ev)
{
	(void)ctx, (void)ev;
	sprintf(seen + strlen(seen), "%u:b%u@%u/%u ", t->number, s->id, (unsigned)s->begin_ns,
		depth);
	return 0;
}

static int on_end(void *ctx, struct track *t, const struct track_span *s, unsigned depth,
		  uint64_t end_ns, enum track_end how)
{
	(void)ctx, (void)depth;
	sprintf(seen + strlen(seen), "%u:e%u@%u%c%u ", t->number, s->id, (unsigned)end_ns,
		"=^!x~#"[how], (unsigned)(end_ns - s->begin_ns - s->inner_ns));
	return 0;
}

static const struct tracks_visitor visitor = {.begin = on_begin, .end = on_end};

static struct processes processes;

static struct tracks *start(void)
{
	struct tracks *t;
	uint32_t process;
	if (processes_init(&processes, NULL) || processes_of(&processes, 7, &process) ||
	    process != 1 || tracks_new(&processes, &visitor, NULL, &t))
		abort();
	return t;
}

static void done(struct tracks *t)
{
	tracks_free(t);
	processes_done(&processes);
}

struct step {
	uint16_t kind;
	uint32_t id;
	uint64_t ts;
	uint16_t domain;
	uint64_t since;
};

/* keeps: whoever pushes finds the track of a phase itself, and has the visitor inlined. */
static void walk(const struct step *steps, size_t count, bool keeps)
{
	struct tracks *t = start();
	*seen = 0;
	for (size_t i = 0; i < count; i++) {
		struct ebt_event ev = {.kind = steps[i].kind,
				       .id = steps[i].id,
				       .ts = steps[i].ts,
				       .domain = steps[i].domain,
				       .process = 1,
				       .pos = steps[i].since};
		bool is_phase = ev.kind == EBT_BEGIN || ev.kind == EBT_END;
		if (keeps && is_phase
			    ? tracks_push_inline(t, tracks_of(t, &ev), &ev, &visitor, NULL)
			    : tracks_push(t, &ev))
			abort();
	}
	tracks_end(t, 100);
	done(t);
}

static void check(const char *name, const struct step *steps, size_t count, const char *want)
{
	walk(steps, count, true);
	bool same = !strcmp(seen, want);
	walk(steps, count, false);
	if (!ok(same && !strcmp(seen, want), "%s", name))
		diag("got  %s\n# want %s", seen, want);
}
#define CHECK(name, want, ...)                    \
	check(name, (struct step[]){__VA_ARGS__}, \
	      sizeof((struct step[]){__VA_ARGS__}) / sizeof(struct step), want)

#define B  EBT_BEGIN
#define E  EBT_END
#define SB EBT_SPAN_BEGIN
#define SE EBT_SPAN_END

/* Two threads that share a domain, one inside of the other's phase. */
static void test_threads(void)
{
	static const struct {
		const char *name, *want;
		bool by_thread;
		uint64_t pos;
	} cases[] = {
		{"phases of one domain are one track", "1:b1@1/0 1:b2@2/1 1:e2@3^1 1:e1@3=1 ",
		 false, EBT_NO_POS},
		{"by thread, each has its own", "1:b1@1/0 2:b2@2/0 1:e1@3=2 2:e2@4=2 ", true,
		 EBT_NO_POS},
		{"but not of what a ring holds", "1:b1@1/0 1:b2@2/1 1:e2@3^1 1:e1@3=1 ", true, 7},
	};
	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct tracks *t = start();
		if (cases[i].by_thread)
			tracks_by_thread(t);
		*seen = 0;
		for (unsigned k = 0; k < 5; k++) {
			struct ebt_event ev = {.kind = k < 2 ? B : E,
					       .id = 1 + k % 2,
					       .tid = 11 + k % 2,
					       .ts = k + 1,
					       .process = 1,
					       .pos = cases[i].pos};
			if (k == 4) {
				ev.kind = EBT_PROCESS;
				ev.id = EBT_PROCESS_EXIT;
			}
			if (tracks_push(t, &ev))
				abort();
		}
		is_str(seen, cases[i].want, cases[i].name);
		done(t);
	}
}

/* Where a domain moves to another thread, or the thread of an event is not known. */
static void test_moves(void)
{
	static const uint32_t tids[] = {5, 0, 6, 0}, want[] = {5, 5, 6, 6};
	struct tracks *t = start();
	bool right = true;
	for (unsigned i = 0; i < 4; i++) {
		struct ebt_event ev = {
			.kind = B, .id = 1 + i, .tid = tids[i], .ts = i + 1, .process = 1};
		struct track *track = tracks_of(t, &ev);
		if (!track || tracks_push_to(t, track, &ev))
			abort();
		right &= track->tid == want[i];
	}
	ok(right, "a track has the thread that was known last");
	done(t);
}

/* Spans by an argument of a marker: begun in thread 11, two of them ended by thread 12. */
static void test_processes(void)
{
	static const struct {
		uint16_t kind;
		uint32_t slot, tid;
	} steps[] = {{SB, 1, 11}, {SB, 2, 11}, {SE, 1, 12}, {SE, 2, 12}, {SB, 0, 11}, {SE, 0, 12}};
	struct tracks *t = start();
	uint32_t id = marker_id(3, 0);
	char want[256];
	*seen = 0;
	for (unsigned k = 0; k < sizeof(steps) / sizeof(*steps); k++) {
		struct ebt_event ev = {.kind = steps[k].kind,
				       .id = marker_id(3, steps[k].slot),
				       .tid = steps[k].tid,
				       .ts = k + 1,
				       .domain = EBT_NO_DOMAIN,
				       .process = 1,
				       .pos = EBT_NO_POS};
		if (tracks_push(t, &ev))
			abort();
	}
	struct ebt_event loss = {.kind = EBT_LOST,
				 .ts = 9,
				 .domain = EBT_NO_DOMAIN,
				 .process = 1,
				 .pos = 7,
				 .flags = EBT_F_BPF};
	if (tracks_push(t, &loss))
		abort();
	snprintf(want, sizeof(want), "1:b%u@1/0 2:b%u@2/0 1:e%u@3=2 2:e%u@4=2 3:b%u@5/0 3:e%u@7!2 ",
		 marker_id(3, 1), marker_id(3, 2), marker_id(3, 1), marker_id(3, 2), id, id);
	is_str(seen, want, "a span with a slot ends in any thread, one without in its own");
	done(t);
}

static int on_level_begin(void *ctx, struct track *t, struct track_span *s, unsigned depth,
			  const struct ebt_event *ev)
{
	(void)ctx, (void)t, (void)s, (void)ev;
	sprintf(seen + strlen(seen), "b%u ", depth);
	return 0;
}

static int on_level_end(void *ctx, struct track *t, const struct track_span *s, unsigned depth,
			uint64_t end_ns, enum track_end how)
{
	(void)ctx, (void)t, (void)s, (void)end_ns;
	sprintf(seen + strlen(seen), "e%u%c ", depth, "=^!x~#"[how]);
	return 0;
}

/* Spans of markers that have levels: digits are begins, letters ends of the level before. */
static void test_levels(void)
{
	static const struct {
		const char *name, *steps, *want;
	} rows[] = {
		{"spans of levels nest", "12ba", "b0 b1 e1= e0= "},
		{"a begin of an open level ends that, and all inside", "1232",
		 "b0 b1 b2 e2# e1# b1 "},
		{"an end of a level ends what is open inside as what will not end", "123a",
		 "b0 b1 b2 e2# e1# e0= "},
		{"an end of a level that is not open is dropped", "1c", "b0 "},
		{"levels whose begins were not seen do no harm", "3c3c2b", "b0 e0= b0 e0= b0 e0= "},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		static const struct tracks_visitor v = {.begin = on_level_begin,
							.end = on_level_end};
		struct tracks *t = start();
		tracks_free(t);
		if (tracks_new(&processes, &v, NULL, &t))
			abort();
		*seen = 0;
		for (const char *c = rows[i].steps; *c; c++) {
			bool ends = *c >= 'a';
			uint32_t level = (uint32_t)(ends ? *c - 'a' + 1 : *c - '0');
			struct ebt_event ev = {.kind = ends ? SE : SB,
					       .id = marker_id_at(marker_id(3, 0), level),
					       .ts = 1,
					       .domain = EBT_NO_DOMAIN,
					       .tid = 5,
					       .process = 1,
					       .pos = EBT_NO_POS};
			if (tracks_push(t, &ev))
				abort();
		}
		is_str(seen, rows[i].want, rows[i].name);
		done(t);
	}
}

static void test_depth(void)
{
	struct tracks *t = start();
	*seen = 0;
	for (unsigned i = 0; i < 10 * TRACK_DEPTH; i++) {
		struct ebt_event ev = {.kind = B, .id = i % 7, .ts = i, .process = 1};
		*seen = 0;
		if (tracks_push(t, &ev))
			abort();
	}
	ok(!*seen, "a begin deeper than the depth of a track is not seen");
	done(t);
	t = start();
	unsigned begins = 0;
	for (unsigned i = 0; i < 10 * TRACK_DEPTH; i++) {
		struct ebt_event ev = {.kind = B, .id = i % 7, .ts = i, .process = 1};
		struct track *k = tracks_of(t, &ev);
		*seen = 0;
		if (!k || tracks_push_inline(t, k, &ev, &visitor, NULL))
			abort();
		begins += *seen != 0;
	}
	is(begins, TRACK_DEPTH, "nor is it where the visitor is inlined");
	done(t);
}

int main(void)
{
	CHECK("phases nest, and an inner span's time is not its outer's own",
	      "1:b1@1/0 1:b2@2/1 1:e2@5=3 1:e1@9=5 ", {B, 1, 1, 0, 0}, {B, 2, 2, 0, 0},
	      {E, 2, 5, 0, 0}, {E, 1, 9, 0, 0});
	CHECK("an end ends what is open inside", "1:b1@1/0 1:b2@2/1 1:e2@4^2 1:e1@4=1 ",
	      {B, 1, 1, 0, 0}, {B, 2, 2, 0, 0}, {E, 1, 4, 0, 0}, {E, 2, 5, 0, 0});
	CHECK("an end without a begin is dropped", "1:b1@3/0 1:e1@4=1 ", {E, 1, 1, 0, 0},
	      {E, 2, 2, 0, 0}, {B, 1, 3, 0, 0}, {E, 1, 4, 0, 0});
	CHECK("the innermost begin of an id is ended first", "1:b1@1/0 1:b1@2/1 1:e1@3=1 1:e1@5=3 ",
	      {B, 1, 1, 0, 0}, {B, 1, 2, 0, 0}, {E, 1, 3, 0, 0}, {E, 1, 5, 0, 0});
	CHECK("a loss cuts what is open at the last moment before it",
	      "1:b1@1/0 1:b2@2/1 1:e2@3!1 1:e1@3!1 1:b3@9/0 1:e3@10=1 ", {B, 1, 1, 0, 0},
	      {B, 2, 2, 0, 0}, {EBT_LOST, 0, 8, 0, 3}, {E, 1, 8, 0, 0}, {B, 3, 9, 0, 0},
	      {E, 3, 10, 0, 0});
	CHECK("a loss that says it began earlier than it can have does not make time go back",
	      "1:b1@5/0 1:e1@5!0 ", {B, 1, 5, 0, 0}, {EBT_LOST, 0, 8, 0, 2});
	CHECK("a loss leaves other domains alone", "1:b1@1/0 1:e1@9=8 ", {B, 1, 1, 0, 0},
	      {EBT_LOST, 0, 8, 3, 3}, {E, 1, 9, 0, 0});
	CHECK("a loss of which nobody knows whose it is cuts every track",
	      "1:b1@1/0 2:b1@2/0 1:e1@3!2 2:e1@3!1 ", {B, 1, 1, 0, 0}, {B, 1, 2, 1, 0},
	      {EBT_LOST, 0, 8, EBT_NO_DOMAIN, 3}, {E, 1, 9, 0, 0}, {E, 1, 9, 1, 0});
	CHECK("a loss cuts the user spans of its domain, too, and of no other",
	      "1:b1@1/0 2:b2@2/0 3:b1@2/0 2:e2@3!1 1:e1@3!2 3:e1@9=7 1:b1@9/0 1:e1@10=1 ",
	      {SB, 1, 1, 0, 0}, {SB, 2, 2, 0, 0}, {SB, 1, 2, 1, 0}, {EBT_LOST, 0, 8, 0, 3},
	      {SE, 1, 8, 0, 0}, {SE, 1, 9, 1, 0}, {SB, 1, 9, 0, 0}, {SE, 1, 10, 0, 0});
	CHECK("domains do not mix", "1:b1@1/0 2:b1@2/0 1:e1@3=2 2:e1@4=2 ", {B, 1, 1, 0, 0},
	      {B, 1, 2, 1, 0}, {E, 1, 3, 0, 0}, {E, 1, 4, 1, 0});
	CHECK("user spans may overlap: each kind has a track of its own",
	      "1:b1@1/0 2:b2@2/0 1:e1@3=2 2:e2@4=2 ", {SB, 1, 1, 0, 0}, {SB, 2, 2, 0, 0},
	      {SE, 1, 3, 0, 0}, {SE, 2, 4, 0, 0});
	CHECK("a user span and a phase of the same id are two things",
	      "1:b1@1/0 2:b1@2/0 1:e1@3=2 2:e1@4=2 ", {B, 1, 1, 0, 0}, {SB, 1, 2, 0, 0},
	      {E, 1, 3, 0, 0}, {SE, 1, 4, 0, 0});
	CHECK("what is open at the end is ended there", "1:b1@1/0 1:b2@2/1 1:e2@100~98 1:e1@100~1 ",
	      {B, 1, 1, 0, 0}, {B, 2, 2, 0, 0});
	CHECK("an exit ends the spans of its process, and what follows is a new track",
	      "1:b1@1/0 1:e1@5x4 2:b1@6/0 2:e1@7=1 ", {B, 1, 1, 0, 0},
	      {EBT_PROCESS, EBT_PROCESS_EXIT, 5, 0, 0}, {B, 1, 6, 0, 0}, {E, 1, 7, 0, 0});
	CHECK("a time that goes back is taken as the last one", "1:b1@5/0 1:e1@5=0 ",
	      {B, 1, 5, 0, 0}, {E, 1, 3, 0, 0});
	CHECK("inside another span, too", "1:b1@1/0 1:b2@5/1 1:e2@5=0 1:b2@5/1 1:e2@6=1 1:e1@7=5 ",
	      {B, 1, 1, 0, 0}, {B, 2, 5, 0, 0}, {E, 2, 3, 0, 0}, {B, 2, 4, 0, 0}, {E, 2, 6, 0, 0},
	      {E, 1, 7, 0, 0});
	CHECK("a track grows as its spans nest",
	      "1:b1@1/0 1:b2@2/1 1:b3@3/2 1:b4@4/3 1:b5@5/4 1:b6@6/5 "
	      "1:e6@7=1 1:e5@8=2 1:e4@9=2 1:e3@10=2 1:e2@11=2 1:e1@12=2 ",
	      {B, 1, 1, 0, 0}, {B, 2, 2, 0, 0}, {B, 3, 3, 0, 0}, {B, 4, 4, 0, 0}, {B, 5, 5, 0, 0},
	      {B, 6, 6, 0, 0}, {E, 6, 7, 0, 0}, {E, 5, 8, 0, 0}, {E, 4, 9, 0, 0}, {E, 3, 10, 0, 0},
	      {E, 2, 11, 0, 0}, {E, 1, 12, 0, 0});
	test_threads();
	test_moves();
	test_processes();
	test_levels();
	test_depth();
	return tap_done();
}
