/* SPDX-License-Identifier: BSD-2-Clause */
/* The ending of a noun that follows a count: "1 event", "0 events", "2 events". */
#ifndef BASE_PLURAL_H
#define BASE_PLURAL_H

#include <stdint.h>

/* "" after 1, else "s". */
static inline const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* The word after 1, else the other: "was" and "were", "process" and "processes". */
static inline const char *plural_of(uint64_t count, const char *one, const char *many)
{
	return count == 1 ? one : many;
}

#endif
