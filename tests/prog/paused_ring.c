/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * paused_ring ROUNDS: two threads with a ring each. In a round the second one is in a phase while
 * the first one pauses the rings, for 1 ms. The phase ends behind that, in every second round
 * before. Then follows a phase that nothing cuts. Begins when it has read a byte.
 */
#include <ebtrace/probes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct rounds {
	pthread_barrier_t turn;
	int count;
};

static void sleep_1_ms(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void *collect(void *arg)
{
	struct rounds *r = arg;
	for (int i = 0; i < r->count; i++) {
		ebt_begin(EBT_PHASE_major);
		ebt_begin(EBT_PHASE_major_mark);
		sleep_1_ms();
		pthread_barrier_wait(&r->turn); /* the phase is open */
		pthread_barrier_wait(&r->turn); /* the rings are paused */
		if (i % 2)
			ebt_end(EBT_PHASE_major_mark);
		pthread_barrier_wait(&r->turn);
		pthread_barrier_wait(&r->turn); /* they go on */
		if (i % 2 == 0)
			ebt_end(EBT_PHASE_major_mark);
		ebt_begin(EBT_PHASE_minor);
		sleep_1_ms();
		ebt_end(EBT_PHASE_minor);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct rounds r = {.count = argc > 1 ? atoi(argv[1]) : 8};
	pthread_t thread;
	int go = getchar();
	ebt_counter(EBT_COUNTER_minor_allocated, 1);
	pthread_barrier_init(&r.turn, NULL, 2);
	if (go == EOF || pthread_create(&thread, NULL, collect, &r))
		return 1;
	for (int i = 0; i < r.count; i++) {
		ebt_begin(EBT_PHASE_minor);
		pthread_barrier_wait(&r.turn);
		ebt_pause();
		pthread_barrier_wait(&r.turn);
		sleep_1_ms();
		pthread_barrier_wait(&r.turn);
		ebt_resume();
		pthread_barrier_wait(&r.turn);
	}
	pthread_join(thread, NULL);
	return 0;
}
