/* SPDX-License-Identifier: BSD-2-Clause */
#include "codec/capture/block.h"

#include "base/compress.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_LEAST    (64u << 10)
#define CHECKED_LEAST (64u << 20)
#define CHECKED_RATE  8

enum stage { STAGE_HEAD, STAGE_BLOCKS, STAGE_RECORDS, STAGE_BEHIND, STAGE_DONE };

struct capture_reader {
	struct compress *compress;
	enum stage stage;
	/* in[start..end) are the bytes not consumed yet; in[start] is at file offset `offset`. */
	uint8_t *in;
	size_t start, end, cap;
	uint64_t offset;
	bool ended; /* the file has ended */

	uint8_t *raw; /* records of the current block */
	size_t raw_cap;
	struct capture_block block;
	uint64_t block_offset;
	uint64_t passed;   /* events of earlier blocks, delivered or emitted as lost */
	uint64_t promised; /* events up to the end of the last known block */
	uint64_t checked;  /* bytes of frames that a checksum was computed of */
	uint64_t last_ns;  /* of what was delivered */

	/* Damage that is emitted before the next block, or at the end. */
	bool astray;
	uint64_t astray_offset, astray_bytes;
	struct ebt_event due[2];
	unsigned due_count, due_next;

	struct capture_fault fault;
	struct capture_stats stats;
	struct capture_decoder decoder;
};

int capture_reader_new(struct capture_reader **ret)
{
	struct capture_reader *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	if (compress_new(0, &r->compress)) {
		free(r);
		return -ENOMEM;
	}
	*ret = r;
	return 0;
}

void capture_reader_free(struct capture_reader *r)
{
	if (!r)
		return;
	compress_free(r->compress);
	free(r->in);
	free(r->raw);
	free(r);
}

void *capture_reader_room(struct capture_reader *r, size_t *ret_room)
{
	if (r->start) {
		memmove(r->in, r->in + r->start, r->end - r->start);
		r->end -= r->start;
		r->start = 0;
	}
	/* A request is at most a block, so this is bounded. */
	if (r->cap - r->end < ROOM_LEAST) {
		size_t cap = r->cap ? 2 * r->cap : 4 * ROOM_LEAST;
		uint8_t *in = realloc(r->in, cap);
		if (!in)
			return NULL;
		r->in = in;
		r->cap = cap;
	}
	*ret_room = r->cap - r->end;
	return r->in + r->end;
}

void capture_reader_put(struct capture_reader *r, size_t bytes)
{
	r->end += bytes;
	r->stats.file_bytes += bytes;
	r->ended |= !bytes;
}

static size_t have(const struct capture_reader *r)
{
	return r->end - r->start;
}

static void take(struct capture_reader *r, size_t bytes)
{
	r->start += bytes;
	r->offset += bytes;
}

static void note_fault(struct capture_reader *r, uint64_t offset, const char *expected)
{
	if (r->fault.count++)
		return;
	r->fault.offset = offset;
	r->fault.expected = expected;
}

/* From here on bytes are skipped until the head of a block is found. */
static void go_astray(struct capture_reader *r, uint64_t offset, const char *expected)
{
	if (r->astray)
		return;
	note_fault(r, offset, expected);
	r->astray = true;
	r->astray_offset = offset;
	r->astray_bytes = 0;
}

static void skip(struct capture_reader *r, size_t bytes)
{
	take(r, bytes);
	r->astray_bytes += bytes;
}

static void put_due(struct capture_reader *r, const struct ebt_event *ev)
{
	r->due[r->due_count++] = *ev;
}

/* Queues an EBT_DAMAGE for skipped bytes and an EBT_LOST for events missing up to `before`, at
 * `ts`. */
static void queue_missing(struct capture_reader *r, uint64_t ts, uint64_t before)
{
	uint64_t missing = before > r->passed ? before - r->passed : 0;
	struct ebt_event ev = {
		.ts = ts > r->last_ns ? ts : r->last_ns,
		.pos = EBT_NO_POS,
		.domain = EBT_NO_DOMAIN,
		.cpu = EBT_NO_CPU,
		.flags = EBT_F_FINAL,
	};
	r->due_count = r->due_next = 0;
	if (r->astray) {
		ev.kind = EBT_DAMAGE;
		ev.arg[0] = r->astray_offset;
		ev.arg[1] = (r->astray_bytes + 7) / 8;
		put_due(r, &ev);
	}
	if (missing) {
		r->stats.missing += missing;
		ev.kind = EBT_LOST;
		EBT_LOST_SINCE(&ev) = r->last_ns;
		ev.flags |= r->last_ns ? 0 : EBT_F_NO_SINCE;
		ev.arg[0] = missing;
		ev.arg[1] = 0;
		put_due(r, &ev);
	}
	r->astray = false;
	r->passed = before;
}

static int read_head(struct capture_reader *r)
{
	if (have(r) < CAPTURE_HEAD_BYTES && !r->ended)
		return -EAGAIN;
	int err = have(r) < CAPTURE_HEAD_BYTES ? -EBADMSG : capture_head_get(r->in + r->start);
	if (err) {
		note_fault(r, err == -EPROTO ? 8 : 0,
			   err == -EPROTO ? "version 1" : "a capture's first 16 bytes");
		return err;
	}
	r->stats.version = CAPTURE_VERSION;
	take(r, CAPTURE_HEAD_BYTES);
	r->stage = STAGE_BLOCKS;
	return 0;
}

/* The file ends: within a block if bytes are left. */
static void read_end(struct capture_reader *r)
{
	if (have(r)) {
		go_astray(r, r->offset, "a whole block, found the end of the file");
		skip(r, have(r));
	}
	queue_missing(r, 0, r->promised);
	r->stats.ended = true;
	r->stage = STAGE_DONE;
}

/* Searches for the head of a block from the next byte on. */
static void search(struct capture_reader *r)
{
	static const uint8_t magic[4] = {0x7e, 0xeb, 0x0c, 0xb1};
	skip(r, 1);
	const uint8_t *from = r->in + r->start;
	const uint8_t *found = memmem(from, have(r), magic, sizeof(magic));
	size_t tail = have(r) < sizeof(magic) ? have(r) : sizeof(magic) - 1;
	skip(r, found ? (size_t)(found - from) : have(r) - tail);
}

/* Unpacks the next block into `raw`. */
static int unpack(struct capture_reader *r)
{
	const struct capture_block *b = &r->block;
	const uint8_t *frame = r->in + r->start + CAPTURE_BLOCK_BYTES;
	/* Bounds the work for a file of heads that each claim a long block. */
	r->checked += b->stored;
	if (r->checked > CHECKED_LEAST + CHECKED_RATE * r->offset)
		return -EBADMSG;
	if (compress_crc32(frame, b->stored) != b->crc)
		return -EBADMSG;
	size_t need = b->raw + (size_t)CAPTURE_PAD;
	if (need > r->raw_cap) {
		free(r->raw);
		r->raw = malloc(need);
		r->raw_cap = r->raw ? need : 0;
		if (!r->raw)
			return -ENOMEM;
	}
	ssize_t n = compress_unpack(r->compress, r->raw, b->raw, frame, b->stored);
	if (n >= 0 && n != (ssize_t)b->raw)
		return -EBADMSG;
	if (n < 0)
		return (int)n;
	memset(r->raw + b->raw, 0, CAPTURE_PAD);
	return 0;
}

static void start_records(struct capture_reader *r)
{
	const struct capture_block *b = &r->block;
	r->stats.blocks++;
	r->stats.raw_bytes += b->raw;
	r->stats.stored_bytes += b->stored;
	capture_decoder_start(&r->decoder, r->raw, b->raw, b->first_ns);
	queue_missing(r, b->first_ns, b->before);
	r->promised = b->before + b->events;
	r->block_offset = r->offset;
	take(r, CAPTURE_BLOCK_BYTES + (size_t)b->stored);
	r->stage = STAGE_RECORDS;
}

/* A block with a valid head and a bad body: some of its bytes may be missing, so the next block may
 * begin inside it. */
static void give_up(struct capture_reader *r)
{
	uint64_t promised = r->block.before + r->block.events;
	if (promised > r->promised)
		r->promised = promised;
	search(r);
}

/* Reads the next block, or makes a step towards it. 0, -EAGAIN or -ENOMEM. */
static int read_block(struct capture_reader *r)
{
	if (have(r) < CAPTURE_BLOCK_BYTES) {
		if (!r->ended)
			return -EAGAIN;
		read_end(r);
		return 0;
	}
	if (!capture_block_get(r->in + r->start, &r->block)) {
		go_astray(r, r->offset, "the head of a block");
		search(r);
		return 0;
	}
	if (have(r) - CAPTURE_BLOCK_BYTES < r->block.stored) {
		if (!r->ended)
			return -EAGAIN;
		go_astray(r, r->offset, "a whole block, found the end of the file");
		give_up(r);
		return 0;
	}
	int err = unpack(r);
	if (err == -EBADMSG) {
		go_astray(r, r->offset, "a block whose checksum is right");
		give_up(r);
		return 0;
	}
	if (err)
		return err;
	/* A type of block of a later version. */
	if (r->block.type != CAPTURE_BLOCK_EVENTS && r->block.type != CAPTURE_BLOCK_END)
		take(r, CAPTURE_BLOCK_BYTES + (size_t)r->block.stored);
	else
		start_records(r);
	return 0;
}

static int read_record(struct capture_reader *r, struct capture_item *ret)
{
	int got = capture_decode(&r->decoder, ret);
	if (got == 1) {
		if (ret->what == CAPTURE_EVENT)
			r->last_ns = ret->event.ts;
		if (ret->what == CAPTURE_TRIGGER && !r->stats.triggers++)
			r->stats.trigger = ret->trigger;
		return 1;
	}
	if (got < 0) {
		go_astray(r, r->block_offset, "a block whose records can be read");
		r->astray_bytes = r->block.stored;
	}
	r->passed += r->decoder.events;
	r->stage = r->block.type == CAPTURE_BLOCK_END ? STAGE_BEHIND : STAGE_BLOCKS;
	r->stats.whole = r->block.type == CAPTURE_BLOCK_END;
	return 0;
}

/* The END block must be the last. */
static int read_behind(struct capture_reader *r)
{
	if (!have(r) && !r->ended)
		return -EAGAIN;
	if (have(r))
		go_astray(r, r->offset, "the end of the file");
	skip(r, have(r));
	queue_missing(r, 0, r->promised);
	r->stats.ended = true;
	r->stage = STAGE_DONE;
	return 0;
}

int capture_reader_next(struct capture_reader *r, struct capture_item *ret)
{
	for (;;) {
		if (r->due_next < r->due_count) {
			*ret = (struct capture_item){.event = r->due[r->due_next++]};
			r->last_ns = ret->event.ts;
			return 1;
		}
		int got = 0;
		switch (r->stage) {
		case STAGE_HEAD:
			got = read_head(r);
			break;
		case STAGE_BLOCKS:
			got = read_block(r);
			break;
		case STAGE_RECORDS:
			got = read_record(r, ret);
			break;
		case STAGE_BEHIND:
			got = read_behind(r);
			break;
		case STAGE_DONE:
			return 0;
		}
		if (got)
			return got;
	}
}

const struct capture_fault *capture_reader_fault(const struct capture_reader *r)
{
	return r->fault.count ? &r->fault : NULL;
}

const struct capture_stats *capture_reader_stats(const struct capture_reader *r)
{
	return &r->stats;
}
