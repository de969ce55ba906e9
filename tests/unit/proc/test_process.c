/* SPDX-License-Identifier: BSD-2-Clause */
/* What /proc says of a process: of this one. */
#include "proc/process.h"
#include "tests/tap.h"

#include <pthread.h>
#include <unistd.h>

static void *wait_in(void *barrier)
{
	pthread_barrier_wait(barrier);
	return NULL;
}

static void test_count(void)
{
	pthread_barrier_t barrier;
	pthread_t thread;
	ok(process_has_one_thread(getpid()), "we have one thread");
	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&thread, NULL, wait_in, &barrier))
		abort();
	ok(!process_has_one_thread(getpid()), "and now two");
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	ok(!process_has_one_thread(0), "of no process that is not known");
}

int main(void)
{
	test_count();
	return tap_done();
}
