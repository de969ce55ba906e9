/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sorts 64-bit keys by some of their bits, stable: keys that are equal in those bits keep their
 * order. The cost depends on the number of keys and bits alone, not on their order.
 */
#ifndef BASE_RADIX_H
#define BASE_RADIX_H

#include <stddef.h>
#include <stdint.h>

/*
 * Sorts `n` keys by the `bits` bits from `shift` on (shift + bits <= 64). `spare` also holds n keys
 * and is overwritten.
 */
void radix_sort(uint64_t *keys, uint64_t *spare, size_t n, unsigned shift, unsigned bits);

#endif
