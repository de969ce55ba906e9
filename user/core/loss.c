/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/loss.h"

#include <inttypes.h>
#include <stdio.h>

void loss_count(struct totals *t, const struct ebt_event *lost)
{
	bool counted = lost->arg[0] != EBT_LOST_UNCOUNTED, history = lost->flags & EBT_F_HISTORY;
	uint64_t events = counted ? lost->arg[0] : 0;
	t->lost_events += events;
	t->lost_words += lost->arg[1];
	t->lost_uncounted += !counted;
	if (history) {
		t->history_events += events;
		t->history_words += lost->arg[1];
		t->history_uncounted += !counted;
	}
	if (loss_is_unwatched(lost)) {
		t->unwatched++;
		t->unwatched_ns += lost->ts - EBT_LOST_SINCE(lost);
	}
}

bool loss_is_any(const struct totals *t, bool spare_history)
{
	if (spare_history)
		return t->lost_events > t->history_events || t->lost_words > t->history_words ||
		       t->lost_uncounted > t->history_uncounted;
	return t->lost_events || t->lost_words || t->lost_uncounted > t->unwatched;
}

bool loss_hides_events(const struct totals *t)
{
	return loss_is_any(t, true) || t->unwatched;
}

const char *loss_text(const struct totals *t, char text[LOSS_TEXT_BYTES])
{
	char number[48], words[40] = "", unwatched[48] = "";
	if (t->lost_uncounted && !t->lost_events)
		snprintf(number, sizeof(number), "unknown number");
	else
		snprintf(number, sizeof(number), "%s%" PRIu64, t->lost_uncounted ? "at least " : "",
			 t->lost_events);
	if (t->lost_words)
		snprintf(words, sizeof(words), "%" PRIu64 " words", t->lost_words);
	if (t->unwatched)
		snprintf(unwatched, sizeof(unwatched), "%s%.3f ms not watched", *words ? ", " : "",
			 (double)t->unwatched_ns / 1e6);
	bool more = *words || *unwatched;
	snprintf(text, LOSS_TEXT_BYTES, "%s lost%s%s%s%s", number, more ? " (" : "", words,
		 unwatched, more ? ")" : "");
	return text;
}
