/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pauses COUNT: two threads pause COUNT times each, for 1 us to some 8 ms, and print for each pause
 * the least and the most ns that can lie between its two events: the clock is read on both sides of
 * both probes. Some pauses have phases inside; between them a thread waits in a phase that is no
 * pause. Prints what it saw when all is over, so that printing is in no pause.
 */
#include <ebtrace/probes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/prog/work.h"

struct pause {
	uint64_t least_ns, most_ns;
};

struct pauser {
	pthread_t thread;
	unsigned count;
	uint32_t seed;
	struct pause *pauses;
};

static void spend(uint64_t ns)
{
	uint64_t end = now_ns() + ns;
	if (ns > 200000)
		nanosleep(&(struct timespec){.tv_nsec = (long)(ns - 100000)}, NULL);
	while (now_ns() < end)
		;
}

static struct pause make_pause(uint64_t ns, unsigned i)
{
	enum ebt_phase outer = i % 5 ? EBT_PHASE_minor : EBT_PHASE_major;
	uint64_t t[4];
	t[0] = now_ns();
	ebt_begin(outer);
	t[1] = now_ns();
	if (i % 3 == 0) {
		ebt_begin(EBT_PHASE_minor_local_roots);
		spend(ns / 2);
		ebt_end(EBT_PHASE_minor_local_roots);
		spend(ns / 2);
	} else {
		spend(ns);
	}
	t[2] = now_ns();
	ebt_end(outer);
	t[3] = now_ns();
	return (struct pause){t[2] - t[1], t[3] - t[0]};
}

static void *run(void *arg)
{
	struct pauser *p = arg;
	for (unsigned i = 0; i < p->count; i++) {
		p->seed = p->seed * 1664525u + 1013904223u;
		/* As many of each magnitude. */
		uint64_t ns = (1000 + (p->seed >> 22)) << (p->seed >> 8) % 13;
		p->pauses[i] = make_pause(ns, i);
		ebt_begin(EBT_PHASE_domain_condition_wait);
		spend(20000);
		ebt_end(EBT_PHASE_domain_condition_wait);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct pauser p[2];
	if (argc != 2)
		return 2;
	for (unsigned i = 0; i < 2; i++) {
		p[i] = (struct pauser){.count = (unsigned)atoi(argv[1]), .seed = i + 1};
		p[i].pauses = calloc(p[i].count, sizeof(*p[i].pauses));
		if (!p[i].pauses || pthread_create(&p[i].thread, NULL, run, &p[i]))
			return 1;
	}
	for (unsigned i = 0; i < 2; i++) {
		pthread_join(p[i].thread, NULL);
		for (unsigned k = 0; k < p[i].count; k++)
			printf("%llu %llu\n", (unsigned long long)p[i].pauses[k].least_ns,
			       (unsigned long long)p[i].pauses[k].most_ns);
		free(p[i].pauses);
	}
	return 0;
}
