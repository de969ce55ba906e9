/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Has the ring of another process mapped, as any reader of rings has, or even writable, while a
 * tracer looks at it; or its own, and becomes another user: maps_a_ring FILE r|rw|drop SECONDS
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	int write = strcmp(argv[2], "r") != 0;
	int fd = open(argv[1], write ? O_RDWR : O_RDONLY);
	void *p = mmap(NULL, 4096, PROT_READ | (write ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
	if (fd < 0 || p == MAP_FAILED) {
		perror(argv[1]);
		return 1;
	}
	close(fd);
	/* As a daemon does that wants its core files; its directory in /proc is its user's,
	 * then. */
	if (!strcmp(argv[2], "drop") && (setuid(65534) || prctl(PR_SET_DUMPABLE, 1))) {
		perror("drop");
		return 1;
	}
	usleep((useconds_t)(1e6 * atof(argv[3])));
	return 0;
}
