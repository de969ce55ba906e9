// SPDX-License-Identifier: BSD-2-Clause
/*
 * many_rings COUNT: records, and maps COUNT files more that are copies of its ring and bear names
 * of its rings, as that many runtimes would. It prints a line, and ends at the next line on stdin.
 */
#include <ebtrace/probes.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file of this many bytes that is named like the ring, but for a number. NULL: none. */
static void *map_copy(const char *ring, int number, size_t bytes)
{
	char path[512];
	snprintf(path, sizeof(path), "%.*s-%d.events", (int)(strlen(ring) - strlen(".events")),
		 ring, number);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	void *at = fd < 0 || ftruncate(fd, (off_t)bytes)
			   ? MAP_FAILED
			   : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

int main(int argc, char **argv)
{
	struct stat st;
	if (argc < 2 || ebt_start() || stat(ebt_ring_path(), &st))
		return 1;
	ebt_begin(EBT_PHASE_minor);
	ebt_end(EBT_PHASE_minor);
	size_t bytes = (size_t)st.st_size;
	int fd = open(ebt_ring_path(), O_RDONLY | O_CLOEXEC);
	void *ring = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	for (int i = 0; i < atoi(argv[1]); i++) {
		void *copy = map_copy(ebt_ring_path(), i + 2, bytes);
		if (ring == MAP_FAILED || !copy)
			return 1;
		memcpy(copy, ring, bytes);
	}
	puts("ready");
	fflush(stdout);
	getchar();
	return 0;
}
