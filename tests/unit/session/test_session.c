/* SPDX-License-Identifier: BSD-2-Clause */
/* session: payloads whose memory is used again. */
#include "session/event_stack.h"
#include "session/session.h"
#include "tests/tap.h"

#include <malloc.h>

static void test_blobs(struct session *s)
{
	struct ebt_event a = {0}, b = {0};
	size_t n;
	session_put_blob(s, &a, "hello", 5);
	session_put_blob(s, &b, "", 0);
	ok(a.flags & EBT_F_PAYLOAD && !memcmp(session_blob(s, &a, &n), "hello", 5) && n == 5,
	   "a payload is found by its event");
	session_blob(s, &b, &n);
	is(n, 0, "an empty one has no bytes");
	ok(!((uintptr_t)session_blob(s, &a, &n) & 15) && !((uintptr_t)session_blob(s, &b, &n) & 15),
	   "each begins where any type may");
	struct ebt_event copy = a;
	session_drop_event(s, &a);
	ok(!(a.flags & EBT_F_PAYLOAD) && !session_blob(s, &a, &n), "when given back it is gone");
	session_drop_event(s, &a);
	session_drop_event(s, &b);
	ok(!session_blob(s, &copy, &n), "also by a copy of its event, when all of them are");
	char bytes[160] = {0};
	struct mallinfo2 before = mallinfo2();
	for (int i = 0; i < 1000000; i++) {
		struct ebt_event ev = {0};
		session_put_blob(s, &ev, bytes, (size_t)(i % 160));
		session_drop_event(s, &ev);
	}
	ok(mallinfo2().uordblks <= before.uordblks + 65536,
	   "a million payloads need no more memory than a few");
}

/* Payloads of several events that lie in one place, `step` bytes apart. */
static bool puts_at_once(struct session *s, size_t step)
{
	static char data[200000];
	struct ebt_event ev[3] = {{.flags = EBT_F_PAYLOAD, .arg = {8, 5}},
				  {.arg = {7, 9}},
				  {.flags = EBT_F_PAYLOAD, .arg = {8 + step, 6}}};
	size_t n;
	memcpy(data + 8, "first", 5);
	memcpy(data + 8 + step, "second", 6);
	if (session_put_blobs(s, ev, 3, 2, data))
		return false;
	memset(data, 0, sizeof(data));
	bool found = !memcmp(session_blob(s, &ev[0], &n), "first", 5) && n == 5 &&
		     !memcmp(session_blob(s, &ev[2], &n), "second", 6) && n == 6 &&
		     ev[1].arg[0] == 7 && ev[1].arg[1] == 9;
	session_drop_event(s, &ev[0]);
	found &= !memcmp(session_blob(s, &ev[2], &n), "second", 6) && session_blob_bytes(s) > 0;
	session_drop_events(s, ev, 3);
	return found && !session_blob_bytes(s);
}

static void test_at_once(struct session *s)
{
	ok(puts_at_once(s, 8), "payloads behind each other are each found by its event");
	ok(puts_at_once(s, 30000) && puts_at_once(s, 100000), "so are those far from each other");
}

/* Payloads that stay while others come and go, in any order. */
static void test_order(struct session *s)
{
	enum { OUT = 5000 };
	static struct ebt_event ev[OUT];
	unsigned wrong = 0;
	size_t n;
	for (uint64_t i = 0; i < 20 * OUT; i++) {
		struct ebt_event *e = &ev[i * 7919 % OUT];
		uint64_t bytes[40] = {i, [39] = i};
		const uint64_t *was = session_blob(s, e, &n);
		wrong += i >= OUT ? !was || was[0] != was[39] || n != sizeof(bytes) : was != NULL;
		session_drop_event(s, e);
		wrong += session_put_blob(s, e, bytes, sizeof(bytes)) != 0;
	}
	is(wrong, 0, "payloads that are out stay as they are");
	ok(session_blob_bytes(s) < 2 * OUT * 320, "their memory is not much more than they need");
	session_drop_events(s, ev, OUT);
	is(session_blob_bytes(s), 0, "and is given back with the last of them");
}

/* Around each size of the memory that is recycled, and beyond the largest. */
static void test_sizes(struct session *s)
{
	static char bytes[40000], other[40000];
	bool whole = true, enough = true;
	memset(bytes, 'a', sizeof(bytes));
	memset(other, 'b', sizeof(other));
	for (size_t size = 16; size <= 32768; size *= 2) {
		for (size_t len = size - 1; len <= size + 1; len++) {
			struct ebt_event a = {0}, b = {0};
			size_t n;
			session_put_blob(s, &a, bytes, len);
			session_put_blob(s, &b, other, len);
			enough &= session_blob_bytes(s) >= 2 * len;
			whole &= !memcmp(session_blob(s, &a, &n), bytes, len) && n == len;
			whole &= !memcmp(session_blob(s, &b, &n), other, len) && n == len;
			session_drop_event(s, &a);
			session_drop_event(s, &b);
		}
	}
	ok(whole && enough, "payloads of every size are whole, in memory of their own");
	is(session_blob_bytes(s), 0, "what is given back is not counted");
}

/* A file of a limited size ends, and the next one begins. */
static void test_next_output(struct session *s)
{
	s->totals = (struct totals){.events = 5, .timed = 5, .first_ns = 100, .last_ns = 200};
	session_next_output(s);
	ok(!s->totals.events && !s->run_begin.known,
	   "an output that begins counts from none, where the run began is not known still");
	s->run_begin = moment_at(50);
	s->totals = (struct totals){.events = 3, .timed = 3, .first_ns = 210, .last_ns = 300};
	session_next_output(s);
	ok(s->run_begin.known && s->run_begin.ns == 300,
	   "where it is, the part of the run that is in an output begins behind the one before");
	s->totals = (struct totals){.events = 1, .timed = 1, .first_ns = 250, .last_ns = 250};
	session_next_output(s);
	is(s->run_begin.ns, 300, "and never goes back");
	struct totals run = session_run_totals(s);
	ok(run.events == 9 && run.first_ns == 100 && run.last_ns == 250,
	   "the run has what all of them have");
}

/* One frame whose name alone is longer than a stack's text may be, and one beside it. */
static void test_long_frame(struct session *s)
{
	static char name[EVENT_STACK_BYTES + 100];
	memset(name, 'n', sizeof(name));
	struct frame_position at = {.function = strings_put(s->strings, name, sizeof(name))};
	uint32_t frame = frames_put(s->frames, &(struct frame){.position = &at, .count = 1});
	uint32_t one = stacks_push(s->stacks, 0, frame), two = stacks_push(s->stacks, one, frame);
	is(event_stack_left_out(s, one), 0, "of a stack one function is shown, however long");
	is(event_stack_left_out(s, two), 1, "and of two such functions one");
	s->max_stack = 0;
	is(event_stack_left_out(s, two), 0, "where all are asked for, all are shown");
	s->max_stack = SESSION_MAX_STACK;
}

/* What must be given back before the tables of a session begin again. */
static void test_owned(struct session *s)
{
	struct ebt_event ev[3] = {0};
	uint32_t frame = frames_put(s->frames, &(struct frame){.address = 1, .has_address = true});
	uint32_t stack = stacks_push(s->stacks, 0, frame);
	ok(!session_has_owned(s), "a session whose events have all been dropped owns nothing");
	session_put_stack(s, &ev[0], 0);
	ok(!session_has_owned(s), "nor does it by an event without a stack");
	session_put_stack(s, &ev[0], stack);
	session_put_stack(s, &ev[2], stack);
	session_drop_event(s, &ev[0]);
	ok(!ev[0].stack && session_has_owned(s), "but it does as long as an event has one");
	session_drop_events(s, ev, 3);
	ok(!ev[2].stack && !session_has_owned(s), "until that is dropped, too");
	session_put_blob(s, &ev[1], "payload", 7);
	ok(session_has_owned(s), "and as long as one has a payload");
	session_drop_events(s, ev, 3);
	ok(!session_has_owned(s), "until then");
}

int main(void)
{
	struct session *s;
	if (session_new(&s))
		return 1;
	test_blobs(s);
	test_sizes(s);
	test_at_once(s);
	test_order(s);
	test_next_output(s);
	test_long_frame(s);
	test_owned(s);
	session_free(s);
	session_free(NULL);
	return tap_done();
}
