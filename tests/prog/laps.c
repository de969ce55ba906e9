// SPDX-License-Identifier: BSD-2-Clause
/*
 * Functions, spans and a phase with known shares of the CPU time of their thread:
 *
 *     laps SECONDS old|new [THREADS]
 *
 *	                        old   new
 *	span request   parse     20    20
 *	               query     30    10
 *	               cache      -    10
 *	       phase   sweep     10    10
 *	span reply     render    20    30
 *	  span flush   pack      10     -
 *	no span        poll      10    20
 *
 * The lengths of laps are random, so that no timer keeps step with them.
 */
#include <ebtrace/probes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/prog/work.h"

static double seconds;
static int is_new, request, reply, flush;

WORK(parse)
WORK(query)
WORK(cache)
WORK(sweep)
WORK(render)
WORK(pack)
WORK(poll_all)

static uint64_t lap(uint64_t x, unsigned percent)
{
	ebt_span_begin(request);
	x = parse(x, 20 * percent);
	x = query(x, (is_new ? 10 : 30) * percent);
	if (is_new)
		x = cache(x, 10 * percent);
	ebt_begin(EBT_PHASE_major_sweep);
	x = sweep(x, 10 * percent);
	ebt_end(EBT_PHASE_major_sweep);
	ebt_span_end(request);
	ebt_span_begin(reply);
	if (!is_new) {
		ebt_span_begin(flush);
		x = pack(x, 10 * percent);
		ebt_span_end(flush);
	}
	x = render(x, (is_new ? 30 : 20) * percent);
	ebt_span_end(reply);
	return poll_all(x, (is_new ? 20 : 10) * percent);
}

static void *run(void *ctx)
{
	uint64_t x = (uint64_t)(uintptr_t)ctx;
	while (cpu_seconds() < seconds)
		x = lap(x, 1 + (unsigned)(x >> 49));
	return (void *)(uintptr_t)x;
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 3 ? (unsigned)atoi(argv[3]) % (WORK_THREADS + 1) : 0;
	if (argc < 3)
		return 2;
	seconds = atof(argv[1]);
	is_new = !strcmp(argv[2], "new");
	request = ebt_register("request", EBT_USER_SPAN);
	reply = ebt_register("reply", EBT_USER_SPAN);
	flush = ebt_register("flush", EBT_USER_SPAN);
	return work_in_threads(threads, run) == 0;
}
