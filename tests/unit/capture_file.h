/* SPDX-License-Identifier: BSD-2-Clause */
/* Capture files in memory: made block by block, and read to their end. */
#ifndef TESTS_CAPTURE_FILE_H
#define TESTS_CAPTURE_FILE_H

#include "codec/capture/block.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A file in memory. */
struct bytes {
	uint8_t *data;
	size_t len;
};

static void append(struct bytes *b, const void *data, size_t len)
{
	b->data = realloc(b->data, b->len + len + 1);
	if (!b->data)
		abort();
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

static void append_head(struct bytes *b)
{
	uint8_t head[CAPTURE_HEAD_BYTES];
	capture_put_head(head);
	append(b, head, sizeof(head));
}

static void append_block(struct bytes *b, struct capture_writer *w, enum capture_block_type type)
{
	const void *block;
	ssize_t n = capture_close_block(w, type, &block);
	if (n < 0)
		abort();
	append(b, block, (size_t)n);
}

static struct capture_writer *new_writer(void)
{
	struct capture_writer *w;
	if (capture_writer_new(1, &w))
		abort();
	return w;
}

/* What a reader gives for a file. */
struct result {
	struct capture_item *items; /* payloads copied */
	size_t count, cap;
	size_t events, lost, damaged; /* events that count; as the losses say; places */
	int end;
	struct capture_fault fault;
	struct capture_stats stats;
};

static void keep(struct result *r, const struct capture_item *item)
{
	if (r->count == r->cap) {
		r->cap = r->cap ? 2 * r->cap : 64;
		r->items = realloc(r->items, r->cap * sizeof(*r->items));
		if (!r->items)
			abort();
	}
	struct capture_item *copy = &r->items[r->count++];
	*copy = *item;
	if (item->what != CAPTURE_EVENT)
		return;
	r->events += capture_counts(item->event.kind);
	r->lost += item->event.kind == EBT_LOST && item->event.domain == EBT_NO_DOMAIN
			   ? item->event.arg[0]
			   : 0;
	r->damaged += item->event.kind == EBT_DAMAGE;
	if (!item->payload)
		return;
	void *payload = malloc(item->payload_bytes + 1);
	if (!payload)
		abort();
	memcpy(payload, item->payload, item->payload_bytes);
	copy->payload = payload;
}

/* In portions of at most `portion` bytes, each from memory of its own. */
static struct result read_all(const uint8_t *data, size_t len, size_t portion)
{
	struct result r = {0};
	struct capture_reader *reader;
	struct capture_item item;
	if (capture_reader_new(&reader))
		abort();
	for (;;) {
		r.end = capture_reader_next(reader, &item);
		if (r.end == 1)
			keep(&r, &item);
		else if (r.end != -EAGAIN)
			break;
		if (r.end == 1)
			continue;
		size_t room;
		void *into = capture_reader_room(reader, &room);
		size_t n = len < portion ? len : portion;
		n = n < room ? n : room;
		if (n)
			memcpy(into, data, n);
		capture_reader_put(reader, n);
		data += n;
		len -= n;
	}
	if (capture_reader_fault(reader))
		r.fault = *capture_reader_fault(reader);
	r.stats = *capture_reader_stats(reader);
	capture_reader_free(reader);
	return r;
}

static void done(struct result *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->items[i].what == CAPTURE_EVENT)
			free((void *)r->items[i].payload);
	free(r->items);
}

__attribute__((unused)) static bool same_event(const struct capture_item *a,
					       const struct capture_item *b)
{
	struct ebt_event x = a->event, y = b->event;
	x.flags |= EBT_F_FINAL;
	if (x.flags & EBT_F_PAYLOAD) {
		x.arg[0] = y.arg[0] = 0;
		x.arg[1] = a->payload_bytes;
		if (a->payload_bytes != b->payload_bytes ||
		    memcmp(a->payload, b->payload, a->payload_bytes))
			return false;
	}
	return !memcmp(&x, &y, sizeof(x));
}

/* Events as rings bring them: a phase in a domain, now and then a counter. */
__attribute__((unused)) static struct ebt_event tame_event(unsigned i)
{
	bool counter = i % 5 == 4;
	return (struct ebt_event){
		.ts = 1000000 + 137ull * i,
		.pos = 2ull * i,
		.pid = 4711,
		.kind = counter ? EBT_COUNTER
			: i & 1 ? EBT_END
				: EBT_BEGIN,
		.cpu = EBT_NO_CPU,
		.flags = EBT_F_RING | EBT_F_SEQ,
		.id = i % 7,
		.seq = i,
		.size = 2,
		.arg = {counter ? i * 1000 : 0, 0},
	};
}

#endif
