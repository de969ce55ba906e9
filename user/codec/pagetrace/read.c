/* SPDX-License-Identifier: BSD-2-Clause */
/* The reader of page traces in the order of the file. */
#include "codec/pagetrace/walk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_WORDS (2 * PAGETRACE_BLOCK_WORDS)

struct ebt_pagetrace_reader {
	struct pagetrace_walk walk;
	size_t bytes; /* put, from walk.word on */
	int err;
	struct ebt_pagetrace_counts counts;
	char reason[EBT_PAGETRACE_REASON_BYTES];
	uint64_t buffer[BUFFER_WORDS];
};

int ebt_pagetrace_reader_new(struct ebt_pagetrace_reader **ret)
{
	struct ebt_pagetrace_reader *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->walk.word = r->buffer;
	r->walk.counts = &r->counts;
	*ret = r;
	return 0;
}

void ebt_pagetrace_reader_free(struct ebt_pagetrace_reader *r)
{
	free(r);
}

void *ebt_pagetrace_room(struct ebt_pagetrace_reader *r, size_t *ret_bytes)
{
	memmove(r->buffer, r->walk.word, r->bytes);
	r->walk.word = r->buffer;
	*ret_bytes = sizeof(r->buffer) - r->bytes;
	return (char *)r->buffer + r->bytes;
}

void ebt_pagetrace_put(struct ebt_pagetrace_reader *r, size_t bytes)
{
	r->bytes += bytes;
	r->walk.words = r->bytes / 8;
}

void ebt_pagetrace_finish(struct ebt_pagetrace_reader *r)
{
	r->walk.whole = true;
	r->walk.tail_bytes = r->bytes % 8;
}

/* The first two words must be a block's. 0, -EAGAIN or -EBADMSG. */
static int check_head(struct ebt_pagetrace_reader *r)
{
	if (r->counts.blocks || (r->walk.whole && !r->bytes))
		return 0;
	if (r->bytes < EBT_PAGETRACE_HEAD_BYTES && !r->walk.whole)
		return -EAGAIN;
	if (ebt_pagetrace_is(r->walk.word, r->bytes))
		return 0;
	snprintf(r->reason, sizeof(r->reason), "at byte 0: expected a block: a P and a time");
	return -EBADMSG;
}

static void set_reason(struct ebt_pagetrace_reader *r, const struct ebt_pagetrace_event *damage)
{
	if (!*r->reason)
		snprintf(r->reason, sizeof(r->reason), "at byte %llu: expected %s",
			 (unsigned long long)damage->addr, r->walk.expected);
}

static ssize_t read_events(struct ebt_pagetrace_reader *r, struct ebt_pagetrace_event *ev,
			   size_t cap)
{
	struct pagetrace_walk *k = &r->walk;
	size_t n = 0;
	while (n < cap) {
		if (!k->damage_bytes)
			n += pagetrace_walk_events(k, ev + n, cap - n);
		if (n == cap)
			break;
		enum pagetrace_next next = pagetrace_walk_next(k, ev + n);
		if (next == PAGETRACE_NEXT_DAMAGE)
			set_reason(r, &ev[n++]);
		else if (next == PAGETRACE_NEXT_MORE)
			return n ? (ssize_t)n : -EAGAIN;
		else if (next == PAGETRACE_NEXT_END)
			break;
	}
	return (ssize_t)n;
}

ssize_t ebt_pagetrace_read(struct ebt_pagetrace_reader *r, struct ebt_pagetrace_event *ev,
			   size_t cap)
{
	int err = r->err ? r->err : check_head(r);
	if (err == -EBADMSG)
		r->err = err;
	if (err)
		return err;
	ssize_t n = read_events(r, ev, cap);
	/* Bytes that are no whole word yet follow the walk's words. */
	r->bytes = r->walk.words * 8 + (r->walk.whole ? r->walk.tail_bytes : r->bytes % 8);
	return n;
}

struct ebt_pagetrace_counts ebt_pagetrace_counts(const struct ebt_pagetrace_reader *r)
{
	return r->counts;
}

const char *ebt_pagetrace_reason(const struct ebt_pagetrace_reader *r)
{
	return r->reason;
}
