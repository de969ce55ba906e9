/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The writer of page traces, by the rules of Go's runtime, so that a complete trace of Go's that is
 * read and written again has the same bytes:
 *
 *	An event 2^23 ns or more after the base has a time word before it, which is the new base.
 *	An event that does not fit, with its second word, ends the block. The next one begins with
 *	its P and a time, the event's own; so a time may be a block's last word.
 */
#include "codec/pagetrace/words.h"

#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

void ebt_pagetrace_writer_init(struct ebt_pagetrace_writer *w, int32_t p,
			       int (*write)(void *ctx, const void *block, size_t bytes), void *ctx)
{
	memset(w, 0, offsetof(struct ebt_pagetrace_writer, block));
	w->write = write;
	w->ctx = ctx;
	w->p = p;
}

static void put(struct ebt_pagetrace_writer *w, uint64_t word)
{
	w->block[w->words++] = htole64(word);
}

static void put_time(struct ebt_pagetrace_writer *w, uint64_t now_ns)
{
	uint64_t word = pagetrace_time_word(now_ns);
	w->base_ns = pagetrace_time_ns(word);
	put(w, word);
}

static void begin_block(struct ebt_pagetrace_writer *w, uint64_t now_ns)
{
	put(w, pagetrace_p_word(w->p));
	put_time(w, now_ns);
}

int ebt_pagetrace_write_flush(struct ebt_pagetrace_writer *w)
{
	size_t bytes = w->words * sizeof(*w->block);
	w->words = 0;
	if (bytes && !w->error)
		w->error = w->write(w->ctx, w->block, bytes);
	return w->error;
}

int ebt_pagetrace_write_end(struct ebt_pagetrace_writer *w, uint64_t now_ns)
{
	if (!w->words && !w->error)
		begin_block(w, now_ns > w->last_ns ? now_ns : w->last_ns);
	return ebt_pagetrace_write_flush(w);
}

/* What few events need. Makes room for `words` words of an event. */
static __attribute__((noinline)) int make_room(struct ebt_pagetrace_writer *w, uint32_t words,
					       uint64_t now_ns)
{
	if (w->words && now_ns - w->base_ns >= PAGETRACE_DELTA_END_NS &&
	    w->words < PAGETRACE_BLOCK_WORDS)
		put_time(w, now_ns);
	if (w->words + words > PAGETRACE_BLOCK_WORDS)
		ebt_pagetrace_write_flush(w);
	/* After an error no block begins, so that all events get here. */
	if (!w->words && !w->error)
		begin_block(w, now_ns);
	return w->error;
}

static inline void put_event(struct ebt_pagetrace_writer *w, enum ebt_pagetrace_what what,
			     uint64_t addr, uint64_t pages, uint64_t now_ns)
{
	uint64_t delta = (now_ns - w->base_ns) >> PAGETRACE_TIME_SHIFT;
	uint64_t word = delta << PAGETRACE_DELTA_SHIFT | addr | what;
	w->last_ns = now_ns;
	if (pages < PAGETRACE_LARGE_PAGES) {
		put(w, word | pages << 3);
		return;
	}
	put(w, word | PAGETRACE_LARGE);
	put(w, pages);
}

/* In a function of its own, so that the other one saves no registers. */
static __attribute__((noinline)) int put_with_room(struct ebt_pagetrace_writer *w,
						   enum ebt_pagetrace_what what, uint64_t addr,
						   uint64_t pages, uint64_t now_ns)
{
	int err = make_room(w, 1 + (pages >= PAGETRACE_LARGE_PAGES), now_ns);
	if (!err)
		put_event(w, what, addr, pages, now_ns);
	return err;
}

int ebt_pagetrace_write(struct ebt_pagetrace_writer *w, enum ebt_pagetrace_what what, uint64_t addr,
			uint64_t pages, uint64_t now_ns)
{
	if (what - EBT_PAGETRACE_ALLOC > EBT_PAGETRACE_SCAVENGE - EBT_PAGETRACE_ALLOC ||
	    !ebt_pagetrace_is_run(addr, pages) || now_ns >= PAGETRACE_TIME_END_NS)
		return -EINVAL;
	if (now_ns < w->last_ns)
		now_ns = w->last_ns;
	/* A block that has not begun is as one that is full. */
	if (w->words - 1 >= PAGETRACE_BLOCK_WORDS - 1 - (pages >= PAGETRACE_LARGE_PAGES) ||
	    now_ns - w->base_ns >= PAGETRACE_DELTA_END_NS)
		return put_with_room(w, what, addr, pages, now_ns);
	put_event(w, what, addr, pages, now_ns);
	return 0;
}
