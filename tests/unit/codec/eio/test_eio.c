/* SPDX-License-Identifier: BSD-2-Clause */
/* The meaning of single events of Eio: each shape, every other shape, and every length. */
#include "codec/eio/eio.h"

#include "tests/tap.h"

static const unsigned char bytes[] = {1, 2, 0, 0, 0, 0, 0, 0x80, 5, 0, 0, 0, 0, 0, 0, 0, 'x', 'y'};

static bool decode(enum eio_event e, uint16_t kind, int64_t value, size_t n, struct eio_record *r)
{
	struct ebt_event ev = {.kind = kind, .sarg = {value}};
	return eio_decode(e, &ev, n ? bytes : NULL, n, r);
}

static void test_names(void)
{
	unsigned wrong = 0;
	for (unsigned e = EIO_NONE + 1; e < EIO_EVENTS; e++)
		wrong += eio_event_named(eio_event_name(e)) != e;
	is(wrong, 0, "each event is found by its name");
	is(eio_event_named("eio."), EIO_NONE, "the prefix alone names none");
	is(eio_event_named("eio.fibers"), EIO_NONE, "a longer name names none");
	is(eio_event_named("eio.fib"), EIO_NONE, "nor does a shorter one");
	is(eio_event_named(""), EIO_NONE, "nor does an empty one");
	ok(!eio_event_name(EIO_NONE) && !eio_event_name(EIO_EVENTS), "what is no event has none");
}

static void test_types(void)
{
	is_str(eio_type_name(EIO_SWITCH), "switch", "a type has its name");
	is_str(eio_type_name(EIO_MUTEX), "mutex", "the last type, too");
	unsigned named = 0;
	for (unsigned t = 0; t < 256; t++)
		named += eio_type_name((uint8_t)t) != NULL;
	is(named, 9, "there are nine types");
}

static void test_shapes(void)
{
	struct eio_record r;
	ok(decode(EIO_CREATE_FIBER, EBT_CUSTOM, 0, 16, &r) && r.id == INT64_MIN + 0x201 &&
		   r.context == 5 && !r.text,
	   "a fiber is made in a context: two ids of 64 bits, with a sign");
	ok(decode(EIO_FIBER, EBT_INT, -7, 0, &r) && r.id == -7, "an id is the value of an int");
	ok(decode(EIO_CREATE_CC, EBT_CUSTOM, 0, 9, &r) && r.type == 5,
	   "an id has a type behind it");
	ok(decode(EIO_NAME, EBT_CUSTOM, 0, 18, &r) && r.text_bytes == 10 && r.text[9] == 'y',
	   "a text ends with the payload");
	ok(decode(EIO_NAME, EBT_CUSTOM, 0, 8, &r) && r.text && !r.text_bytes,
	   "a text may be empty");
	ok(decode(EIO_SUSPEND_FIBER, EBT_CUSTOM, 0, 0, &r) && r.text && !r.text_bytes,
	   "so may an operation without a payload");
	ok(decode(EIO_SUSPEND_DOMAIN, EBT_SPAN_BEGIN, 0, 0, &r) && r.begins, "a span begins");
	ok(decode(EIO_SUSPEND_DOMAIN, EBT_SPAN_END, 0, 0, &r) && !r.begins, "and ends");
	ok(decode(EIO_EXIT_CC, EBT_UNIT, 0, 0, &r), "an end of a context is a unit");
}

/* By the bytes that each must have; -1: it is no custom event. */
static void test_lengths(void)
{
	static const int least[EIO_EVENTS] = {
		[EIO_CREATE_FIBER] = 16, [EIO_FIBER] = -1,	    [EIO_EXIT_FIBER] = -1,
		[EIO_SUSPEND_FIBER] = 0, [EIO_SUSPEND_DOMAIN] = -1, [EIO_CREATE_CC] = 9,
		[EIO_EXIT_CC] = -1,	 [EIO_CREATE_OBJ] = 9,	    [EIO_NAME] = 8,
		[EIO_GET] = -1,		 [EIO_TRY_GET] = -1,	    [EIO_PUT] = -1,
		[EIO_ENTER_SPAN] = 0,	 [EIO_EXIT_SPAN] = -1,	    [EIO_LOG] = 0,
		[EIO_ERROR] = 8,	 [EIO_DOMAIN_SPAWN] = -1,
	};
	unsigned wrong = 0;
	for (unsigned e = EIO_NONE + 1; e < EIO_EVENTS; e++)
		for (size_t n = 0; n <= sizeof(bytes); n++) {
			struct eio_record r;
			bool want = least[e] >= 0 && n >= (size_t)least[e];
			wrong += decode(e, EBT_CUSTOM, 0, n, &r) != want;
		}
	is(wrong, 0, "a payload that is too short is not decoded, whatever the event");
	struct ebt_event ev = {.kind = EBT_CUSTOM};
	struct eio_record r;
	ok(!eio_decode(EIO_LOG, &ev, NULL, 8, &r), "nor is one that is missing");
}

static void test_kinds(void)
{
	unsigned decoded = 0;
	struct eio_record r;
	for (unsigned e = EIO_NONE + 1; e < EIO_EVENTS; e++)
		for (uint16_t kind = 0; kind < EBT_KINDS; kind++)
			decoded += decode(e, kind, 1, sizeof(bytes), &r);
	is(decoded, 8 + 6 + 2 + 2, "each event is of one kind alone, a span of two");
	ok(!decode(EIO_NONE, EBT_UNIT, 0, 0, &r) && !decode(EIO_EVENTS, EBT_UNIT, 0, 0, &r),
	   "what is no event is not decoded");
}

int main(void)
{
	test_names();
	test_types();
	test_shapes();
	test_lengths();
	test_kinds();
	return tap_done();
}
