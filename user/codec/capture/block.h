/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by reader and writer of captures: the head of a block, the tables of lanes and shapes by
 * which its events are packed, the encoder of items, and the decoder of all records. capture.h
 * defines the format.
 */
#ifndef CODEC_CAPTURE_BLOCK_H
#define CODEC_CAPTURE_BLOCK_H

#include "codec/capture/capture.h"

#define CAPTURE_LANES  4096
#define CAPTURE_SHAPES 4096
/* Zero bytes behind a block's records, more than the longest event without its payload: an event is
 * decoded without a check of the end for each number. */
#define CAPTURE_PAD 256

enum capture_brings {
	CAPTURE_LANE = 0x01,
	CAPTURE_BACK = 0x02,
	CAPTURE_WHERE = 0x04,
	CAPTURE_POS = 0x08,
	CAPTURE_SEQ = 0x10,
	CAPTURE_ARG0 = 0x20,
	CAPTURE_ARG1 = 0x40,
	CAPTURE_ITEM = 0x80,
};

/* The known fields of a position of a frame. */
enum capture_has {
	CAPTURE_HAS_LINE = 1,
	CAPTURE_HAS_CHARS = 2,
};

struct capture_block {
	uint32_t type, stored, raw, events, crc;
	uint64_t first_ns, before;
};

void capture_block_put(const struct capture_block *b, uint8_t *ret);
/* False: not the head of a block, or one with a wrong checksum or sizes. */
bool capture_block_get(const uint8_t *p, struct capture_block *ret);

/* The first CAPTURE_HEAD_BYTES of a file. 0; -EBADMSG: no capture; -EPROTO: another version. */
int capture_head_get(const uint8_t *p);

/* The most bytes that the content of an item occupies. */
size_t capture_item_room(const struct capture_item *item);
/* The content of an item, which is no event, to p. Returns the byte behind it. */
uint8_t *capture_item_put(uint8_t *p, const struct capture_item *item);

struct capture_lane {
	uint64_t next_pos;
	uint32_t pid, tid, stack, next_seq;
	uint16_t domain, cpu;
};

struct capture_shape {
	uint32_t id, size;
	uint16_t kind, flags;
	uint64_t arg[2];
};

/* Of each kind (events.def): known, and counted in a block's `events`. */
enum capture_kind { CAPTURE_UNKNOWN, CAPTURE_COUNTED, CAPTURE_UNCOUNTED };
extern const uint8_t capture_kinds[EBT_KINDS];

static inline bool capture_knows(uint16_t kind)
{
	return kind < EBT_KINDS && capture_kinds[kind];
}

/* True if it counts as an event: not a loss, damage or change of a process. */
static inline bool capture_counts(uint16_t kind)
{
	return kind >= EBT_KINDS || capture_kinds[kind] != CAPTURE_UNCOUNTED;
}

static inline uint64_t capture_expected_seq(const struct capture_lane *l, uint16_t flags)
{
	return flags & EBT_F_SEQ ? l->next_seq : 0;
}

/* Updates the expected pos and seq of the lane's next event, behind one that counts. */
static inline void capture_lane_passed(struct capture_lane *l, const struct ebt_event *ev)
{
	l->next_pos = ev->pos == EBT_NO_POS ? EBT_NO_POS : ev->pos + ev->size;
	if (ev->flags & EBT_F_SEQ)
		l->next_seq = ev->seq + 1;
}

/* Decodes the records of one block in order. */
struct capture_decoder {
	const uint8_t *at, *end;
	uint64_t ts;
	uint64_t events; /* delivered so far, those that count */
	uint32_t lane, lane_count, shape_count;
	uint32_t strings, frames, stacks; /* numbered so far in the block */
	struct capture_lane lanes[CAPTURE_LANES];
	struct capture_shape shapes[CAPTURE_SHAPES];
	union { /* of the item that was decoded last */
		struct capture_position position[CAPTURE_POSITIONS_MAX];
		uint32_t frame[CAPTURE_RUN_MAX];
	};
};

/* `raw` has CAPTURE_PAD zeroes behind its `len` bytes, and stays the caller's. */
void capture_decoder_start(struct capture_decoder *d, const void *raw, size_t len,
			   uint64_t first_ns);
/* 1: *ret is the next item; 0: the end of the block; -EBADMSG: the next record is damaged. */
int capture_decode(struct capture_decoder *d, struct capture_item *ret);

#endif
