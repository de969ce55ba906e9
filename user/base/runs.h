/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Merges two sorted runs of 64-bit keys, without a branch that depends on the keys. It merges from
 * both ends at once: the two chains of instructions do not wait for each other.
 */
#ifndef BASE_RUNS_H
#define BASE_RUNS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Merges a[0..na) and b[0..nb), each ascending and not empty, into out, which overlaps neither. No
 * key occurs twice. The words before and behind each run, a[-1], a[na], b[-1] and b[nb], are
 * overwritten.
 */
void runs_merge(uint64_t *a, size_t na, uint64_t *b, size_t nb, uint64_t *out);

#endif
