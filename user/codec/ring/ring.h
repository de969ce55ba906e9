/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decodes words of a ring to events. Pure: no I/O, no globals; works on a private copy of the
 * words, which may hold anything. One decoder a ring: it keeps the state between batches (last
 * time, next ordinal, a hole not yet reported), so a batch may be cut between any two records.
 *
 * Promises, whatever the words: the ts of a ring's events never decreases (a smaller one, which no
 * sound producer writes, is raised to the last); every record is delivered once or is covered by
 * one EBT_LOST or EBT_DAMAGE event; the work is linear in the words.
 */
#ifndef CODEC_RING_RING_H
#define CODEC_RING_RING_H

#include <ebtrace/event.h>
#include <stdbool.h>
#include <stddef.h>

/* The longest record: a batch that ends inside one needs at most this many more words. */
#define RING_MAX_RECORD_WORDS 1023

struct ring_decoder {
	/* set by ring_decoder_init(), then constant */
	struct ebt_event blank; /* pid, domain, cpu, flags as every event of the ring has them */
	const uint16_t *phase;	/* the producer's number -> canonical */
	uint32_t phases;
	uint32_t ring_words;
	uint64_t data_offset; /* of the ring in the file, for EBT_DAMAGE */
	bool counted;	      /* headers carry seq */

	/* state */
	uint64_t last_ts;
	uint32_t next_seq;
	bool astray;	  /* the next word need not be a record's first */
	bool resumed;	  /* next_seq is unknown: it is set from the next record */
	bool gap;	  /* an EBT_LOST is due before the next event */
	bool gap_history; /* all of it is older than the first look */
	uint64_t gap_words;
	bool bad; /* an EBT_DAMAGE is due at once */
	uint64_t bad_offset, bad_words, bad_pos;

	/* counts */
	uint64_t events, lost_events, lost_words, damaged;
};

/* `phase` must outlive the decoder (ids.h); counted: the file has our extension block. */
void ring_decoder_init(struct ring_decoder *d, uint32_t domain, uint32_t ring_words,
		       uint64_t data_offset, const uint16_t *phase, uint32_t phases, bool counted);

/* The `words` words before the next ones decoded were overwritten unread; adds up. */
void ring_decoder_gap(struct ring_decoder *d, uint64_t words, bool history);
/*
 * The loss that is due before the next event is to be reported now, at ts, into *ev. ordinals:
 * those that the ring has used up to the next event at least, if they are known: then all of these
 * events are lost, and the next one reports those behind them. False: nothing is lost.
 */
bool ring_decoder_report(struct ring_decoder *d, const uint64_t *ordinals, uint64_t ts,
			 struct ebt_event *ev);
/* The `words` words before the next ones decoded could not be read; adds up. `offset` in the file
 * and `pos` are those of the first word. */
void ring_decoder_damage(struct ring_decoder *d, uint64_t offset, uint64_t words, uint64_t pos);
/* The ring was begun anew: ordinals start at any number. */
void ring_decoder_restart(struct ring_decoder *d);

/* Words in private memory, words[0] at position pos, which must be that of a record. */
struct ring_batch {
	const uint64_t *words;
	size_t n;
	uint64_t pos;
	bool more; /* more words will follow right behind: a record cut by the end is no damage */
	uint64_t payload_base; /* added to the byte offset of payloads */
};

/*
 * Decodes up to `cap` events and returns their number; *ret_used is the number of words consumed,
 * less than n when the batch ends inside a record (with `more`) or cap was reached. An event with a
 * payload (EBT_ALLOC_SIZES, EBT_CUSTOM) has EBT_F_PAYLOAD, arg[0] the payload's byte offset from
 * words and arg[1] its length in bytes: the caller copies or uses it in place.
 *
 * Words that are left when a gap follows belong to the gap: the caller adds them to it.
 */
size_t ring_decode(struct ring_decoder *d, const struct ring_batch *batch, struct ebt_event *ev,
		   size_t cap, size_t *ret_used);

#endif
