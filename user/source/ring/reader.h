/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies words out of the rings of one open file, in order: every read of the file, and the proof
 * that a copy is not torn (R1 to R4 of <ebtrace/ring.h>). It knows the layout of the rings, not the
 * meaning of their words. The writer may write, truncate and corrupt at any time: words that cannot
 * be read, or contradict themselves, are reported once as damage with their offset, and never block
 * the others.
 */
#ifndef SOURCE_RING_READER_H
#define SOURCE_RING_READER_H

#include "codec/ring/layout.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

struct cursor_ring {
	uint64_t pos;  /* next word to fetch */
	uint64_t head; /* as last read */
	uint64_t tail; /* as last read; pos <= tail */
	/* With an extension block: the writer was inside an event at the look. It is read before
	 * tail: when it is false, all events older than the start of the look are below tail. */
	bool writing;
	bool notice; /* the next fetch reports damage, even without words */
	/* With an extension block: the generation that the header had both before and after tail
	 * was read; 0: it changed, or is not known. owner: of that generation, also if it has
	 * ended; 0: not known. */
	uint64_t generation;
	uint32_t owner;
	/* With an extension block: the ordinals that were used up to tail at least, and by no event
	 * behind it, if `settled`. */
	uint64_t ordinals;
	bool settled;
};

/* Headers that ring_reader_is_still() compares, at most. */
#define STILL_RINGS 8

struct cursor_fetch {
	uint64_t pos;	/* of words[0] */
	uint32_t words; /* may be 0 when lost or damage_words is not */
	bool more;	/* more words follow, without a known hole */
	/* what is missing just before pos: for ring_decoder_gap() and _damage(), before the words;
	 * a partial record left from the fetch before belongs to it */
	uint64_t lost;			      /* words */
	bool history;			      /* lost before the first look */
	uint64_t damage_offset, damage_words; /* with damage_pos; all three 0: none */
	uint64_t damage_pos;
	bool damage, restart; /* restart: also ring_decoder_restart() */
};

/* What the headers of the file imply for a ring, beside struct cursor_ring. */
struct ring_state {
	/* Words below head were overwritten before the first look, and none was read since: of the
	 * first fetch, what is overwritten meanwhile is one hole with them. */
	bool history;
	bool insane; /* head and tail contradict; a window was guessed once */
	bool restart;
	uint64_t insane_head, insane_tail;
	uint64_t damage_offset; /* with cursor_ring.notice */
};

struct ring_reader {
	int fd; /* the caller's */
	struct ring_layout layout;
	bool has_ext;
	struct ring_ext ext;
	/* private */
	struct cursor_ring *ring; /* `rings` of each: those behind were not in use at any look */
	struct ring_state *state;
	uint32_t rings;
	uint32_t used; /* rings, from the first on, that a look has found in use, or before such */
	bool looked, cut;
	/* As the last look found them, with the next ones behind those in use; no writer was inside
	 * an event. 0: not known, or they are more. */
	struct ebt_ring_header still[STILL_RINGS];
	uint32_t still_rings;
	/* Where the first headers are mapped; NULL: nowhere yet, MAP_FAILED: they cannot be. */
	void *map;
};

/*
 * Reads the layout of the file; `name` is for `reason` (EBT_REASON_BYTES, or NULL), one line. 0 or
 * as ebt_cursor_open(). ring_reader_done() is right after a failure too, and for all zero.
 */
int ring_reader_init(struct ring_reader *rr, int fd, const char *name, char *reason);
void ring_reader_done(struct ring_reader *rr);

/* Memory that it uses at most. */
size_t ring_reader_bytes(const struct ring_reader *rr);

/* As the functions of cursor.h that have the same names. */
const struct cursor_ring *ring_reader_ring(const struct ring_reader *rr, uint32_t domain);
int ring_reader_update(struct ring_reader *rr, bool all);
bool ring_reader_is_still(const struct ring_reader *rr);
struct iovec ring_reader_mapped(struct ring_reader *rr);
bool ring_reader_was_still(const struct ring_reader *rr, const void *copy);
int ring_reader_fetch(struct ring_reader *rr, uint32_t domain, uint64_t *words, size_t cap,
		      struct cursor_fetch *ret);

/* Leaves the words up to the last look out: how many they are. */
uint64_t ring_reader_skip(struct ring_reader *rr, uint32_t domain);

/* The pid in OCaml's ring_start, the first record of the file; 0: overwritten, or none. 0 or
 * -errno. */
int ring_reader_first_pid(const struct ring_reader *rr, uint64_t *ret);

/* Events of threads that found no free ring, as the producer counts them; 0 without an extension
 * block. */
uint64_t ring_reader_ringless(const struct ring_reader *rr);

#endif
