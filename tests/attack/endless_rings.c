/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tries to exhaust the memory and the descriptors of a tracer that follows it: maps one sparse ring
 * of thousands of domains after the other, each a new file, and keeps them all.
 *
 *   endless_rings DIR N    N rings, then waits to be ended
 */
#include <sys/mman.h>

#include "tests/attack/forge_ring.h"

int main(int argc, char **argv)
{
	if (argc != 3)
		return 1;
	for (int i = 0; i < atoi(argv[2]); i++) {
		char path[4096];
		snprintf(path, sizeof(path), "%s/%d.events", argv[1], (int)getpid());
		int fd = forge_ring(path);
		void *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (p == MAP_FAILED)
			return 1;
		close(fd);
		unlink(path);
		usleep(20000);
	}
	pause();
	return 0;
}
