// SPDX-License-Identifier: BSD-2-Clause
/* Interned strings and frames beside a linear search, and how long they live. */
#include "session/frames.h"
#include "session/strings.h"
#include "tests/random.h"
#include "tests/tap.h"

#include <malloc.h>

#define TEXTS 300
#define STEPS 200000

static uint64_t state = 88172645463325252ull;

static uint32_t draw(uint32_t below)
{
	return (uint32_t)(random_next(&state) >> 32) % below;
}

static uint32_t put(struct strings *t, const char *text)
{
	return strings_put(t, text, strlen(text));
}

static void test_equal(void)
{
	struct strings *t;
	if (strings_new(&t))
		exit(1);
	uint32_t a = put(t, "caml_alloc"), b = put(t, "caml_alloc1");
	ok(a && b && a != b, "two texts have two ids, and none is 0");
	is(put(t, "caml_alloc"), a, "an equal text has the same id");
	is(strings_put(t, "caml_alloc1 and more", 11), b, "only so many bytes count");
	uint32_t empty = put(t, "");
	is_str(strings_text(t, empty), "", "an empty text is a string");
	ok(!strings_text(t, 0), "id 0 is none");
	strings_hold(t, 0);
	strings_drop(t, 0);
	strings_drop(t, a);
	is_str(strings_text(t, a), "caml_alloc", "a string lives while one reference is left");
	strings_drop(t, a);
	is(strings_count(t), 2, "and not longer");
	is(put(t, "another"), a, "its id is used again");
	strings_free(t);
	strings_free(NULL);
}

/* What a search through all of them would answer. */
struct linear {
	uint32_t id, refs;
};

static void test_model(void)
{
	struct linear model[TEXTS] = {0};
	struct strings *t;
	char text[32];
	unsigned wrong = 0, living = 0;
	if (strings_new(&t))
		exit(1);
	for (unsigned step = 0; step < STEPS; step++) {
		uint32_t i = draw(TEXTS);
		struct linear *m = &model[i];
		snprintf(text, sizeof(text), "%*u", 1 + (int)(i % 29), i);
		if (m->refs && draw(2)) {
			wrong += strcmp(strings_text(t, m->id), text) != 0;
			strings_drop(t, m->id);
			living -= !--m->refs;
			continue;
		}
		uint32_t id = put(t, text);
		living += !m->refs;
		wrong += m->refs && id != m->id;
		for (unsigned k = 0; !m->refs && k < TEXTS; k++)
			wrong += model[k].refs && model[k].id == id;
		m->id = id;
		m->refs++;
	}
	is(wrong, 0, "strings are found as a linear search finds them, whatever was dropped");
	is(strings_count(t), living, "and there are as many");
	strings_free(t);
}

static void test_churn(void)
{
	struct strings *t;
	char text[64];
	if (strings_new(&t))
		exit(1);
	struct mallinfo2 before = mallinfo2();
	for (unsigned i = 0; i < 500000; i++) {
		snprintf(text, sizeof(text), "a name that comes once and goes: %u", i);
		strings_drop(t, put(t, text));
	}
	ok(mallinfo2().uordblks <= before.uordblks + 4096,
	   "half a million strings that come and go need no more memory than a few");
	strings_free(t);
}

static struct frame_position at(struct strings *t, const char *function, const char *file)
{
	return (struct frame_position){.function = put(t, function),
				       .file = file ? put(t, file) : 0,
				       .line = 12,
				       .start_char = 3,
				       .end_char = 40,
				       .has_line = true,
				       .has_chars = true};
}

static void is_text(const struct frames *t, const struct frame *f, uint32_t i, const char *want,
		    const char *name)
{
	struct buf b;
	if (buf_init(&b, -1, 64))
		exit(1);
	frames_put_text(t, f, i, &b);
	is_str(buf_str(&b), want, name);
	buf_done(&b);
}

static void test_frames(void)
{
	struct strings *s;
	struct frames *t;
	if (strings_new(&s) || frames_new(s, &t))
		exit(1);
	struct frame_position both[2] = {at(s, "Stdlib.iter", "list.ml"),
					 at(s, "Main.f", "main.ml")};
	struct frame f = {.address = 4711, .has_address = true, .count = 2, .position = both};
	uint32_t id = frames_put(t, &f);
	is(frames_put(t, &f), id, "a frame that is equal in all its positions has the same id");
	f.count = 1;
	uint32_t one = frames_put(t, &f);
	f.count = 0;
	f.position = NULL;
	uint32_t bare = frames_put(t, &f);
	f = (struct frame){0};
	uint32_t nothing = frames_put(t, &f);
	f.has_address = true;
	ok(id != one && one != bare && frames_put(t, &f) != nothing,
	   "fewer positions, or an address of 0 that is known, make another frame");
	is(frames_texts(frames_get(t, id)), 2, "a frame has a text for each inlined function");
	is_text(t, frames_get(t, id), 0, "Stdlib.iter@list.ml:12:3-40",
		"the outer function comes first");
	is_text(t, frames_get(t, id), 1, "Main.f@main.ml:12:3-40",
		"the function inlined into it comes second");
	is(frames_texts(frames_get(t, bare)), 1, "one that is not resolved has one");
	is_text(t, frames_get(t, bare), 0, "$4711", "its address stands for it");
	is_text(t, frames_get(t, nothing), 0, "?",
		"or a question mark where that is not known either");
	struct frame_position c = at(s, "main", NULL), l = at(s, "loop", "a.c");
	l.has_chars = false;
	struct frame plain = {.count = 1, .position = &c}, line = {.count = 1, .position = &l};
	struct frame_position none = c, zero = c;
	none.has_chars = false;
	none.start_char = none.end_char = zero.start_char = zero.end_char = 0;
	ok(frames_put(t, &(struct frame){.count = 1, .position = &none}) !=
		   frames_put(t, &(struct frame){.count = 1, .position = &zero}),
	   "columns that are not known are not columns 0 to 0");
	uint32_t by_name = frames_put(t, &plain), by_line = frames_put(t, &line);
	is_text(t, frames_get(t, by_name), 0, "main", "a function without a file is its name");
	is_text(t, frames_get(t, by_line), 0, "loop@a.c:12",
		"a line without columns ends the text");

	for (uint32_t i = 0; i < 2; i++) {
		strings_drop(s, both[i].function);
		strings_drop(s, both[i].file);
	}
	is_text(t, frames_get(t, id), 1, "Main.f@main.ml:12:3-40",
		"its text is still there when others have dropped its strings");
	frames_drop(t, id);
	frames_drop(t, id);
	is(strings_count(s), 5, "a frame holds its strings until its last reference is dropped");
	frames_free(t);
	strings_free(s);
	frames_free(NULL);
}

static void test_module(void)
{
	struct strings *s;
	struct frames *t;
	if (strings_new(&s) || frames_new(s, &t))
		abort();
	struct frame in_module = {.address = 7, .has_address = true};
	in_module.module.path = strings_put(s, "/lib/a.so", 9);
	in_module.module.build_id = strings_put(s, "0123", 4);
	uint32_t id = frames_put(t, &in_module);
	strings_drop(s, in_module.module.path);
	strings_drop(s, in_module.module.build_id);
	is(strings_count(s), 2, "a frame holds the strings of its module");
	frames_drop(t, id);
	is(strings_count(s), 0, "as long");
	frames_free(t);
	strings_free(s);
}

int main(void)
{
	test_equal();
	test_model();
	test_churn();
	test_frames();
	test_module();
	return tap_done();
}
