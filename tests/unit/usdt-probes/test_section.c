// SPDX-License-Identifier: BSD-2-Clause
/* The recorder's critical section: a handler that interrupts its own thread in it is refused and
 * does not wait; what it notes is there when the thread leaves. */
#include <pthread.h>
#include <signal.h>

#include "tests/tap.h"
#include "tests/unit/interrupts.h"
#include "usdt-probes/preload/section.h"

#define THREADS 4
#define ROUNDS	200000

static volatile sig_atomic_t refused, entered;
static unsigned long shared; /* under the lock */
static uint64_t noted;

static void handle(int signo)
{
	(void)signo;
	if (!ebt_section_enter()) {
		refused++;
		noted += ebt_section_note(&noted, noted + 1);
		return;
	}
	entered++;
	if (ebt_section_lock())
		ebt_section_unlock();
	ebt_section_leave();
}

static void test_handler(void)
{
	const void *address;
	uint64_t obj;
	ok(ebt_section_enter() && ebt_section_lock(), "a thread is in the section");
	raise(SIGUSR1);
	raise(SIGUSR1);
	ok(refused == 2 && !entered, "its handlers are refused");
	ok(ebt_section_next(&address, &obj) && obj == 2 && address == &noted,
	   "what they note is there");
	ok(ebt_section_next(&address, &obj) && obj == 1 && !ebt_section_next(&address, &obj),
	   "all of it, once");
	ebt_section_unlock();
	ebt_section_leave();
	raise(SIGUSR1);
	ok(refused == 2 && entered == 1, "behind it they are in it themselves");
}

/* Notes without a hole, and none twice. */
static void test_interrupted(void)
{
	struct interrupts in;
	const void *address;
	uint64_t obj, before = noted, sum = 0, want = 0;
	refused = entered = 0;
	interrupts_begin(&in, handle, 200);
	while (refused < 500 || entered < 50) {
		interrupt_again(&in, (uint64_t)refused + (uint64_t)entered);
		if (!ebt_section_enter() || !ebt_section_lock())
			abort();
		for (volatile int i = 0; i < 2000; i++)
			;
		while (ebt_section_next(&address, &obj))
			sum += obj - before;
		ebt_section_unlock();
		ebt_section_leave();
		for (volatile int i = 0; i < 200; i++)
			;
	}
	interrupts_end();
	while (ebt_section_next(&address, &obj))
		sum += obj - before;
	for (uint64_t i = 1; i <= noted - before; i++)
		want += i;
	is(sum, want, "of a timer's handlers each note is found once");
}

static void *count(void *arg)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		if (!ebt_section_enter() || !ebt_section_lock())
			abort();
		shared++;
		ebt_section_unlock();
		ebt_section_leave();
	}
	return arg;
}

int main(void)
{
	pthread_t t[THREADS];
	signal(SIGUSR1, handle);
	test_handler();
	test_interrupted();
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, count, NULL);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	is(shared, (unsigned long)THREADS * ROUNDS, "one thread at a time has the lock");
	return tap_done();
}
