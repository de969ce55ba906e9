/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arrays that grow as indices do, with entries that are zeroed. The array and the number of its
 * entries are the caller's: zeroed memory is an empty one, free() releases it.
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Makes an entry at index `at` of an array of *entries entries of `bytes` bytes. False: no memory;
 * nothing changed. */
static inline bool array_room_void(void **array, uint32_t *entries, uint32_t at, size_t bytes)
{
	if (at < *entries)
		return true;
	size_t count = (size_t)at + at / 2 + 16;
	char *grown = count <= UINT32_MAX ? realloc(*array, count * bytes) : NULL;
	if (!grown)
		return false;
	memset(grown + *entries * bytes, 0, (count - *entries) * bytes);
	*array = grown;
	*entries = (uint32_t)count;
	return true;
}

/* The same; array: a pointer to its first entry. */
#define array_room(array, entries, at) \
	array_room_void((void **)&(array), &(entries), at, sizeof(*(array)))

#endif
