/* SPDX-License-Identifier: BSD-2-Clause */
/* runtime [N]: a runtime in C and C++20. It waits for a line or the end of its input, collects N
 * times, and prints the number of its events. */
#include <ebtrace/probes.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000;
	while (getchar() != '\n' && !feof(stdin))
		;
	for (long i = 0; i < n; i++) {
		ebt_begin(EBT_PHASE_minor);
		ebt_counter(EBT_COUNTER_minor_promoted, (uint64_t)i);
		ebt_end(EBT_PHASE_minor);
	}
	printf("begin %ld, counter %ld, end %ld, lost 0\n", n, n, n);
	return 0;
}
