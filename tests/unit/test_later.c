/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/later.h"
#include "tests/tap.h"

#include <pthread.h>
#include <stdatomic.h>

#define TASKS 1000

static atomic_int done;
static pthread_barrier_t both;

static void count(void *arg)
{
	(void)arg;
	done++;
}

static void meet(void *arg)
{
	pthread_barrier_wait(&both);
	count(arg);
}

int main(void)
{
	struct later *l;
	is(later_new(&l), 0, "something can be put off");
	for (int i = 0; i < TASKS; i++)
		later_do(l, count, NULL);
	later_free(l);
	is(done, TASKS, "all of it is done before later_free() returns");
	done = 0;
	pthread_barrier_init(&both, NULL, 2);
	is(later_new(&l), 0, "and again");
	later_do(l, meet, NULL);
	later_do(l, meet, NULL);
	later_free(l);
	is(done, 2, "what waits does not keep the next from being begun");
	later_free(NULL);
	return tap_done();
}
