/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A map (map.h) from u64 to pointers of one type. PTRMAP(struct lane) lanes; declares one, zeroed
 * memory is empty; its values are of type struct lane *, and the compiler warns of any other. The
 * map does not own the pointers' targets, except in ptrmap_make() and ptrmap_free(). NULL cannot be
 * a value: it means that the key is not in the map.
 *
 *	struct lane *ptrmap_get(m, key)             NULL: not in the map
 *	int ptrmap_set(m, key, struct lane *)       0 or -ENOMEM; replaces an older value
 *	struct lane *ptrmap_make(m, key, bool *new) the value, else a new one, allocated and zeroed;
 *	                                            *new: which; NULL, not new: no memory
 *	struct lane *ptrmap_remove(m, key)          removes the value; NULL: not in the map
 *	struct lane *ptrmap_next(m, size_t *at)     as map_next(), in any order; NULL at the end
 *	void ptrmap_done(m)                         frees the map alone; it is empty then
 *	void ptrmap_free(m)                         frees the map and each pointer
 */
#ifndef BASE_PTRMAP_H
#define BASE_PTRMAP_H

#include "base/map.h"

#include <errno.h>
#include <stdlib.h>

#define PTRMAP(type)              \
	union {                   \
		struct map words; \
		type *of;         \
	}

#define ptrmap_get(m, key)    ((typeof((m)->of))ptrmap_get_void(&(m)->words, key))
#define ptrmap_set(m, key, p) ptrmap_set_void(&(m)->words, key, (typeof((m)->of)){p})
#define ptrmap_make(m, key, new) \
	((typeof((m)->of))ptrmap_make_void(&(m)->words, key, sizeof(*(m)->of), new))
#define ptrmap_remove(m, key) ((typeof((m)->of))ptrmap_remove_void(&(m)->words, key))
#define ptrmap_next(m, at)    ((typeof((m)->of))ptrmap_next_void(&(m)->words, at))
#define ptrmap_done(m)	      map_done(&(m)->words)
#define ptrmap_free(m)	      ptrmap_free_void(&(m)->words)

/* The functions behind the macros; not for callers. */
static inline void *ptrmap_get_void(const struct map *m, uint64_t key)
{
	const uint64_t *value = map_get(m, key);
	return value ? (void *)(uintptr_t)*value : NULL;
}

static inline int ptrmap_set_void(struct map *m, uint64_t key, const void *p)
{
	uint64_t *value = map_put(m, key);
	if (!value)
		return -ENOMEM;
	*value = (uintptr_t)p;
	return 0;
}

static inline void *ptrmap_make_void(struct map *m, uint64_t key, size_t bytes, bool *ret_new)
{
	void *p = ptrmap_get_void(m, key);
	*ret_new = false;
	if (p)
		return p;
	p = calloc(1, bytes);
	if (!p || ptrmap_set_void(m, key, p)) {
		free(p);
		return NULL;
	}
	*ret_new = true;
	return p;
}

static inline void *ptrmap_remove_void(struct map *m, uint64_t key)
{
	void *p = ptrmap_get_void(m, key);
	if (p)
		map_delete(m, key);
	return p;
}

static inline void *ptrmap_next_void(const struct map *m, size_t *at)
{
	const struct map_slot *slot = map_next(m, at);
	return slot ? (void *)(uintptr_t)slot->value : NULL;
}

static inline void ptrmap_free_void(struct map *m)
{
	size_t at = 0;
	for (void *p; (p = ptrmap_next_void(m, &at));)
		free(p);
	map_done(m);
}

#endif
