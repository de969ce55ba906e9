/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a memtrace trace of any bytes to its end, as a source does: every code, position and name.
 * Shared by the fuzz target and the tests.
 */
#ifndef FUZZ_MEMTRACE_BODY_H
#define FUZZ_MEMTRACE_BODY_H

#include <ebtrace/memtrace.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MEMTRACE_BODY_BATCH 64

struct memtrace_body {
	struct ebt_memtrace_reader *reader;
	/* Called with each event, if not NULL. */
	void (*on_event)(void *ctx, struct ebt_memtrace_reader *r, struct ebt_memtrace_event *e);
	void *ctx;
	const uint16_t *domain; /* only its events are read; NULL: those of all */
	volatile uint64_t used;
	size_t events, frames;
	ssize_t end; /* what the last read returned */
};

static void memtrace_body_event(struct memtrace_body *b, struct ebt_memtrace_event *e)
{
	const struct ebt_memtrace_location *l;
	for (uint32_t i = 0; i < e->frames; i++) {
		size_t n = ebt_memtrace_locations(b->reader, e->frame[i], &l);
		for (size_t k = 0; k < n; k++)
			b->used += (l[k].file ? strlen(l[k].file) : 0) +
				   (l[k].function ? strlen(l[k].function) : 0) + l[k].line;
	}
	if (e->what == EBT_MEMTRACE_ALLOC && e->common > EBT_MEMTRACE_DEPTH)
		abort();
	b->events++;
	b->frames += e->frames;
	if (b->on_event)
		b->on_event(b->ctx, b->reader, e);
}

/* The bytes arrive in pieces of at most `piece`. The caller frees the reader. */
__attribute__((unused)) static void memtrace_body(struct memtrace_body *b, const uint8_t *data,
						  size_t size, size_t piece, unsigned flags)
{
	struct ebt_memtrace_event ev[MEMTRACE_BODY_BATCH];
	if (ebt_memtrace_reader_new(flags, &b->reader))
		abort();
	if (b->domain)
		ebt_memtrace_select(b->reader, *b->domain);
	while ((b->end = ebt_memtrace_read(b->reader, ev, MEMTRACE_BODY_BATCH))) {
		if (b->end < 0 && b->end != -EAGAIN)
			return;
		for (ssize_t i = 0; i < b->end; i++)
			memtrace_body_event(b, &ev[i]);
		if (b->end > 0)
			continue;
		size_t room, n = size < piece ? size : piece;
		void *to = ebt_memtrace_room(b->reader, &room);
		if (!n)
			ebt_memtrace_finish(b->reader);
		n = n < room ? n : room;
		if (n)
			memcpy(to, data, n);
		ebt_memtrace_put(b->reader, n);
		data += n;
		size -= n;
	}
}

#endif
