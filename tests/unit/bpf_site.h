/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For the programs behind sites with described arguments: registers by number, and a map with one
 * description. The program is included behind it.
 */
#ifndef TESTS_BPF_SITE_H
#define TESTS_BPF_SITE_H

#include "tests/unit/bpf_helpers.h"

struct pt_regs {
	union {
		uint64_t word[64];
		struct {
			uint64_t di, si, dx, r10, cx, r8, r9, ip, sp, bp, ax;
		};
	};
};

#define KEY  9u
#define SLOT 5u
#define NOW  123456789u

static void *found; /* in the map, by KEY */

static void *bpf_map_lookup_elem(void *map, const uint32_t *key)
{
	(void)map;
	return *key == KEY ? found : NULL;
}

static long bpf_loop(uint32_t count, long (*fn)(uint32_t, void *), void *ctx, uint64_t flags)
{
	uint32_t i = 0;
	(void)flags;
	while (i < count && !fn(i, ctx))
		i++;
	return i;
}

static uint64_t bpf_ktime_get_ns(void)
{
	return NOW;
}

#endif
