/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/hash.h"

#include <sys/random.h>
#include <time.h>

uint64_t hash_secret[2];

void hash_draw_secret(void)
{
	if (getrandom(hash_secret, sizeof(hash_secret), GRND_NONBLOCK) != sizeof(hash_secret)) {
		/* Early at boot: better than nothing. */
		struct timespec now;
		clock_gettime(CLOCK_MONOTONIC, &now);
		hash_secret[0] = (uint64_t)now.tv_nsec * 0x9e3779b97f4a7c15ull ^ (uintptr_t)&now;
		hash_secret[1] = hash_secret[0] * 0x94d049bb133111ebull;
	}
	/* Odd, and with bits in its upper half: the product affects all bits of the result. */
	hash_secret[1] |= 1ull << 63 | 1;
}
