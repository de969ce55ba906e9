/* SPDX-License-Identifier: BSD-2-Clause */
/* When the states of page heaps are due as counters: not too often, and none that lasts is left
 * out. */
#include "report/pages/model/counters.h"

#include <stdlib.h>

#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"

#define US 1000u

static struct session *session;
static struct page_counters counters;

static void begin(void)
{
	if (session_new(&session) || enter_processes(session, 4))
		abort();
	counters = (struct page_counters){.session = session};
}

static void finish(void)
{
	page_counters_done(&counters);
	session_free(session);
}

static struct ebt_event allocated(uint32_t process, uint64_t us)
{
	return (struct ebt_event){
		.ts = us * US, .kind = EBT_PAGE_ALLOC, .process = process, .arg = {us * 8192, 1}};
}

/* The moment of the state that was due before the event, in us; -1: none. */
static int64_t push(uint32_t process, uint64_t us)
{
	struct ebt_event ev = allocated(process, us);
	struct page_counters_state state;
	bool due = page_counters_due(&counters, &ev, &state);
	if (page_counters_event(&counters, &ev) || (due && state.process != process))
		abort();
	return due ? (int64_t)(state.ts / US) : -1;
}

static void test_due(void)
{
	struct page_counters_state state;
	begin();
	is(push(1, 100), -1, "before the first event there is no state");
	is(push(1, 100), -1, "nor between events of one moment");
	is(push(1, 200), 100, "the first one is due with the next moment");
	is(push(1, 300), -1, "one that follows soon is not");
	is(push(1, 1099), -1, "until the time between two has passed");
	is(push(1, 1100), 1099, "but then");
	is(push(1, 9000), 1100, "one that has lasted is due");
	is(push(1, 9001), 9000, "and so is the one that ended it");
	is(push(1, 9002), -1, "but no third one");
	ok(page_counters_last(&counters, 1, &state) && state.ts == 9002 * US,
	   "the last one is due at the end");
	ok(!page_counters_last(&counters, 1, &state), "once");
	finish();

	unsigned due = 0;
	begin();
	for (uint64_t us = 0; us < 20000; us += 10)
		due += push(1, us) >= 0;
	ok(due >= 19 && due <= 40, "2,000 changes within 20 ms are %u states", due);
	finish();
}

static void test_processes(void)
{
	uint32_t process;
	begin();
	push(1, 100);
	push(2, 150);
	is(push(1, 200), 100, "each process has states of its own");
	is(push(2, 210), 150, "in its own time");
	page_counters_forget(&counters, 1);
	ok(page_counters_any(&counters, &process) && process == 2,
	   "one that is forgotten has none");
	page_counters_forget(&counters, 2);
	ok(!page_counters_any(&counters, &process), "then there is none");
	finish();
}

int main(void)
{
	test_due();
	test_processes();
	return tap_done();
}
