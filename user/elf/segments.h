/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nested ranges of addresses, such as functions and the functions that were inlined in them, made
 * into segments that do not overlap, in which an address is found by bisection. Ranges come from
 * files that are not trusted: one that reaches beyond the range around it is cut.
 */
#ifndef ELF_SEGMENTS_H
#define ELF_SEGMENTS_H

#include <stddef.h>
#include <stdint.h>

#define SEGMENTS_NONE UINT32_MAX

struct segments_range {
	uint64_t start, end;
	uint32_t depth; /* of ranges with one start, the deeper one is inside */
	uint32_t value;
};

struct segment {
	uint64_t start; /* its end is the next one's start */
	uint32_t value; /* of the innermost range; SEGMENTS_NONE: of no range */
};

/* Sorts `range`. The segments are allocated; their number in *ret_count. 0 or -ENOMEM. */
int segments_make(struct segments_range *range, size_t count, struct segment **ret,
		  size_t *ret_count);
/* The value at an address, or SEGMENTS_NONE. */
uint32_t segments_find(const struct segment *segment, size_t count, uint64_t address);

#endif
