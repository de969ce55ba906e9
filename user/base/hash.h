/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hash behind every table in memory. Keys come from traced programs and from files, so the
 * hash depends on a random number of this run: nobody can make keys that all share one value. It
 * differs from run to run; what is written out must not depend on it.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

extern uint64_t hash_seed[2]; /* private; [1] is odd, so no two keys of 64 bits become one */

/* Draws the run's random number, once; every table calls it before its first key. */
void hash_init(void);

static inline uint64_t hash_u64(uint64_t key)
{
	key = (key ^ hash_seed[0]) * 0xbf58476d1ce4e5b9ull;
	return (key ^ key >> 32) * hash_seed[1];
}
/* The upper half: the better one of a product. */
static inline uint32_t hash_u32(uint64_t key)
{
	return (uint32_t)(hash_u64(key) >> 32);
}
uint64_t hash_bytes(const void *data, size_t bytes);

#endif
