/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one hash function of the program, for words and strings. Keys come from traced programs and
 * their files, so the result depends on a random number of this run: keys that all collide cannot
 * be constructed. A hash is never stored in a file, and no output may follow its order.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

extern uint64_t hash_secret[2]; /* private; 0: not set yet */
void hash_draw_secret(void);	/* private */

/* The initial value of a hash. */
static inline uint64_t hash_start(void)
{
	if (__builtin_expect(!hash_secret[1], 0))
		hash_draw_secret();
	return hash_secret[0];
}

/*
 * Adds a word to a hash. Both halves of the product are used: the low bits of the result depend on
 * all bits of the word. A table of single words needs a second round (base/map.h).
 */
static inline uint64_t hash_u64(uint64_t h, uint64_t word)
{
	unsigned __int128 product = (unsigned __int128)(h ^ word) * hash_secret[1];
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Adds bytes and their number. */
static inline uint64_t hash_bytes(uint64_t h, const void *data, size_t len)
{
	const char *p = data;
	uint64_t word;
	h = hash_u64(h, len);
	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		h = hash_u64(h, word);
	}
	word = 0;
	memcpy(&word, p, len);
	return hash_u64(h, word);
}

static inline uint64_t hash_string(uint64_t h, const char *s)
{
	return hash_bytes(h, s, strlen(s));
}

/* The key of a file in a map. Two files may share a key, though not by accident. */
static inline uint64_t hash_file(uint64_t dev, uint64_t inode)
{
	return hash_u64(hash_u64(hash_start(), dev), inode);
}

#endif
