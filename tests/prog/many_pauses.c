/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * many_pauses THREADS MS: threads pause as fast as they can, with a phase inside of each pause, and
 * rest for 20 ms after every 500 pauses. Prints how many pauses there were, and the most ns that
 * one can have lasted: the clock is read outside of both of its probes.
 */
#include <ebtrace/probes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/prog/work.h"

#define MAX_THREADS 64

struct pauser {
	pthread_t thread;
	uint64_t until_ns, count, longest_ns;
};

static void *run(void *arg)
{
	struct pauser *p = arg;
	for (uint64_t begin, end = 0; end < p->until_ns;) {
		begin = now_ns();
		ebt_begin(EBT_PHASE_minor);
		ebt_begin(EBT_PHASE_minor_local_roots);
		ebt_end(EBT_PHASE_minor_local_roots);
		ebt_end(EBT_PHASE_minor);
		end = now_ns();
		if (end - begin > p->longest_ns)
			p->longest_ns = end - begin;
		if (++p->count % 500 == 0)
			nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct pauser p[MAX_THREADS];
	int threads = argc > 2 ? atoi(argv[1]) : 0;
	uint64_t count = 0, longest_ns = 0;
	if (threads <= 0 || threads > MAX_THREADS)
		return 2;
	for (int i = 0; i < threads; i++) {
		p[i].until_ns = now_ns() + (uint64_t)atoi(argv[2]) * 1000000u;
		if (pthread_create(&p[i].thread, NULL, run, &p[i]))
			return 1;
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(p[i].thread, NULL);
		count += p[i].count;
		if (p[i].longest_ns > longest_ns)
			longest_ns = p[i].longest_ns;
	}
	printf("%llu %llu\n", (unsigned long long)count, (unsigned long long)longest_ns);
	return 0;
}
