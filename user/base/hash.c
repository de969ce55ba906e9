/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/hash.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

uint64_t hash_seed[2];

void hash_init(void)
{
	if (hash_seed[1])
		return;
	if (getrandom(hash_seed, sizeof(hash_seed), GRND_NONBLOCK) != sizeof(hash_seed)) {
		/* Early at boot: better than nothing. */
		struct timespec now;
		clock_gettime(CLOCK_MONOTONIC, &now);
		hash_seed[0] = (uint64_t)now.tv_nsec * 0x9e3779b97f4a7c15ull ^ (uintptr_t)&now;
		hash_seed[1] = hash_seed[0] * 0x94d049bb133111ebull;
	}
	hash_seed[1] |= 1;
}

/* Both halves of the product, so that every bit of a word reaches every bit of the sum. */
static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hash_bytes(const void *data, size_t bytes)
{
	const unsigned char *p = data;
	uint64_t sum = hash_seed[0] ^ bytes * 0x9e3779b97f4a7c15ull, word;
	for (; bytes > sizeof(word); p += sizeof(word), bytes -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		sum = fold(sum ^ word, hash_seed[1]) ^ hash_seed[0];
	}
	word = 0;
	if (bytes)
		memcpy(&word, p, bytes);
	return hash_u64(sum ^ word);
}
