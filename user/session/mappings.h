/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The named mappings of a process's address space: of files, and those that the kernel or the
 * program named. Names that are no longer mapped stay, as events of the past refer to their
 * addresses. At most MAPPINGS_MAX are kept, the first ones.
 */
#ifndef SESSION_MAPPINGS_H
#define SESSION_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>

#define MAPPINGS_MAX	    1024
#define MAPPINGS_NAME_BYTES 48

struct mapping {
	uint64_t start, end;
	char name[MAPPINGS_NAME_BYTES]; /* "libc.so.6", "[heap]"; UTF-8, safe for a terminal */
};

/* Zeroed memory is empty. program: the name of the process when they were read; empty: not known.
 * Readers use `at` and `count`, newest last. */
struct mappings {
	struct mapping *at;
	uint32_t count, room;
	char program[32];
};

/*
 * Adds one, by its path as /proc/PID/maps has it: a file's name is its last component, a
 * device's the whole path. One that
 * begins where another of this name ends continues it. Without a path: nothing. 0 or -ENOMEM.
 */
int mappings_add(struct mappings *m, uint64_t start, uint64_t end, const char *path);
/* A copy; `ret` is empty, or -ENOMEM. */
int mappings_copy(struct mappings *ret, const struct mappings *m);
void mappings_done(struct mappings *m);
/* The mapping with the most bytes in a range of addresses, of equals the newest; NULL: none. */
const struct mapping *mappings_find(const struct mappings *m, uint64_t start, uint64_t end);

#endif
