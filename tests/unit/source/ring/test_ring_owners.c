// SPDX-License-Identifier: BSD-2-Clause
/* Which thread wrote what of a ring, by looks at its header: rules, and against a ring that threads
 * write in turn. Positions are numbers of events. */
#include "source/ring/owners.h"

#include <string.h>

#include "tests/random.h"
#include "tests/tap.h"

struct look {
	uint64_t tail, generation;
	uint32_t tid;
};

/* The threads of the events from `pos` on, a letter each; S in `events` is a domain_spawn, L one
 * behind a loss. */
static const char *threads(struct ring_owners *o, uint64_t pos, const char *events)
{
	static char text[64];
	size_t n = 0;
	for (; events[n]; n++) {
		if (events[n] == 'L')
			ring_owners_lose(o);
		uint32_t tid = ring_owners_next(o, pos + n, events[n] == 'S');
		text[n] = (char)(tid ? 'a' + tid - 1 : '?');
	}
	text[n] = 0;
	return text;
}

static void check(const char *name, const struct look *look, uint64_t pos, const char *events,
		  const char *expected)
{
	struct ring_owners o = {.count = 0};
	for (; look->generation; look++)
		ring_owners_look(&o, look->tail, look->generation, look->tid);
	is_str(threads(&o, pos, events), expected, name);
}

static void test_rules(void)
{
	check("without a look nobody is known", (struct look[]){{0}}, 0, "...", "???");
	check("the first owner is of all from the first word on", (struct look[]){{2, 1, 1}, {0}},
	      0, "....", "aaaa");
	check("of a ring that is found later, from the look on",
	      (struct look[]){{12, 3, 1}, {20, 3, 1}, {0}}, 10, "......", "??aaaa");
	check("an owner that has ended is known by the looks before",
	      (struct look[]){{2, 1, 1}, {6, 1, 0}, {0}}, 0, "......", "aaaaaa");
	check("the next one begins with a domain_spawn", (struct look[]){{2, 1, 1}, {8, 2, 2}, {0}},
	      0, "....S....", "aaaabbbbb");
	check("also where none of its events was there at the look",
	      (struct look[]){{2, 1, 1}, {4, 2, 2}, {6, 2, 2}, {0}}, 0, "....S..", "aaaabbb");
	check("those that were there between are not known",
	      (struct look[]){{2, 1, 1}, {9, 3, 3}, {0}}, 0, "...S..S..", "aaa???ccc");
	check("nor is anybody behind a loss, until the next look",
	      (struct look[]){{2, 1, 1}, {7, 3, 3}, {9, 3, 3}, {0}}, 0, "...SLS...", "aaa????cc");
	check("also where the one before the loss was looked at more than once",
	      (struct look[]){{2, 1, 1}, {4, 1, 1}, {7, 3, 3}, {9, 3, 3}, {0}}, 0, "....SLS..",
	      "aaaa???cc");
	check("a loss between looks that find the same one changes nothing",
	      (struct look[]){{1, 2, 1}, {9, 2, 1}, {0}}, 1, "..L...", "aaaaaa");
	check("who begins behind the last look is not known yet", (struct look[]){{2, 1, 1}, {0}},
	      0, "....S..", "aaaa???");
}

#define EVENTS 4000

/* Threads own the ring one after the other; looks and reads come at random, reads behind looks. */
static void test_random(uint64_t seed, unsigned most)
{
	struct ring_owners o = {.count = 0};
	static uint32_t owner[EVENTS];
	static bool spawns[EVENTS];
	uint64_t written = 0, read = 0, generation = 1;
	unsigned wrong = 0, unknown = 0, full = 0;
	while (read < EVENTS) {
		for (unsigned n = (unsigned)(random_next(&seed) % 20); n && written < EVENTS; n--) {
			spawns[written] = written && random_next(&seed) % 16 == 0;
			generation += spawns[written];
			owner[written++] = (uint32_t)generation + 1000;
		}
		if (random_next(&seed) % 2)
			ring_owners_look(&o, written, generation,
					 random_next(&seed) % 4 ? (uint32_t)generation + 1000 : 0);
		else
			continue;
		full += o.count == RING_OWNERS;
		for (unsigned n = (unsigned)(random_next(&seed) % most); n && read < written;
		     n--, read++) {
			uint32_t tid = ring_owners_next(&o, read, spawns[read]);
			wrong += tid && tid != owner[read];
			unknown += !tid;
		}
	}
	is(wrong, 0, "no event has another thread's number");
	ok(most < 60 ? full : unknown < EVENTS / 2,
	   most < 60 ? "also where more threads than are kept come between two reads"
		     : "and most have theirs (%u of %u not)",
	   unknown, EVENTS);
}

int main(void)
{
	test_rules();
	test_random(20, 60);
	test_random(21, 12);
	return tap_done();
}
