/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ordinals of a ring's events: which one is next, and which of the last ORDINALS_WINDOW before
 * it were delivered. It knows no event; wrapped ordinals (ebt_event.seq) are compared with `next`
 * by the caller.
 */
#ifndef CORE_ORDINALS_H
#define CORE_ORDINALS_H

#include <stdbool.h>
#include <stdint.h>

#define ORDINALS_WINDOW 4096

/* Zeroed memory expects ordinal 0. */
struct ordinals {
	uint64_t next;	   /* not wrapped; advanced by the caller when `next` is delivered */
	uint64_t unbroken; /* all from here to `next` were delivered; private */
	/* A bit for each ordinal before `unbroken`, modulo ORDINALS_WINDOW; private. */
	uint64_t delivered[ORDINALS_WINDOW / 64];
};

/* The next `missing` ordinals were not delivered; `next` is behind them. */
void ordinals_skip(struct ordinals *o, uint32_t missing);
/* Delivers an ordinal before `next`. False: it was delivered before, or is older than the
 * window. */
bool ordinals_fill(struct ordinals *o, uint32_t seq);

#endif
