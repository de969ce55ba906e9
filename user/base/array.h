/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arrays that grow, in the hands of their owners: a pointer, and the number of entries for which
 * there is memory, of any unsigned type. Zeroed memory is an empty one, free() releases it. Nothing
 * changes when there is no memory.
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Not for callers. Under ASan the first entries get memory one by one: what uses one behind the
 * last is found. */
static inline bool array_is_short(size_t entries)
{
#ifdef __SANITIZE_ADDRESS__
	return entries < 8;
#else
	(void)entries;
	return false;
#endif
}

/* The array with memory for entries up to the index `at`, and half as many again. NULL: no memory,
 * or more than `most` entries. */
static inline void *array_grow(void *array, size_t *entries, size_t most, size_t at, size_t bytes)
{
	size_t count = array_is_short(at) ? at + 1 : at + at / 2 + 4, size;
	if (count <= at || count > most || __builtin_mul_overflow(count, bytes, &size))
		return NULL;
	void *grown = realloc(array, size);
	if (grown)
		*entries = count;
	return grown;
}

/* As array_grow(), and zeroes the new entries. */
static inline void *array_grow_zeroed(void *array, size_t *entries, size_t most, size_t at,
				      size_t bytes)
{
	size_t had = *entries;
	char *grown = array_grow(array, entries, most, at, bytes);
	if (grown)
		memset(grown + had * bytes, 0, (*entries - had) * bytes);
	return grown;
}

/* Not for callers. */
#define ARRAY_ROOM(grow, array, entries, index)                                              \
	({                                                                                   \
		size_t array_at = (index);                                                   \
		bool array_is_there = array_at < (entries);                                  \
		if (__builtin_expect(!array_is_there, 0)) {                                  \
			size_t array_count = (entries);                                      \
			void *array_grown = grow((array), &array_count, (typeof(entries))-1, \
						 array_at, sizeof(*(array)));                \
			array_is_there = array_grown != NULL;                                \
			(array) = array_is_there ? array_grown : (array);                    \
			(entries) = (typeof(entries))array_count;                            \
		}                                                                            \
		array_is_there;                                                              \
	})

/* Makes an entry at an index; new entries are zeroed. False: no memory. */
#define array_room(array, entries, at) ARRAY_ROOM(array_grow_zeroed, array, entries, at)

/* As array_room(), but new entries have any content. */
#define array_reserve(array, entries, at) ARRAY_ROOM(array_grow, array, entries, at)

/* Not for callers. To how many entries array_more() grows; 0: it has memory for one more. */
static inline size_t array_more_of(size_t count)
{
	if (array_is_short(count))
		return count + 1;
	return count & (count - 1) ? 0 : count ? 2 * count : 1;
}

/* Makes one entry behind the last of `count`, in an array that only this grows: its memory doubles
 * at each power of two, so no capacity is stored. False: no memory. */
#define array_more(array, count)                                                                \
	({                                                                                      \
		size_t array_to = array_more_of(count);                                         \
		void *array_grown =                                                             \
			array_to ? reallocarray((array), array_to, sizeof(*(array))) : (array); \
		if (array_grown)                                                                \
			(array) = array_grown;                                                  \
		array_grown != NULL;                                                            \
	})

#endif
