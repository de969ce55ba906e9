/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the memory of a process, twice, then its own, and says how that went: read_held PID FILE
 * ADDRESS, FILE one of /proc/PID; or its mappings, as the memory is expected to be read next, which
 * it is not: read_held PID ahead ADDRESS.
 */
#include "proc/memory_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void show(const char *what, ssize_t n)
{
	printf("%s: %s\n", what, n == 8 ? "read" : n == -ETIMEDOUT ? "given up" : "neither");
}

static int count(const struct maps_entry *e, void *ctx)
{
	(void)e;
	++*(int *)ctx;
	return 0;
}

static int read_ahead(struct memory_reader *r, pid_t pid, uint64_t at)
{
	int mappings = 0;
	pid_t first;
	memory_reader_expect(r, pid, "mem", at, 8);
	memory_reader_maps(r, pid, MAPS_ALL, count, &mappings);
	printf("mappings: %s\n", mappings ? "read" : "none");
	printf("%u given up\n", memory_reader_given_up(r, &first));
	memory_reader_free(r);
	return 0;
}

int main(int argc, char **argv)
{
	struct memory_reader *r = memory_reader_new();
	uint64_t word = 1;
	pid_t pid, first;
	if (argc != 4 || !r)
		return 2;
	pid = atoi(argv[1]);
	uint64_t at = strtoull(argv[3], NULL, 16);
	if (!strcmp(argv[2], "ahead"))
		return read_ahead(r, pid, at);
	show("own", memory_reader_read(r, getpid(), "mem", (uintptr_t)&word, &word, sizeof(word)));
	show("held", memory_reader_read(r, pid, argv[2], at, &word, sizeof(word)));
	show("again", memory_reader_read(r, pid, argv[2], at, &word, sizeof(word)));
	show("own", memory_reader_read(r, getpid(), "mem", (uintptr_t)&word, &word, sizeof(word)));
	unsigned n = memory_reader_given_up(r, &first);
	printf("%u given up%s\n", n, n && first == pid ? ", of that process" : "");
	memory_reader_free(r);
	return 0;
}
