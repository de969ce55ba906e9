/* SPDX-License-Identifier: BSD-2-Clause */
/* join: holes by ordinals, and what of them comes late. */
#include "tests/unit/join_fixture.h"

/* What a ring says that it lost. */
static void push_lost(uint16_t flags, uint64_t ts, uint64_t events, uint64_t words)
{
	struct ebt_event lost = event(R, 0, ts);
	lost.kind = EBT_LOST;
	lost.flags = flags;
	lost.arg[0] = events;
	lost.arg[1] = words;
	join_events(join, &lost, 1);
}

static void test_hole(void)
{
	begin();
	push(R, 0, 10);
	push(R, 5, 20);
	join_flush(join);
	is(outs, 3, "a jump of the ordinal is a loss");
	ok(out[1].kind == EBT_LOST && out[1].arg[0] == 4 && out[1].arg[1] == 8,
	   "of exactly the events and words that are missing");
	ok(out[1].ts == 20 && EBT_LOST_SINCE(&out[1]) == 10 && out[1].domain == 1,
	   "told where the stream resumes, with the last moment before it");
	end();

	begin();
	push(R, 0, 10);
	for (uint32_t i = 1; i < 5; i++)
		push(B, i, 10 + i);
	push_lost(R, 20, 4, 8);
	push(R, 5, 20);
	join_flush(join);
	is(outs, 6, "what the ring lost and BPF has seen is no loss");
	is(session->totals.lost_events, 0, "and nothing is counted as lost");
	end();

	begin();
	push(B, 3, 10);
	join_flush(join);
	ok(outs == 2 && out[0].arg[0] == 3 && out[0].flags & EBT_F_HISTORY,
	   "what was written before the first event seen is history");
	push(B, 5, 11);
	join_flush(join);
	ok(out[0].flags & EBT_F_NO_SINCE && out[2].kind == EBT_LOST &&
		   !(out[2].flags & EBT_F_NO_SINCE),
	   "since when is not known of that, and of later losses it is");
	end();

	begin();
	processes_at(&session->processes, 9)->begun_in_run = true;
	push(B, 3, 10);
	join_flush(join);
	ok(outs == 2 && out[0].arg[0] == 3 && !(out[0].flags & EBT_F_HISTORY),
	   "but of a program that began in the run it is lost");
	end();

	begin();
	push_lost(R, 10, 3, 6);
	push(R, 3, 10);
	join_flush(join);
	ok(outs == 2 && out[0].arg[0] == 3 && !(out[0].flags & EBT_F_HISTORY),
	   "and what a ring knows to be no history is none");
	end();
}

/* Holes, and what of them comes late: {events, words} lost, {events, words} of history. */
static int totals_are(uint64_t events, uint64_t words, uint64_t history, uint64_t history_words)
{
	const struct totals *t = &session->totals;
	int good = t->lost_events == events && t->lost_words == words &&
		   t->history_events == history && t->history_words == history_words;
	if (!good)
		diag("lost %d events, %d words; before %d, %d", (int)t->lost_events,
		     (int)t->lost_words, (int)t->history_events, (int)t->history_words);
	return good;
}

static void test_give_back(void)
{
	begin();
	push(R, 0, 10);
	push(R, 4, 14);
	ok(totals_are(0, 0, 0, 0), "what is held is not counted yet");
	join_flush(join);
	ok(totals_are(3, 6, 0, 0), "a hole in a ring is of events and words");
	push_late(R, 2, 14);
	join_flush(join);
	ok(totals_are(2, 4, 0, 0),
	   "an event that comes late from the ring gives back its words, too");
	push_late(B, 1, 14);
	join_flush(join);
	ok(totals_are(1, 4, 0, 0), "BPF does not know its words");
	push_late(B, 3, 14);
	push_late(R, 3, 14);
	join_flush(join);
	ok(totals_are(0, 0, 0, 0), "with the last event of a hole no words are lost either");
	push_late(R, 3, 14);
	join_flush(join);
	ok(totals_are(0, 0, 0, 0), "a copy gives back nothing");
	end();

	begin();
	push(B, 3, 10);
	push(B, 9, 20);
	join_flush(join);
	ok(totals_are(5, 0, 3, 6), "a hole before the first event is of the history");
	push_late(B, 2, 20);
	join_flush(join);
	ok(totals_are(5, 0, 2, 6), "an event of it is taken off the history");
	push_late(R, 3, 20);
	push_late(R, 4, 20);
	join_flush(join);
	ok(totals_are(4, 0, 2, 6), "one behind the first event is not");
	push_late(R, 0, 20);
	push_late(R, 1, 20);
	join_flush(join);
	ok(totals_are(4, 0, 0, 0), "and all of it may come");
	end();
}

/* The loss was counted in an output that has ended since. */
static void test_give_back_to_past(void)
{
	begin();
	push(B, 3, 10);
	push(R, 4, 11);
	push(R, 9, 20);
	join_flush(join);
	session_next_output(session);
	push_late(R, 1, 20);
	push_late(R, 6, 20);
	join_flush(join);
	ok(totals_are(0, 0, 0, 0),
	   "what comes late of an earlier output's holes is not of this one");
	struct totals run = session_run_totals(session);
	ok(run.lost_events == 3 && run.lost_words == 6 && run.history_events == 2,
	   "and it is taken off what the run has lost");
	push(R, 12, 30);
	join_flush(join);
	push_late(R, 11, 30);
	join_flush(join);
	ok(totals_are(1, 2, 0, 0) && session->past.lost_events == 3,
	   "while this one has holes of its own, it is taken off these");
	struct ebt_event other = event(B, 4, 31), late = event(R | EBT_F_LATE, 1, 32);
	other.domain = late.domain = 2;
	join_events(join, &other, 1);
	join_flush(join);
	ok(totals_are(1, 2, 4, 8) && session->past.history_events == 2,
	   "a domain that is met in this output has its history in it");
	join_events(join, &late, 1);
	join_flush(join);
	ok(totals_are(1, 2, 3, 6) && session->past.history_events == 2 &&
		   session->past.history_words == 4,
	   "and what comes of it is taken off there, with its words");
	end();
}

/* The window of what is known to have been delivered: at, before and behind its edge. */
static void test_window(void)
{
	enum { WINDOW = 4096 };
	for (int back = WINDOW - 1; back <= WINDOW + 1; back++) {
		begin();
		push(R, 0, 10);
		join_flush(join);
		push(R, 2 * WINDOW, 20); /* next: 2 * WINDOW + 1 */
		join_flush(join);
		uint64_t lost = session->totals.lost_events;
		outs = 0;
		push_late(R, 2 * WINDOW + 1 - (uint32_t)back, 20);
		join_flush(join);
		push_late(R, 2 * WINDOW + 1 - (uint32_t)back, 20);
		join_flush(join);
		is(outs, back <= WINDOW,
		   back < WINDOW    ? "an event inside the window is delivered once"
		   : back == WINDOW ? "so is the oldest of the window"
				    : "one behind it may have been: it stays lost");
		is(lost - session->totals.lost_events, outs, "and the count says the same");
		end();
	}
	/* Delivered without a hole, so that every place of the window has been used. */
	for (int back = WINDOW - 1; back <= WINDOW + 1; back++) {
		begin();
		for (uint32_t i = 0; i < 2 * WINDOW; i++)
			push(R, i, 10 + i);
		join_flush(join);
		outs = 0;
		push_late(B, 2 * WINDOW - (uint32_t)back, 9000);
		join_flush(join);
		is(outs, 0, "a copy is dropped, before, at and behind the edge of the window");
		end();
	}
	/* A hole as long as the window, one less, one more. */
	for (uint32_t hole = WINDOW - 1; hole <= WINDOW + 1; hole++) {
		begin();
		for (uint32_t i = 0; i < WINDOW; i++)
			push(R, i, 10 + i);
		push(R, WINDOW + hole, 9000);
		join_flush(join);
		outs = 0;
		uint32_t seen = 0;
		for (uint32_t i = hole < WINDOW ? WINDOW - 1 : WINDOW; i < WINDOW + hole; i++)
			push_late(R, i, 9000);
		join_flush(join);
		for (int i = 0; i < outs; i++)
			seen += out[i].seq >= WINDOW;
		/* the last event's own place is not of the hole */
		is(session->totals.lost_events, hole < WINDOW ? 0 : hole - WINDOW + 1,
		   "all events of a hole that the window holds can come, late");
		is(seen, outs, "and no copy of those before it");
		end();
	}
}

/* A loss and the event behind it are of one moment, as rings tell them; so may be what is held. */
static void test_loss_beside(void)
{
	begin();
	push(R, 0, 10);
	for (uint32_t i = 1; i < 4; i++)
		push(B, i, 20);
	push(B, 4, 20);
	push_lost(R, 20, 3, 6);
	push(R, 4, 20);
	join_flush(join);
	is(outs, 5, "a loss between the halves of a pair does not part them");
	ok((out[4].flags & (R | B)) == (R | B) && totals_are(0, 0, 0, 0), "and tells nothing new");
	end();

	begin();
	push(R, 0, 10);
	push(B, 1, 20);
	push_lost(R | EBT_F_HISTORY, 20, 4, 6);
	push(R, 5, 20);
	push(R, 8, 21);
	join_flush(join);
	ok(outs == 6 && out[2].kind == EBT_LOST && out[2].arg[0] == 3 && out[2].ts == 20 &&
		   EBT_LOST_SINCE(&out[2]) == 20 && out[2].flags & EBT_F_HISTORY,
	   "what the ring says of a hole is of the one in front of its next event");
	ok(out[4].kind == EBT_LOST && !(out[4].flags & EBT_F_HISTORY) && out[4].arg[0] == 2,
	   "and of that one only");
	end();

	begin();
	push(R, 0, 10);
	push_lost(R, 10, EBT_LOST_UNCOUNTED, 0);
	ok(outs == 2 && out[0].kind == EBT_BEGIN,
	   "an uncounted loss goes out behind what was held");
	end();
}

/* A loss up to an ordinal, which the ring counts itself. */
static void push_sized(uint32_t seq, uint64_t ts, uint64_t events, uint64_t words)
{
	struct ebt_event lost = event(R, seq, ts);
	lost.kind = EBT_LOST;
	lost.flags = R | EBT_F_SEQ;
	lost.arg[0] = events;
	lost.arg[1] = words;
	join_events(join, &lost, 1);
}

static void test_sized_loss(void)
{
	begin();
	push(R, 0, 10);
	push_sized(5, 20, 4, 8);
	is(outs, 2, "a loss up to an ordinal is emitted at once, behind the event that was held");
	ok(out[1].kind == EBT_LOST && out[1].arg[0] == 4 && !(out[1].flags & EBT_F_SEQ),
	   "with its events, and without its ordinal");
	push_sized(9, 30, 4, 8);
	push(R, 10, 40);
	join_flush(join);
	is(session->totals.lost_events, 9,
	   "the next event reports what is missing behind it alone");
	push(B | EBT_F_LATE, 3, 40);
	join_flush(join);
	is(session->totals.lost_events, 8, "one that comes late all the same is lost no more");
	end();

	begin();
	push(R, 0, 10);
	for (uint32_t i = 1; i < 4; i++)
		push(B, i, 10 + i);
	push_sized(5, 20, 4, 8);
	join_flush(join);
	is(session->totals.lost_events, 1, "what BPF has seen of it is not lost");
	push_sized(4, 21, 4, 8);
	is(session->totals.lost_events, 1, "and where that is all of it there is no loss");
	end();

	begin();
	push(R, 0, 10);
	push_sized(1000, 20, 4, 8);
	push(R, 1, 21);
	join_flush(join);
	ok(outs == 3 && session->totals.lost_events == 4 && out[2].kind == EBT_BEGIN,
	   "a loss of another life of the ring changes nothing in this one");
	end();

	begin();
	push(R, 0, 10);
	push_sized(5, 20, 4, 8);
	push(R, 5, 30);
	join_flush(join);
	ok(totals_are(4, 8, 0, 0), "a loss up to an ordinal has events and words");
	push_late(R, 2, 40);
	join_flush(join);
	ok(totals_are(3, 6, 0, 0), "one that comes late has its words");
	for (uint32_t i = 1; i < 5; i++)
		push_late(R, i, 40);
	join_flush(join);
	ok(totals_are(0, 0, 0, 0), "when all have come none is lost");
	end();
}

int main(void)
{
	test_hole();
	test_give_back();
	test_give_back_to_past();
	test_window();
	test_loss_beside();
	test_sized_loss();
	return tap_done();
}
