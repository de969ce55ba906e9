/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The internals of a cursor, for a source that must empty the rings faster than it decodes them:
 * looking and fetching (I/O, and the proof that a copy is whole) apart from decoding (ring.h).
 *
 *   cursor_update(c, true);                            where is every ring now
 *   for each domain:
 *       while (cursor_fetch(c, d, buf, cap, &f) > 0) take f.lost, f.damage_words, buf[0..f.words)
 *
 * Do not mix it with ebt_cursor_poll() and ebt_cursor_read() on the same cursor: they share the
 * positions. Everything else of cursor.h (names, info, close) goes with both.
 */
#ifndef SOURCE_RING_CURSOR_H
#define SOURCE_RING_CURSOR_H

#include "codec/ring/ids.h"
#include "codec/ring/layout.h"
#include "codec/ring/ring.h"
#include "source/ring/reader.h"
#include <ebtrace/cursor.h>

/* The layout, with the damaged header fields that were put right: report each as EBT_DAMAGE. */
const struct ring_layout *cursor_layout(const struct ebt_cursor *c);
/* The extension block; NULL: the file has none (OCaml's). */
const struct ring_ext *cursor_ext(const struct ebt_cursor *c);

/* Sets the `process` of events: a pid, or an index of the tracer's registry. Default: the cursor's
 * own pid, which libebtrace delivers. */
void cursor_set_process(struct ebt_cursor *c, uint32_t process);
/* Initialises a decoder for this ring. */
void cursor_decoder_init(const struct ebt_cursor *c, uint32_t domain, struct ring_decoder *ret);
/* The event that reports header damage i of cursor_layout()->repair. */
struct ebt_event cursor_repair_event(const struct ebt_cursor *c, uint32_t i);

/*
 * Reads head and tail of every ring (all), or of those that were in use at a look before and of the
 * few behind them, and further where those are in use: producers take the first free ring. The
 * first look is of all. Until the next look only words below these tails are fetched, so a round
 * ends however fast the producer is. The next fetch reports a truncated file as damage
 * (cursor_ring.notice). 1: all rings were read; 0: not all; -errno.
 */
int cursor_update(struct ebt_cursor *c, bool all);
/*
 * True if no ring has changed since the last look, and none is in use that was not: one read, of
 * few bytes. Then all events older than the start of the call before, which was this or a look, are
 * below the tails of that look.
 */
bool cursor_is_still(const struct ebt_cursor *c);
/*
 * The same in two steps, for many files with one system call: where the headers that it compares
 * are mapped (length 0: nowhere, or nothing is to be compared), and whether a copy of them is as
 * the last look was. The file may be cut at any time: what copies them must not fault.
 */
struct iovec cursor_mapped(struct ebt_cursor *c);
bool cursor_was_still(const struct ebt_cursor *c, const void *copy);
/* The number of rings up to the last one that was found in use. */
uint32_t cursor_used(const struct ebt_cursor *c);

/* Memory of the cursor without that of ebt_cursor_poll() and ebt_cursor_read(), at most. */
size_t cursor_bytes(const struct ebt_cursor *c);
/* Bytes of the file that have been touched, so that they are in its writer's memory. */
uint64_t cursor_touched_bytes(const struct ebt_cursor *c);
/* State of a ring; domain < max_domains. A ring that was never used has tail 0. Valid until the
 * next look. */
const struct cursor_ring *cursor_ring(const struct ebt_cursor *c, uint32_t domain);
/* Events so far of threads that found no free ring: they are in no ring, and lost. */
uint64_t cursor_ringless(const struct ebt_cursor *c);

/*
 * Copies the next words of a ring, up to the tail of the last look, into words[0..cap). Never
 * across the wrap of the ring, which is always between two records. 1: *ret is written; 0: no more
 * words; -errno. Words overwritten during the copy are counted in ret->lost and not returned. One
 * read for the words and one for the proof, whatever cap is: a large cap costs less.
 */
int cursor_fetch(struct ebt_cursor *c, uint32_t domain, uint64_t *words, size_t cap,
		 struct cursor_fetch *ret);
/* Leaves the words of a ring up to the last look out: how many they are. */
uint64_t cursor_skip(struct ebt_cursor *c, uint32_t domain);

#endif
