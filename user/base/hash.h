/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one hash of the program, of words and of strings. What is hashed is other people's (names,
 * pids, ids of files): the result depends on a random number of this run, so that nobody can make a
 * file whose keys all fall on one place of a table. It is never written anywhere, and nothing that
 * is put out may follow its order.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

extern uint64_t hash_secret[2]; /* private; 0: not drawn yet */
void hash_draw_secret(void);	/* private */

/* What a hash starts with. */
static inline uint64_t hash_start(void)
{
	if (__builtin_expect(!hash_secret[1], 0))
		hash_draw_secret();
	return hash_secret[0];
}

/*
 * Adds a word to a hash. Both halves of the product count: the low bits of the result depend on all
 * bits of the word, so a table takes as many of them as it needs.
 */
static inline uint64_t hash_u64(uint64_t h, uint64_t word)
{
	unsigned __int128 product = (unsigned __int128)(h ^ word) * hash_secret[1];
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Adds bytes, and how many they are. */
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

/* The key of a file in a map. Two files may have the same one, though it will not happen by chance. */
static inline uint64_t hash_file(uint64_t dev, uint64_t inode)
{
	return hash_u64(hash_u64(hash_start(), dev), inode);
}

#endif
