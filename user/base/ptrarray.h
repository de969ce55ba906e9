/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An array of pointers of one type under dense numbers, such as those that a registry assigns.
 * PTRARRAY(struct lane) lanes; declares one, zeroed memory is empty. It grows as numbers do and
 * never shrinks. The functions are those of ptrmap.h, and so is ownership; NULL means that nothing
 * has the number.
 *
 *	struct lane *ptrarray_get(a, number)              NULL: nothing there
 *	struct lane *ptrarray_make(a, number, bool *new)  the entry, else a new one, zeroed;
 *	                                                  *new: which; NULL, not new: no memory
 *	struct lane *ptrarray_remove(a, number)           removes it; NULL: nothing there
 *	struct lane *ptrarray_next(a, size_t *at)         the next entry from *at on, which moves
 *	                                                  behind it; NULL at the end
 *	void ptrarray_done(a)                             frees the array alone; it is empty then
 *	void ptrarray_free(a)                             and each entry
 */
#ifndef BASE_PTRARRAY_H
#define BASE_PTRARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/array.h"

struct ptrarray {
	void **at;
	uint32_t count;
};

#define PTRARRAY(type)                 \
	union {                        \
		struct ptrarray words; \
		type *of;              \
	}

#define ptrarray_get(a, number) ((typeof((a)->of))ptrarray_get_void(&(a)->words, number))
#define ptrarray_make(a, number, new) \
	((typeof((a)->of))ptrarray_make_void(&(a)->words, number, sizeof(*(a)->of), new))
#define ptrarray_remove(a, number) ((typeof((a)->of))ptrarray_remove_void(&(a)->words, number))
#define ptrarray_next(a, at)	   ((typeof((a)->of))ptrarray_next_void(&(a)->words, at))
#define ptrarray_done(a)	   ptrarray_done_void(&(a)->words)
#define ptrarray_free(a)	   ptrarray_free_void(&(a)->words)

/* The macros call these; callers use the macros only. */
static inline void *ptrarray_get_void(const struct ptrarray *a, uint32_t number)
{
	return number < a->count ? a->at[number] : NULL;
}

static inline void *ptrarray_make_void(struct ptrarray *a, uint32_t number, size_t bytes,
				       bool *ret_new)
{
	void *p = ptrarray_get_void(a, number);
	*ret_new = false;
	if (p)
		return p;
	if (!array_room(a->at, a->count, number))
		return NULL;
	p = a->at[number] = calloc(1, bytes);
	*ret_new = p;
	return p;
}

static inline void *ptrarray_remove_void(struct ptrarray *a, uint32_t number)
{
	void *p = ptrarray_get_void(a, number);
	if (p)
		a->at[number] = NULL;
	return p;
}

static inline void *ptrarray_next_void(const struct ptrarray *a, size_t *at)
{
	while (*at < a->count) {
		void *p = a->at[(*at)++];
		if (p)
			return p;
	}
	return NULL;
}

static inline void ptrarray_done_void(struct ptrarray *a)
{
	free(a->at);
	*a = (struct ptrarray){0};
}

static inline void ptrarray_free_void(struct ptrarray *a)
{
	for (uint32_t i = 0; i < a->count; i++)
		free(a->at[i]);
	ptrarray_done_void(a);
}

#endif
