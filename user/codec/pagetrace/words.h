/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The words of page traces, as ebtrace/pagetrace.h describes them: what each may be. Shared by the
 * readers and the writer. Words are of this processor's byte order here.
 */
#ifndef CODEC_PAGETRACE_WORDS_H
#define CODEC_PAGETRACE_WORDS_H

#include <ebtrace/pagetrace.h>

#define PAGETRACE_WHAT	     3 /* low bits: of an event, its enum ebt_pagetrace_what */
#define PAGETRACE_LARGE	     4
#define PAGETRACE_P	     4 /* the low 3 bits of a P, */
#define PAGETRACE_TIME	     0 /* and of a time */
#define PAGETRACE_TAG	     7
#define PAGETRACE_PAGE_SHIFT 13
#define PAGETRACE_ADDR	     0x0000ffffffffe000ull
#define PAGETRACE_ADDR_END   (1ull << 48)
/* The first number of pages that has a word of its own, and the last. */
#define PAGETRACE_LARGE_PAGES 1024
#define PAGETRACE_PAGES_MAX   (PAGETRACE_ADDR_END >> PAGETRACE_PAGE_SHIFT)
#define PAGETRACE_TIME_SHIFT  7 /* times are in 128 ns */
#define PAGETRACE_DELTA_SHIFT 48
/* The first time since the base that an event has no bits for. */
#define PAGETRACE_DELTA_END_NS (1ull << 23)
/* Of a base, so that no event reaches 2^63 ns. */
#define PAGETRACE_TIME_END_NS ((1ull << 63) - PAGETRACE_DELTA_END_NS)

#define PAGETRACE_BLOCK_WORDS (EBT_PAGETRACE_BLOCK_BYTES / 8)

static inline bool pagetrace_is_p(uint64_t word)
{
	int64_t p = (int64_t)word >> 3;
	return (word & PAGETRACE_TAG) == PAGETRACE_P && p >= EBT_PAGETRACE_NO_P &&
	       p <= EBT_PAGETRACE_P_MAX;
}

static inline uint64_t pagetrace_p_word(int32_t p)
{
	return (uint64_t)(int64_t)p << 3 | PAGETRACE_P;
}

static inline bool pagetrace_is_time(uint64_t word)
{
	return (word & PAGETRACE_TAG) == PAGETRACE_TIME &&
	       word >> 3 < PAGETRACE_TIME_END_NS >> PAGETRACE_TIME_SHIFT;
}

static inline uint64_t pagetrace_time_ns(uint64_t word)
{
	return word >> 3 << PAGETRACE_TIME_SHIFT;
}

static inline uint64_t pagetrace_time_word(uint64_t ns)
{
	return ns >> PAGETRACE_TIME_SHIFT << 3;
}

static inline uint64_t pagetrace_delta_ns(uint64_t word)
{
	return word >> PAGETRACE_DELTA_SHIFT << PAGETRACE_TIME_SHIFT;
}

/* Whether the word may be the second one of an event. */
static inline bool pagetrace_may_be_pages(uint64_t word)
{
	return word >= PAGETRACE_LARGE_PAGES && word <= PAGETRACE_PAGES_MAX;
}

static inline bool pagetrace_is_large(uint64_t word)
{
	return word & PAGETRACE_WHAT && word & PAGETRACE_LARGE &&
	       !(word >> 3 & (PAGETRACE_LARGE_PAGES - 1));
}

#endif
