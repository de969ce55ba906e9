/* SPDX-License-Identifier: BSD-2-Clause */
/* Random numbers of tests: xorshift, so that a seed names the whole run. */
#ifndef TESTS_RANDOM_H
#define TESTS_RANDOM_H

#include <stdint.h>

/* *state: the seed, not 0; then the last number. */
static inline uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif
