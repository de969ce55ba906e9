/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fields of an event from `kind` to `flags` as one word, so that a loop over events tests or
 * gathers all of them with one load. Words are made of events only, so they depend on no byte order
 * as long as they are compared with each other.
 */
#ifndef STREAM_EVENT_WORD_H
#define STREAM_EVENT_WORD_H

#include <ebtrace/event.h>
#include <stddef.h>
#include <string.h>

_Static_assert(offsetof(struct ebt_event, flags) == offsetof(struct ebt_event, kind) + 6,
	       "kind, domain, cpu and flags are one word");
/* So the bits of a kind, or of many, say whether any is a loss or of a higher number. */
_Static_assert((EBT_LOST & (EBT_LOST - 1)) == 0, "the kinds of programs are those below one bit");

/* In a mask: the bits of a kind that those of a program's events, below EBT_LOST, do not have. */
#define EVENT_WORD_NOT_PROGRAM ((uint16_t) ~(EBT_LOST - 1))

static inline uint64_t event_word(const struct ebt_event *ev)
{
	uint64_t word;
	memcpy(&word, &ev->kind, sizeof(word));
	return word;
}

#endif
