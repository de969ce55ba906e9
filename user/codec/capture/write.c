/* SPDX-License-Identifier: BSD-2-Clause */
#include "codec/capture/block.h"

#include "base/array.h"
#include "base/compress.h"
#include "base/hash.h"
#include "base/leb128.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Slots of the hash tables, twice as many as there may be entries. */
#define SLOTS	   8192
#define RECENT	   1024 /* shapes that are found without the hash table: 128 ids of 8 kinds */
#define FIRST_ROOM (64u << 10)
/* The most bytes before an item's content. */
#define ITEM_HEAD 16
/* Stacks leave room for a payload and for one frame with all strings new. */
#define STACKS_RAW_MAX (7u << 18)

struct capture_writer {
	struct compress *compress;
	uint8_t *raw; /* the open block's records */
	size_t len, cap;
	uint8_t *block; /* the closed block: head and frame */
	size_t block_cap;
	uint64_t first_ns, last_ns, before;
	uint32_t events; /* that count, in the open block */
	bool has_ts;
	bool tables_full; /* of lanes, or of shapes */
	uint32_t lane, lane_count, shape_count;
	uint32_t strings, frames, stacks; /* in the open block */
	struct capture_lane lanes[CAPTURE_LANES];
	struct capture_shape shapes[CAPTURE_SHAPES];
	/* By the hash of an entry: its number + 1; 0: free. */
	uint16_t lane_at[SLOTS], shape_at[SLOTS];
	/* By id and kind: the number + 1 of the shape used last for them; 0: none. */
	uint16_t recent[RECENT];
};

static void start_block(struct capture_writer *w)
{
	w->len = 0;
	w->before += w->events;
	w->events = 0;
	w->has_ts = false;
	w->first_ns = w->last_ns;
	w->lane = UINT32_MAX;
	w->lane_count = w->shape_count = 0;
	w->tables_full = false;
	w->strings = w->frames = w->stacks = 0;
	memset(w->lane_at, 0, sizeof(w->lane_at));
	memset(w->shape_at, 0, sizeof(w->shape_at));
	memset(w->recent, 0, sizeof(w->recent));
}

int capture_writer_new(int level, struct capture_writer **ret)
{
	struct capture_writer *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->raw = malloc(FIRST_ROOM);
	w->cap = FIRST_ROOM;
	if (!w->raw || compress_new(level, &w->compress)) {
		capture_writer_free(w);
		return -ENOMEM;
	}
	start_block(w);
	*ret = w;
	return 0;
}

void capture_writer_free(struct capture_writer *w)
{
	if (!w)
		return;
	compress_free(w->compress);
	free(w->raw);
	free(w->block);
	free(w);
}

static __attribute__((noinline)) bool grow(struct capture_writer *w, size_t need)
{
	return array_reserve(w->raw, w->cap, w->len + need - 1);
}

/* Where the next record is written, with room for `need` bytes. NULL: no memory. */
static inline uint8_t *room(struct capture_writer *w, size_t need)
{
	return w->cap - w->len >= need || grow(w, need) ? w->raw + w->len : NULL;
}

static inline uint8_t *put_v(uint8_t *p, uint64_t v)
{
	return leb128_put(p, v);
}

static inline uint8_t *put_z(uint8_t *p, uint64_t difference)
{
	return leb128_put(p, leb128_fold(difference));
}

static uint32_t slot_of(uint64_t first, uint64_t second)
{
	return (uint32_t)(hash_u64(hash_u64(hash_start(), first), second) % SLOTS);
}

static uint32_t find_lane(const struct capture_writer *w, const struct ebt_event *ev,
			  uint32_t *ret_slot)
{
	uint32_t i = slot_of(ev->pid, ev->domain);
	for (; w->lane_at[i]; i = (i + 1) % SLOTS) {
		const struct capture_lane *l = &w->lanes[w->lane_at[i] - 1];
		if (l->pid == ev->pid && l->domain == ev->domain)
			break;
	}
	*ret_slot = i;
	return w->lane_at[i] ? w->lane_at[i] - 1u : w->lane_count;
}

/* Whether the event before this one was of the same lane. */
static bool is_of_lane(const struct capture_writer *w, const struct ebt_event *ev)
{
	return w->lane < w->lane_count && w->lanes[w->lane].pid == ev->pid &&
	       w->lanes[w->lane].domain == ev->domain;
}

/* Writes the number of the event's lane, and the lane itself if it is new. */
static uint8_t *put_lane(struct capture_writer *w, uint8_t *p, const struct ebt_event *ev)
{
	uint32_t slot, lane = find_lane(w, ev, &slot);
	p = put_v(p, lane);
	w->lane = lane;
	if (lane < w->lane_count)
		return p;
	w->lane_at[slot] = (uint16_t)++w->lane_count;
	w->tables_full |= w->lane_count == CAPTURE_LANES;
	w->lanes[lane] = (struct capture_lane){
		.pid = ev->pid,
		.domain = ev->domain,
		.cpu = EBT_NO_CPU,
		.next_pos = EBT_NO_POS,
	};
	p = put_v(p, ev->pid);
	return put_v(p, (uint16_t)(ev->domain + 1));
}

static inline bool is_shape(const struct capture_shape *s, const struct capture_shape *key)
{
	return s->id == key->id && s->kind == key->kind && s->flags == key->flags &&
	       s->size == key->size;
}

/* Finds a shape in the hash table, or writes it behind its number there. */
static uint8_t *add_shape(struct capture_writer *w, uint8_t *p, const struct capture_shape *key,
			  uint16_t *ret_number)
{
	uint32_t i = slot_of((uint64_t)key->kind << 16 | key->flags,
			     (uint64_t)key->id << 32 | key->size);
	while (w->shape_at[i] && !is_shape(&w->shapes[w->shape_at[i] - 1], key))
		i = (i + 1) % SLOTS;
	if (w->shape_at[i]) {
		*ret_number = w->shape_at[i];
		return put_v(p, *ret_number - 1u);
	}
	w->shapes[w->shape_count] = *key;
	p = put_v(p, w->shape_count);
	p = put_v(p, key->kind);
	p = put_v(p, key->id);
	p = put_v(p, key->flags);
	p = put_v(p, key->size);
	*ret_number = w->shape_at[i] = (uint16_t)++w->shape_count;
	w->tables_full |= w->shape_count == CAPTURE_SHAPES;
	return p;
}

static struct capture_shape *put_shape(struct capture_writer *w, uint8_t **p,
				       const struct ebt_event *ev)
{
	struct capture_shape key = {.id = ev->id,
				    .size = ev->flags & EBT_F_PAYLOAD ? 0 : ev->size,
				    .kind = ev->kind,
				    .flags = ev->flags & (uint16_t)~EBT_F_FINAL};
	uint16_t *recent = &w->recent[(key.id * 8 + key.kind) % RECENT];
	if (*recent && is_shape(&w->shapes[*recent - 1], &key))
		*p = put_v(*p, *recent - 1u);
	else
		*p = add_shape(w, *p, &key, recent);
	return &w->shapes[*recent - 1];
}

/* *bytes becomes the length of the payload that is kept. */
static bool is_cut(const struct ebt_event *ev, size_t *bytes)
{
	if (!(ev->flags & EBT_F_PAYLOAD) || *bytes <= CAPTURE_PAYLOAD_MAX)
		return false;
	*bytes = CAPTURE_PAYLOAD_MAX;
	return true;
}

/* Writes the fields that differ from what the lane predicts. Returns their bits. */
static unsigned put_surprises(struct capture_lane *l, uint8_t **pp, const struct ebt_event *ev)
{
	uint8_t *p = *pp;
	unsigned brings = 0;
	if (ev->tid != l->tid || ev->cpu != l->cpu || ev->stack != l->stack) {
		brings |= CAPTURE_WHERE;
		p = put_v(p, ev->tid);
		p = put_v(p, (uint16_t)(ev->cpu + 1));
		p = put_v(p, ev->stack);
		l->tid = ev->tid;
		l->cpu = ev->cpu;
		l->stack = ev->stack;
	}
	if (ev->pos != l->next_pos) {
		brings |= CAPTURE_POS;
		p = put_z(p, ev->pos - l->next_pos);
	}
	uint64_t seq = capture_expected_seq(l, ev->flags);
	if (ev->seq != seq) {
		brings |= CAPTURE_SEQ;
		p = put_z(p, ev->seq - seq);
	}
	*pp = p;
	return brings;
}

static unsigned put_args(struct capture_shape *s, uint8_t **pp, const struct ebt_event *ev)
{
	unsigned brings = 0;
	for (unsigned i = 0; i < 2; i++) {
		if (ev->arg[i] == s->arg[i])
			continue;
		brings |= CAPTURE_ARG0 << i;
		*pp = put_z(*pp, ev->arg[i] - s->arg[i]);
		s->arg[i] = ev->arg[i];
	}
	return brings;
}

int capture_put_event(struct capture_writer *w, const struct ebt_event *ev, const void *payload,
		      size_t payload_bytes)
{
	struct ebt_event cut;
	if (is_cut(ev, &payload_bytes)) {
		cut = *ev;
		cut.flags |= EBT_F_CUT;
		ev = &cut;
	}
	bool has_payload = ev->flags & EBT_F_PAYLOAD;
	uint8_t *head = room(w, CAPTURE_PAD + (has_payload ? payload_bytes : 0));
	if (!head)
		return -ENOMEM;
	if (!w->has_ts)
		w->first_ns = w->last_ns = ev->ts;
	w->has_ts = true;
	unsigned brings = 0;
	uint8_t *p = head + 1;
	if (!is_of_lane(w, ev)) {
		brings |= CAPTURE_LANE;
		p = put_lane(w, p, ev);
	}
	struct capture_lane *l = &w->lanes[w->lane];
	struct capture_shape *s = put_shape(w, &p, ev);
	bool back = ev->ts < w->last_ns;
	brings |= back ? CAPTURE_BACK : 0;
	p = put_v(p, back ? w->last_ns - ev->ts : ev->ts - w->last_ns);
	w->last_ns = ev->ts;
	brings |= put_surprises(l, &p, ev);
	if (has_payload) {
		p = put_v(p, ev->size);
		p = put_v(p, payload_bytes);
		if (payload_bytes)
			memcpy(p, payload, payload_bytes);
		p += payload_bytes;
	} else {
		brings |= put_args(s, &p, ev);
	}
	*head = (uint8_t)brings;
	w->len += (size_t)(p - head);
	if (capture_counts(ev->kind)) {
		capture_lane_passed(l, ev);
		w->events++;
	}
	return 0;
}

static void count_item(struct capture_writer *w, const struct capture_item *item)
{
	w->strings += item->what == CAPTURE_STRING;
	w->frames += item->what == CAPTURE_FRAME;
	w->stacks += item->what == CAPTURE_STACK ? item->stack.count : 0;
}

int capture_put_item(struct capture_writer *w, const struct capture_item *item)
{
	uint8_t *p = room(w, ITEM_HEAD + capture_item_room(item));
	if (!p)
		return -ENOMEM;
	uint8_t *content = p + ITEM_HEAD;
	size_t len = (size_t)(capture_item_put(content, item) - content);
	*p++ = (uint8_t)(CAPTURE_ITEM | item->what);
	p = put_v(p, len);
	memmove(p, content, len);
	w->len = (size_t)(p + len - w->raw);
	count_item(w, item);
	return 0;
}

uint32_t capture_last_number(const struct capture_writer *w, enum capture_what what)
{
	return what == CAPTURE_STRING  ? w->strings
	       : what == CAPTURE_FRAME ? w->frames
	       : what == CAPTURE_STACK ? w->stacks
				       : 0;
}

bool capture_takes_run(const struct capture_writer *w)
{
	return w->len < STACKS_RAW_MAX && w->frames < CAPTURE_FRAMES &&
	       w->stacks <= CAPTURE_STACKS - CAPTURE_RUN_MAX &&
	       w->strings <= CAPTURE_STRINGS - 2 * CAPTURE_POSITIONS_MAX;
}

size_t capture_open_bytes(const struct capture_writer *w)
{
	return w->len;
}

bool capture_is_full(const struct capture_writer *w, size_t bytes)
{
	size_t most = CAPTURE_RAW_MAX - CAPTURE_PAYLOAD_MAX - CAPTURE_ITEM_MAX + 1;
	return w->tables_full || w->len >= (bytes < most ? bytes : most);
}

void capture_follow(struct capture_writer *w, const struct capture_writer *other)
{
	w->before = other->before + other->events;
	w->first_ns = w->last_ns = other->last_ns;
}

ssize_t capture_close_block(struct capture_writer *w, enum capture_block_type type,
			    const void **ret_bytes)
{
	size_t cap = CAPTURE_BLOCK_BYTES + compress_bound(w->len);
	if (!array_reserve(w->block, w->block_cap, cap - 1))
		return -ENOMEM;
	uint8_t *frame = w->block + CAPTURE_BLOCK_BYTES;
	ssize_t n = compress_pack(w->compress, frame, cap - CAPTURE_BLOCK_BYTES, w->raw, w->len);
	if (n < 0)
		return n;
	struct capture_block b = {
		.type = type,
		.stored = (uint32_t)n,
		.raw = (uint32_t)w->len,
		.events = w->events,
		.crc = compress_crc32(frame, (size_t)n),
		.first_ns = w->first_ns,
		.before = w->before,
	};
	capture_block_put(&b, w->block);
	start_block(w);
	*ret_bytes = w->block;
	return CAPTURE_BLOCK_BYTES + n;
}
