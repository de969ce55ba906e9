// SPDX-License-Identifier: BSD-2-Clause
/*
 * Functions with known shares of the CPU time of their thread, in spans that are markers alone:
 *
 *     marked SECONDS [THREADS]
 *
 *	shop:request_begin~shop:request_end	parse	30
 *	  shop:lookup_begin~shop:lookup_end	query	20
 *	shop:reply_begin~shop:reply_end		render	40
 *	no span					poll	10
 *
 * The lengths of laps are random, so that no timer keeps step with them.
 */
#include <stdint.h>
#include <stdlib.h>

#include "tests/prog/work.h"

/* A marker without arguments, as <sys/sdt.h> makes it. */
#define MARK(name)                                                    \
	__asm__ volatile("990: nop\n"                                 \
			 ".pushsection .note.stapsdt,\"\",\"note\"\n" \
			 ".balign 4\n"                                \
			 ".4byte 992f-991f, 994f-993f, 3\n"           \
			 "991: .asciz \"stapsdt\"\n"                  \
			 "992: .balign 4\n"                           \
			 "993: .8byte 990b, 0, 0\n"                   \
			 ".asciz \"shop\"\n.asciz \"" #name "\"\n"    \
			 ".byte 0\n"                                  \
			 "994: .balign 4\n"                           \
			 ".popsection\n" ::                           \
				 : "memory")

static double seconds;

WORK(parse)
WORK(query)
WORK(render)
WORK(poll_all)

static uint64_t lap(uint64_t x, unsigned percent)
{
	MARK(request_begin);
	x = parse(x, 30 * percent);
	MARK(lookup_begin);
	x = query(x, 20 * percent);
	MARK(lookup_end);
	MARK(request_end);
	MARK(reply_begin);
	x = render(x, 40 * percent);
	MARK(reply_end);
	return poll_all(x, 10 * percent);
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
	unsigned threads = argc > 2 ? (unsigned)atoi(argv[2]) % (WORK_THREADS + 1) : 0;
	seconds = argc > 1 ? atof(argv[1]) : 1;
	return work_in_threads(threads, run) == 0;
}
