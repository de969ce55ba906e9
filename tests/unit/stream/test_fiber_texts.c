/* SPDX-License-Identifier: BSD-2-Clause */
/* The texts of fibers: each once, valid, cut, counted, and given back. */
#include "stream/fiber_texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

static uint32_t keep(struct fiber_texts *t, const char *text, size_t bytes)
{
	struct eio_record r = {.text = text, .text_bytes = bytes};
	uint32_t id;
	if (fiber_texts_keep(t, &r, &id))
		abort();
	return id;
}

static uint32_t keep_str(struct fiber_texts *t, const char *text)
{
	return keep(t, text, strlen(text));
}

static void test_texts(void)
{
	struct fiber_texts t;
	char longest[2 * FIBERS_TEXT_BYTES];
	memset(longest, 'x', sizeof(longest));
	if (fiber_texts_init(&t))
		abort();
	is(keep_str(&t, ""), 0, "an empty text is none");
	uint32_t a = keep_str(&t, "accept"), b = keep_str(&t, "read");
	ok(a && b && a != b, "each text has its number");
	is_str(strings_text(t.strings, a), "accept", "under which it is");
	*fiber_texts_user(&t, a) = 7;
	is(keep_str(&t, "accept"), a, "one that comes again has the same");
	is(*fiber_texts_user(&t, a), 7, "and the user's number");
	is(*fiber_texts_user(&t, b), 0, "of another it is another");
	is_str(strings_text(t.strings, keep(&t, "a\0b\xff", 4)), "a?b\xef\xbf\xbd",
	       "what is no text is made one");
	size_t kept = strlen(strings_text(t.strings, keep(&t, longest, sizeof(longest))));
	is(kept, FIBERS_TEXT_BYTES, "a long text is cut");
	fiber_texts_drop(&t, 0);
	is(t.over, 0, "there was room for all");
	fiber_texts_done(&t);
}

/* Texts that nothing holds take no memory, but for the few that were seen last. */
static void test_given_back(void)
{
	struct fiber_texts t;
	char text[32];
	size_t most = 0;
	if (fiber_texts_init(&t))
		abort();
	for (unsigned i = 0; i < 100000; i++) {
		snprintf(text, sizeof(text), "operation %u", i);
		fiber_texts_drop(&t, keep_str(&t, text));
		most = t.bytes > most ? t.bytes : most;
	}
	ok(most <= FIBERS_TEXTS_RECENT * (64 + sizeof(text)),
	   "texts that are dropped are given back (%zu bytes)", most);
	ok(strings_count(t.strings) <= FIBERS_TEXTS_RECENT + 2, "and their numbers");
	is(t.over, 0, "there is room for any number, one after the other");
	fiber_texts_done(&t);
}

static void test_room(void)
{
	struct fiber_texts t;
	char text[FIBERS_TEXT_BYTES];
	uint32_t *id = calloc(FIBERS_TEXTS_BYTES / 64, sizeof(*id)), held = 0, last;
	if (!id || fiber_texts_init(&t))
		abort();
	memset(text, '.', sizeof(text));
	do {
		snprintf(text, 16, "%u", held);
		text[strlen(text)] = '.';
		last = keep(&t, text, sizeof(text));
		id[held] = last;
		held += last != 0;
	} while (last);
	ok(t.bytes <= FIBERS_TEXTS_BYTES && t.bytes + FIBERS_TEXT_BYTES + 64 > FIBERS_TEXTS_BYTES,
	   "as much is held as may be (%zu bytes)", t.bytes);
	is(t.over, 1, "a text without room is counted");
	ok(keep_str(&t, "short") || t.over == 2, "one that is shorter is kept or counted");
	for (uint32_t i = 0; i < held; i++)
		fiber_texts_drop(&t, id[i]);
	uint64_t over = t.over;
	ok(keep(&t, text, sizeof(text)) && t.over == over, "what is given back is room again");
	free(id);
	fiber_texts_done(&t);
}

int main(void)
{
	test_texts();
	test_given_back();
	test_room();
	return tap_done();
}
