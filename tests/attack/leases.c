/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Maps COUNT files executable, and one as a ring of its own, and holds a lease on each: leases DIR
 * COUNT. A break of a lease is ignored, and a broken one is taken again. Ends with its input.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define COUNT_MAX 64

/* A file that another process has open gets no lease, and the tracer opens what it sees: a file has
 * its lease before its name and its mapping. */
static int lease(const char *path, int flags, int rights, int share)
{
	char first[4096];
	snprintf(first, sizeof(first), "%s-new", path);
	int made = open(first, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (made < 0 || ftruncate(made, 4096) || close(made)) {
		perror(first);
		exit(1);
	}
	int fd = open(first, flags | O_CLOEXEC);
	if (fd < 0 || fcntl(fd, F_SETLEASE, F_WRLCK) || rename(first, path) ||
	    mmap(NULL, 4096, rights, share, fd, 0) == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	return fd;
}

int main(int argc, char **argv)
{
	char path[4096];
	int fd[COUNT_MAX + 1], count = argc == 3 ? atoi(argv[2]) : -1;
	if (count < 0 || count > COUNT_MAX)
		return 2;
	signal(SIGIO, SIG_IGN);
	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/leased-%d", argv[1], i);
		fd[i] = lease(path, O_RDONLY, PROT_READ | PROT_EXEC, MAP_PRIVATE);
	}
	snprintf(path, sizeof(path), "%s/%d.events", argv[1], (int)getpid());
	fd[count] = lease(path, O_RDWR, PROT_READ | PROT_WRITE, MAP_SHARED);
	puts("ready");
	fflush(stdout);
	for (struct pollfd in = {.fd = 0, .events = POLLIN}; !poll(&in, 1, 10);)
		for (int i = 0; i <= count; i++)
			if (fcntl(fd[i], F_GETLEASE) != F_WRLCK)
				fcntl(fd[i], F_SETLEASE, F_WRLCK);
	return 0;
}
