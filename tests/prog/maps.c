/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps as many MiB as its argument says, one by one, while it allocates, and prints how many it
 * got. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static void *volatile kept;

int main(int argc, char **argv)
{
	int want = argc > 1 ? atoi(argv[1]) : 0, got = 0;
	for (int i = 0; i < want; i++) {
		void *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
		got += p != MAP_FAILED;
		kept = malloc(100);
	}
	printf("%d\n", got);
	return 0;
}
