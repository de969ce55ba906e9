/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which of the last ORDINALS_WINDOW events of a ring were delivered, by their ordinals. It knows no
 * event. `next`, the ordinal that the ring's next event has, is the caller's, counts without
 * wrapping, and is advanced when that event is delivered; ordinals of events (ebt_event.seq) are
 * wrapped, and compared with `next` by the caller.
 */
#ifndef STREAM_ORDINALS_H
#define STREAM_ORDINALS_H

#include <stdbool.h>
#include <stdint.h>

#define ORDINALS_WINDOW 4096

/* Zeroed memory: all events before `next` were delivered. */
struct ordinals {
	uint64_t unbroken; /* all from here to `next` were delivered; private */
	/* A bit for each ordinal before `unbroken`, modulo ORDINALS_WINDOW; private. */
	uint64_t delivered[ORDINALS_WINDOW / 64];
};

/* `missing` ordinals from `next` on were not delivered; the caller's `next` is then behind them. */
void ordinals_skip(struct ordinals *o, uint64_t next, uint32_t missing);
/* Delivers an ordinal before `next`. False: it was delivered before, or is older than the
 * window. */
bool ordinals_fill(struct ordinals *o, uint64_t next, uint32_t seq);

#endif
