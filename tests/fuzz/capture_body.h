/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a capture of any bytes to its end. Shared by the fuzz target and by the test that shows how
 * far its seeds reach.
 *
 * Checksums keep a fuzzer out of the records, so an input that does not begin as a capture is taken
 * as the records of one block, as they are when they are unpacked.
 *
 * The seeds are made so: `file` is the capture of a small ring with user events, `damaged` the same
 * with bytes changed in its first block and behind its end; `records` and `wild` are blocks
 * unpacked, of that ring and of test_capture's wild items; `stacks` is the file, `stack-records`
 * the first block of a capture of 40 events with stacks as test_capture_stacks draws them. `lanes`,
 * `shapes`, `positions` and `runs` are records that fill a table of the decoder, then exceed it by
 * one: an event of each of CAPTURE_LANES + 1 lanes, and of CAPTURE_SHAPES + 1 shapes; a frame of
 * CAPTURE_POSITIONS_MAX positions, and one of one more; an item of CAPTURE_RUN_MAX stacks,
 * likewise.
 */
#ifndef FUZZ_CAPTURE_BODY_H
#define FUZZ_CAPTURE_BODY_H

#include "codec/capture/block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct capture_body {
	volatile uint8_t sink;
	size_t events, payloads, items, bad; /* bad: lost and damage */
	size_t stacks;			     /* events with a stack */
	int end;			     /* what the last call gave */
};

/* Everything is read that a source will read, and numbers keep to the limits of a block. */
static void capture_body_stacks(struct capture_body *b, const struct capture_item *item)
{
	const struct capture_frame *f = &item->frame;
	const struct capture_stack *s = &item->stack;
	switch (item->what) {
	case CAPTURE_STRING:
		for (size_t i = 0; i < item->string.bytes; i++)
			b->sink = (uint8_t)item->string.text[i];
		break;
	case CAPTURE_FRAME:
		for (uint32_t i = 0; i < f->count; i++)
			if (f->position[i].function > CAPTURE_STRINGS ||
			    f->position[i].file > CAPTURE_STRINGS)
				abort();
		break;
	case CAPTURE_STACK:
		if (s->parent >= s->number || s->count > CAPTURE_RUN_MAX ||
		    s->number + s->count - 1 > CAPTURE_STACKS)
			abort();
		for (uint32_t i = 0; i < s->count; i++)
			if (!s->frame[i] || s->frame[i] > CAPTURE_FRAMES)
				abort();
		break;
	default:
		break;
	}
}

static void capture_body_take(struct capture_body *b, const struct capture_item *item)
{
	if (item->what != CAPTURE_EVENT) {
		b->items++;
		capture_body_stacks(b, item);
		if (item->what == CAPTURE_NAME)
			b->sink = (uint8_t)strlen(item->name.text);
		if (item->what == CAPTURE_PROCESS)
			b->sink = (uint8_t)strlen(item->process.comm);
		return;
	}
	for (size_t i = 0; i < item->payload_bytes; i++)
		b->sink = ((const uint8_t *)item->payload)[i];
	b->stacks += item->event.stack != 0;
	b->payloads += item->payload != NULL;
	b->bad += !capture_counts(item->event.kind);
	b->events += capture_counts(item->event.kind);
}

static void capture_body_file(struct capture_body *b, const uint8_t *data, size_t size)
{
	struct capture_reader *r;
	struct capture_item item;
	if (capture_reader_new(&r))
		abort();
	while ((b->end = capture_reader_next(r, &item)) == 1 || b->end == -EAGAIN) {
		if (b->end == 1) {
			capture_body_take(b, &item);
			continue;
		}
		size_t room;
		void *into = capture_reader_room(r, &room);
		size_t n = size < 1000 ? size : 1000;
		memcpy(into, data, n);
		capture_reader_put(r, n);
		data += n;
		size -= n;
	}
	capture_reader_free(r);
}

static void capture_body_records(struct capture_body *b, const uint8_t *data, size_t size)
{
	struct capture_decoder *d = malloc(sizeof(*d));
	uint8_t *raw = calloc(1, size + CAPTURE_PAD);
	struct capture_item item;
	if (!d || !raw)
		abort();
	memcpy(raw, data, size);
	capture_decoder_start(d, raw, size, 0);
	while ((b->end = capture_decode(d, &item)) == 1)
		capture_body_take(b, &item);
	free(raw);
	free(d);
}

static struct capture_body capture_body(const uint8_t *data, size_t size)
{
	struct capture_body b = {0};
	if (capture_is(data, size))
		capture_body_file(&b, data, size);
	else
		capture_body_records(&b, data, size);
	return b;
}

#endif
