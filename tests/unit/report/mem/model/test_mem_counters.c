/* SPDX-License-Identifier: BSD-2-Clause */
/* The live and promoted bytes that timelines show, by few events of one process. */
#include "report/mem/model/counters.h"
#include "tests/tap.h"

#define MS 1000000ull

static struct session *session;
static struct mem_counters counters;
static struct mem_counters_value value;
static uint32_t process;

static int event(uint16_t kind, uint64_t ts, uint64_t obj, uint64_t samples)
{
	struct ebt_event ev = {
		.kind = kind, .ts = ts, .process = process, .pos = samples, .arg = {obj}};
	value = (struct mem_counters_value){0};
	return mem_counters_event(&counters, &ev, &value);
}

/* Every word is sampled; it has 8 bytes. */
static void test_live(void)
{
	is(event(EBT_ALLOC, 1 * MS, 1, 10), 0, "the first event makes no value");
	is(event(EBT_ALLOC, 3 * MS / 2, 2, 5), 1,
	   "the next one makes that of the moment before it");
	ok(value.ts == 1 * MS && value.process == process && value.live_bytes == 80,
	   "with what lives then");
	is(event(EBT_COLLECT, 2 * MS - 1, 1, 0), 0, "within a millisecond there is no other");
	is(event(EBT_PROMOTE, 4 * MS, 2, 0), 1, "behind it there is");
	is(value.live_bytes, 40, "without what was collected");
	event(EBT_COLLECT, 6 * MS, 77, 0);
	is(value.promoted_bytes, 40, "promoted objects count");
	event(EBT_COLLECT, 8 * MS, 2, 0);
	is(value.live_bytes, 40, "what was never allocated changes nothing");
}

static void test_again(void)
{
	event(EBT_ALLOC, 20 * MS, 3, 100);
	is(value.live_bytes, 0, "all were collected");
	event(EBT_ALLOC, 30 * MS, 3, 4);
	is(value.live_bytes, 800, "an object lives");
	event(EBT_ALLOC, 40 * MS, 4, 1);
	is(value.live_bytes, 32, "its number again stands for another one, which replaces it");
	ok(mem_counters_forget(&counters, process, &value) && value.live_bytes == 40,
	   "the last value comes when the process is forgotten");
	ok(!mem_counters_forget(&counters, process, &value), "once");
}

int main(void)
{
	if (session_new(&session) || processes_of(&session->processes, 7, &process))
		abort();
	counters.session = session;
	test_live();
	test_again();
	mem_counters_done(&counters);
	session_free(session);
	return tap_done();
}
