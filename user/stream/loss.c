/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/loss.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/plural.h"

void loss_count(struct totals *t, const struct ebt_event *lost)
{
	bool counted = lost->arg[0] != EBT_LOST_UNCOUNTED, history = lost->flags & EBT_F_HISTORY;
	uint64_t events = counted ? lost->arg[0] : 0;
	if (history && !loss_is_unwatched(lost)) {
		t->history_events += events;
		t->history_words += lost->arg[1];
		t->history_uncounted += !counted;
		return;
	}
	t->lost_events += events;
	t->lost_words += lost->arg[1];
	t->lost_uncounted += !counted;
	if (loss_is_unwatched(lost)) {
		t->unwatched++;
		t->unwatched_ns += lost->ts - EBT_LOST_SINCE(lost);
	}
}

static bool is_history(const struct totals *t)
{
	return t->history_events || t->history_words || t->history_uncounted;
}

static bool is_lost(const struct totals *t)
{
	return t->lost_events || t->lost_words || t->lost_uncounted > t->unwatched;
}

bool loss_is_any(const struct totals *t, bool of_run)
{
	return is_lost(t) || (!of_run && is_history(t));
}

bool loss_hides_events(const struct totals *t)
{
	return is_lost(t) || t->unwatched;
}

struct number {
	char text[40];
};

/* "12", "at least 12", "unknown number". */
static struct number number_of(uint64_t events, uint64_t uncounted)
{
	struct number n = {"unknown number"};
	if (events || !uncounted)
		snprintf(n.text, sizeof(n.text), "%s%" PRIu64, uncounted ? "at least " : "",
			 events);
	return n;
}

/* "40 words"; empty: none. */
static struct number words_of(uint64_t words)
{
	struct number n = {""};
	if (words)
		snprintf(n.text, sizeof(n.text), "%" PRIu64 " word%s", words, plural(words));
	return n;
}

const char *loss_text(const struct totals *t, char text[LOSS_TEXT_BYTES])
{
	struct number words = words_of(t->lost_words), before = words_of(t->history_words);
	char unwatched[48] = "";
	if (t->unwatched)
		snprintf(unwatched, sizeof(unwatched), "%s%.3f ms not watched",
			 *words.text ? ", " : "", (double)t->unwatched_ns / 1e6);
	bool more = *words.text || *unwatched;
	int n = snprintf(text, LOSS_TEXT_BYTES, "%s lost%s%s%s%s",
			 number_of(t->lost_events, t->lost_uncounted).text, more ? " (" : "",
			 words.text, unwatched, more ? ")" : "");
	if (is_history(t))
		snprintf(text + n, LOSS_TEXT_BYTES - (size_t)n, ", %s before the trace began%s%s%s",
			 number_of(t->history_events, t->history_uncounted).text,
			 *before.text ? " (" : "", before.text, *before.text ? ")" : "");
	return text;
}
