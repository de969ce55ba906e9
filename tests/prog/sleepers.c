/* SPDX-License-Identifier: BSD-2-Clause */
/* sleepers THREADS MS: as many threads at once, each of which sleeps for so many milliseconds when
 * all have begun. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static pthread_barrier_t all;
static long ms;

static void *sleeps(void *ctx)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};
	(void)ctx;
	pthread_barrier_wait(&all);
	nanosleep(&t, NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	pthread_t *thread = calloc(n + 1ull, sizeof(*thread));
	pthread_attr_t small;
	ms = argc > 2 ? atol(argv[2]) : 10;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	pthread_barrier_init(&all, NULL, n + 1);
	for (unsigned i = 0; thread && i < n; i++)
		if (pthread_create(&thread[i], &small, sleeps, NULL))
			return 1;
	pthread_barrier_wait(&all);
	for (unsigned i = 0; thread && i < n; i++)
		pthread_join(thread[i], NULL);
	free(thread);
	return 0;
}
