// SPDX-License-Identifier: BSD-2-Clause
/* Stacks of this process, made here, on their way to the events that they are of. */
#include "core/kinds.h"
#include "source/event_stacks.h"
#include "tests/tap.h"

#include <errno.h>
#include <unistd.h>

#define SLOT 3u

static struct session *session;
static struct event_stacks *s;
static struct code_map map;
static struct event_calls calls;
static struct event_stacks_of of;

static void begin(const char *const *globs, unsigned count)
{
	of = (struct event_stacks_of){.map = &map, .calls = &calls, .pid = getpid()};
	if (session_new(&session) || code_frames_new(session, &of.frames) ||
	    event_stacks_new(session, globs, count, &s))
		abort();
}

static void end(void)
{
	event_stacks_free(s);
	event_calls_done(&calls);
	code_map_done(&map);
	code_frames_free(of.frames);
	session_free(session);
}

/* Returns where it was called. */
__attribute__((noinline)) static uint64_t here(void)
{
	return (uint64_t)__builtin_return_address(0);
}

static int receive(uint32_t tid, uint64_t ts, const uint64_t *address, size_t count)
{
	struct {
		struct ebt_stack_record rec;
		uint64_t address[EBT_STACK_FRAMES];
	} r = {.rec = {.head = {.type = EBT_RECORD_STACK, .slot = SLOT, .tid = tid}, .ts = ts}};
	memcpy(r.address, address, count * sizeof(*address));
	return event_stacks_receive(s, &of, &r.rec, count * sizeof(*address));
}

/* The number of frames that an event gets. */
static size_t give(uint32_t slot, uint32_t tid, uint64_t ts, uint16_t kind)
{
	struct ebt_event ev = {.ts = ts, .tid = tid, .kind = kind, .id = 11, .domain = 0};
	event_stacks_give(s, slot, &ev);
	size_t n = stacks_frames(session->stacks, ev.stack, NULL, 0);
	session_drop_event(session, &ev);
	return n;
}

static void test_pairs(void)
{
	uint64_t at[3] = {here(), here(), here()};
	begin(NULL, 0);
	ok(!receive(7, 100, at, 3) && !receive(8, 100, at, 2), "stacks of two threads");
	ok(give(SLOT, 8, 100, EBT_BEGIN) == 2 && give(SLOT, 7, 100, EBT_BEGIN) == 3,
	   "each is given to the event of its thread");
	ok(give(SLOT, 7, 100, EBT_BEGIN) == 0, "once");
	receive(7, 200, at, 3);
	ok(give(SLOT, 7, 201, EBT_BEGIN) == 0 && give(SLOT, 7, 200, EBT_BEGIN) == 0,
	   "that of an event that was lost is given to no other");
	receive(7, 300, at, 3);
	ok(give(SLOT + 1, 7, 300, EBT_BEGIN) == 0, "nor to another process's");
	receive(7, 301, at, 2);
	ok(give(SLOT, 7, 301, EBT_BEGIN) == 2, "a thread's next one replaces it");
	for (uint32_t tid = 1; tid < 2000; tid++)
		receive(tid, 400, at, 1 + tid % 3);
	ok(give(SLOT, 1999, 400, EBT_BEGIN) == 2, "of many that wait the last ones stay");
	end();
}

static void test_cuts(void)
{
	uint64_t good = here(), at[EBT_STACK_FRAMES];
	begin(NULL, 0);
	receive(7, 1, (uint64_t[]){good, good, 4096, good}, 4);
	ok(give(SLOT, 7, 1, EBT_BEGIN) == 3,
	   "what is mapped nowhere ends a stack, which is marked");
	receive(7, 2, (uint64_t[]){good, good, good - 1, good}, 4);
	ok(give(SLOT, 7, 2, EBT_BEGIN) == 3, "so does what is behind no call");
	receive(7, 3, (uint64_t[]){4096, good}, 2);
	ok(give(SLOT, 7, 3, EBT_BEGIN) == 1, "also at once");
	for (size_t i = 0; i < EBT_STACK_FRAMES; i++)
		at[i] = good;
	receive(7, 4, at, EBT_STACK_FRAMES);
	ok(give(SLOT, 7, 4, EBT_BEGIN) == EBT_STACK_FRAMES + 1, "one without an end is marked");
	ok(!receive(7, 5, at, 0) && give(SLOT, 7, 5, EBT_BEGIN) == 0, "an empty one is none");
	end();
}

static void test_choice(void)
{
	begin((const char *const[]){"minor", "!end", "unit"}, 3);
	const struct ebt_stack_choice *c = event_stacks_choice(s);
	ok(c->ids[0][11] == 1ull << EBT_BEGIN && !c->ids[0][10], "by name and kind, of our own");
	ok(c->ids[4][11] == 1ull << EBT_BEGIN && c->ids[1][11] != c->ids[4][11],
	   "by the numbers of each release");
	ok(!(c->kinds >> EBT_BEGIN & 1) && !(c->kinds >> EBT_END & 1) && c->kinds >> EBT_UNIT & 1,
	   "of user events by kind");
	uint64_t at = here();
	receive(7, 1, &at, 1);
	ok(give(SLOT, 7, 1, EBT_END) == 0, "what is not selected gets none");
	receive(7, 2, &at, 1);
	ok(give(SLOT, 7, 2, EBT_BEGIN) == 1, "what is selected has one");
	end();
}

int main(void)
{
	test_pairs();
	test_cuts();
	test_choice();
	return tap_done();
}
