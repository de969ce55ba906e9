// SPDX-License-Identifier: BSD-2-Clause
/* Interned stacks beside a linear search through arrays of frames, and how long they live. */
#include "session/stacks.h"
#include "tests/random.h"
#include "tests/tap.h"

#include <malloc.h>

#define FRAMES 3
#define DEPTH  5
#define KNOWN  400
#define STEPS  200000

static struct strings *strings;
static struct frames *frames;
static struct stacks *stacks;
static uint64_t state = 88172645463325252ull;

static uint32_t draw(uint32_t below)
{
	return (uint32_t)(random_next(&state) >> 32) % below;
}

static uint32_t frame(uint64_t address)
{
	return frames_put(frames, &(struct frame){.address = address, .has_address = true});
}

static void begin(void)
{
	if (strings_new(&strings) || frames_new(strings, &frames) || stacks_new(frames, &stacks))
		exit(1);
}

static void end(void)
{
	stacks_free(stacks);
	frames_free(frames);
	strings_free(strings);
}

static void test_tree(void)
{
	begin();
	uint32_t f = frame(1), g = frame(2), h = frame(3), path[4] = {0};
	uint32_t main_id = stacks_push(stacks, 0, f), a = stacks_push(stacks, main_id, g);
	uint32_t b = stacks_push(stacks, main_id, h);
	ok(main_id && a && b && a != b, "each frame more is another stack");
	is(stacks_push(stacks, stacks_push(stacks, 0, f), g), a, "equal stacks have one id");
	is(stacks_push(stacks, main_id, h), b, "also when another was looked up between");
	uint32_t deep = stacks_push(stacks, a, g);
	ok(deep != a, "a function that calls itself is two frames");
	is(stacks_frames(stacks, deep, path, 4), 3, "a stack knows its depth");
	ok(path[0] == f && path[1] == g && path[2] == g,
	   "and gives its frames, the outermost first");
	is(stacks_frames(stacks, b, path, 1), 2, "of one that is longer than there is room");
	is(path[0], h, "the innermost frames are given");
	is(stacks_frames(stacks, 0, path, 4), 0, "the empty stack has none");
	ok(stacks_parent(stacks, deep) == a && stacks_frame(stacks, deep) == g,
	   "a stack is its parent and a frame");
	end();
}

/* Frames that differ in one field, whatever it is, are two; and each is found again. */
static void test_fields(void)
{
	begin();
	uint32_t name = strings_put(strings, "f", 1), other = strings_put(strings, "g", 1);
	const struct frame_position plain = {.function = name,
					     .file = name,
					     .line = 7,
					     .start_char = 1,
					     .end_char = 2,
					     .has_line = true,
					     .has_chars = true};
	struct frame_position at[8];
	for (unsigned i = 0; i < 8; i++)
		at[i] = plain;
	at[1].function = other;
	at[2].file = other;
	at[3].line = 8;
	at[4].start_char = 0;
	at[5].end_char = 3;
	at[6].has_line = false;
	at[7].has_chars = false;
	struct frame frame[16];
	uint32_t id[16];
	for (unsigned i = 0; i < 8; i++)
		frame[i] = (struct frame){.count = 1, .position = &at[i]};
	for (unsigned i = 8; i < 16; i++)
		frame[i] = frame[0];
	frame[8].has_address = true;
	frame[9].address = 5;
	frame[10].module.path = name;
	frame[11].module.build_id = name;
	frame[12].module.offset = 9;
	frame[13].count = 2;
	frame[14].count = 0;
	unsigned same = 0, lost = 0;
	for (unsigned i = 0; i < 15; i++) {
		id[i] = frames_put(frames, &frame[i]);
		for (unsigned k = 0; k < i; k++)
			same += id[i] == id[k];
	}
	for (unsigned i = 0; i < 15; i++)
		lost += frames_put(frames, &frame[i]) != id[i];
	is(same, 0, "frames that differ in a single field are two");
	is(lost, 0, "and each is known");
	end();
}

/* All stacks that were made, as arrays. */
struct linear {
	uint32_t frame[DEPTH], depth, id, refs;
};
static struct linear known[KNOWN];

static struct linear *search(const struct linear *want, unsigned *count)
{
	for (unsigned i = 0; i < *count; i++)
		if (known[i].depth == want->depth &&
		    !memcmp(known[i].frame, want->frame, want->depth * sizeof(*want->frame)))
			return &known[i];
	if (*count == KNOWN)
		exit(1);
	known[*count] = *want;
	return &known[(*count)++];
}

static bool is_as(const struct linear *m)
{
	uint32_t path[DEPTH];
	return stacks_frames(stacks, m->id, path, DEPTH) == m->depth &&
	       !memcmp(path, m->frame, m->depth * sizeof(*path));
}

static void test_model(void)
{
	unsigned count = 0, wrong = 0, held = 0;
	uint32_t frame_id[FRAMES];
	begin();
	for (unsigned i = 0; i < FRAMES; i++)
		frame_id[i] = frame(100 + i);
	for (unsigned step = 0; step < STEPS; step++) {
		struct linear want = {.depth = 1 + draw(DEPTH)};
		for (unsigned i = 0; i < want.depth; i++) {
			want.frame[i] = frame_id[draw(FRAMES)];
			want.id = stacks_push(stacks, want.id, want.frame[i]);
		}
		struct linear *m = search(&want, &count);
		wrong += m->refs && m->id != want.id;
		m->id = want.id;
		wrong += !is_as(m);
		if (m->refs && draw(3)) {
			stacks_drop(stacks, m->id);
			held -= !--m->refs;
		} else if (held < 50) {
			stacks_hold(stacks, m->id);
			held += !m->refs++;
		}
		if (step % 1000 == 0) {
			stacks_free_unheld(stacks);
			for (unsigned i = 0; i < count; i++)
				wrong += known[i].refs && !is_as(&known[i]);
			wrong += stacks_count(stacks) > held * DEPTH;
		}
	}
	is(wrong, 0,
	   "stacks are found as a linear search finds them, whatever was dropped and freed");
	stacks_free_unheld(stacks);
	for (unsigned i = 0; i < count; i++)
		for (; known[i].refs; known[i].refs--)
			stacks_drop(stacks, known[i].id);
	stacks_free_unheld(stacks);
	is(stacks_count(stacks), 0, "without references nothing is left");
	for (unsigned i = 0; i < FRAMES; i++)
		frames_drop(frames, frame_id[i]);
	is(frames_count(frames), 0, "nor do stacks that are gone keep their frames");
	end();
}

static void test_churn(void)
{
	begin();
	size_t most = 0, before = mallinfo2().uordblks;
	uint32_t most_stacks = 0;
	for (uint64_t i = 0; i < 300000; i++) {
		uint32_t id = 0, f = frame(i);
		for (unsigned depth = 0; depth < 8; depth++)
			id = stacks_push(stacks, id, f);
		frames_drop(frames, f);
		stacks_hold(stacks, id);
		stacks_drop(stacks, id);
		stacks_reclaim(stacks);
		if (stacks_count(stacks) > most_stacks)
			most_stacks = stacks_count(stacks);
		if (i % 10000 == 0 && mallinfo2().uordblks > most)
			most = mallinfo2().uordblks;
	}
	ok(most_stacks <= 65536 + 8, "stacks that nobody holds are never many");
	ok(most <= before + (8 << 20),
	   "2.4 million stacks that come and go need no more memory than some ten thousand");
	end();
}

/* All of many stacks are held: a walk over them frees nothing, so there must be few. */
static void test_held(void)
{
	enum { HELD = 200000 };
	static uint32_t ids[HELD];
	begin();
	uint32_t f = frame(1);
	for (unsigned i = 0; i < HELD; i++) {
		ids[i] = stacks_push(stacks, i ? ids[i - 1] : 0, f);
		stacks_hold(stacks, ids[i]);
		stacks_reclaim(stacks);
	}
	ok(stacks_count(stacks) == HELD && stacks->reclaimed <= 3,
	   "held stacks are searched for others once each time that they have doubled (%llu times)",
	   (unsigned long long)stacks->reclaimed);
	end();
}

static void test_peak(void)
{
	enum { PEAK = 50000 };
	static uint32_t ids[PEAK];
	begin();
	uint32_t f = frame(1), g = frame(2);
	for (unsigned i = 0; i < PEAK; i++) {
		ids[i] = stacks_push(stacks, i ? ids[i - 1] : 0, i % 3 ? f : g);
		stacks_hold(stacks, ids[i]);
		stacks_reclaim(stacks);
	}
	is(stacks_count(stacks), PEAK, "what is held is kept, however much it is");
	for (unsigned i = 0; i + 1 < PEAK; i++)
		stacks_drop(stacks, ids[i]);
	stacks_free_unheld(stacks);
	is(stacks_count(stacks), PEAK, "the innermost stack holds all that it extends");
	stacks_drop(stacks, ids[PEAK - 1]);
	stacks_free_unheld(stacks);
	is(stacks_count(stacks), 0, "they go with it");
	end();
}

/* Sums of what a stack has in an output do not begin again at 0. */
static void test_sums(void)
{
	enum { NAME = 1 << 20, DEPTH_OF_SUM = 4097 };
	char *text = malloc(NAME);
	begin();
	memset(text, 'f', NAME);
	const struct frame_position at[2] = {{.function = strings_put(strings, text, NAME)},
					     {.function = strings_put(strings, "g", 1)}};
	uint32_t f = frames_put(frames, &(struct frame){.count = 2, .position = at}), id = 0;
	uint64_t each = frames_bytes(frames, f);
	bool is_sum = each >= NAME && each < 2 * NAME;
	for (uint64_t i = 1; i <= DEPTH_OF_SUM && is_sum; i++) {
		id = stacks_push(stacks, id, f);
		uint64_t bytes = i * each < UINT32_MAX ? i * each : UINT32_MAX;
		is_sum = stacks_texts(stacks, id) == 2 * i && stacks_bytes(stacks, id) == bytes;
	}
	ok(is_sum, "a stack has the texts and the bytes of all its frames, at most UINT32_MAX");
	end();
	free(text);
}

int main(void)
{
	test_tree();
	test_fields();
	test_model();
	test_churn();
	test_held();
	test_peak();
	test_sums();
	return tap_done();
}
