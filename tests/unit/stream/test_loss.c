/* SPDX-License-Identifier: BSD-2-Clause */
/* What losses add up to: a number that nobody knows is never shown as 0. */
#include "stream/loss.h"

#include "tests/tap.h"

enum { HISTORY = EBT_F_HISTORY };
#define UNKNOWN EBT_LOST_UNCOUNTED

struct loss {
	uint64_t events, words;
	uint16_t flags;
	uint64_t ns;
};

/* file, run: of a file at rest and of a live run with these losses, whether events are missing. */
static void check(const char *name, const struct loss *l, const char *text, bool file, bool run)
{
	struct totals t = {.events = 100};
	char got[LOSS_TEXT_BYTES];
	for (; l->events || l->words; l++) {
		struct ebt_event ev = {.kind = EBT_LOST,
				       .ts = 1000 + l->ns,
				       .pos = 1000,
				       .flags = l->flags,
				       .arg = {l->events, l->words}};
		loss_count(&t, &ev);
	}
	is_str(loss_text(&t, got), text, name);
	ok(loss_is_any(&t, false) == file && loss_is_any(&t, true) == run,
	   "%s: whether a file or a run with it is whole", name);
	ok(loss_hides_events(&t) == (run || t.unwatched), "%s: whether its sums are", name);
}

#define L(...)                     \
	(const struct loss[])      \
	{                          \
		__VA_ARGS__,       \
		{                  \
			0, 0, 0, 0 \
		}                  \
	}

int main(void)
{
	check("nothing", L({0, 0, 0, 0}), "0 lost", false, false);
	check("events", L({12, 0, 0, 0}), "12 lost", true, true);
	check("events and words", L({12, 30, 0, 0}, {1, 10, 0, 0}), "13 lost (40 words)", true,
	      true);
	check("words of a ring that does not count its events", L({UNKNOWN, 30, 0, 0}),
	      "unknown number lost (30 words)", true, true);
	check("both kinds", L({UNKNOWN, 30, 0, 0}, {12, 4, 0, 0}), "at least 12 lost (34 words)",
	      true, true);
	check("overwritten before", L({3, 6, HISTORY, 0}),
	      "0 lost, 3 before the trace began (6 words)", true, false);
	check("before, without a ring", L({3, 0, HISTORY, 0}), "0 lost, 3 before the trace began",
	      true, false);
	check("both figures", L({3, 6, HISTORY, 0}, {12, 30, 0, 0}),
	      "12 lost (30 words), 3 before the trace began (6 words)", true, true);
	check("overwritten before, uncounted", L({UNKNOWN, 6, HISTORY, 0}),
	      "0 lost, unknown number before the trace began (6 words)", true, false);
	check("the same, and what is counted", L({UNKNOWN, 6, HISTORY, 0}, {2, 4, HISTORY, 0}),
	      "0 lost, at least 2 before the trace began (10 words)", true, false);
	check("time in which nobody watched", L({UNKNOWN, 0, HISTORY, 1250000}),
	      "unknown number lost (1.250 ms not watched)", false, false);
	check("the same, and a loss", L({UNKNOWN, 0, HISTORY, 1250000}, {2, 4, 0, 0}),
	      "at least 2 lost (4 words, 1.250 ms not watched)", true, true);
	check("an uncounted loss without words", L({UNKNOWN, 0, 0, 0}), "unknown number lost", true,
	      true);
	return tap_done();
}
