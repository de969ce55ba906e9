/* SPDX-License-Identifier: BSD-2-Clause */
#include "codec/memtrace_packet.h"

#include <errno.h>
#include <stdlib.h>

#define LOW_TIME ((1u << MEMTRACE_TIME_BITS) - 1)
/* The most codes that a code word stands for. */
#define CODES_OF_WORD 256
#define FRAMES_FIRST  (64u << 10)

static const char *head_fault(const struct memtrace_head *h, uint32_t bits)
{
	if (bits & 7)
		return "whole bytes in a packet";
	if (h->bytes < h->head_bytes)
		return "a packet not shorter than its head";
	if (h->bytes > EBT_MEMTRACE_PACKET_BYTES)
		return "a packet of at most 32768 bytes";
	if (h->time_begin > h->time_end)
		return "a packet that ends after it begins";
	if (h->id_begin > h->id_end || h->id_end > INT64_MAX)
		return "ids of a packet that ascend";
	return NULL;
}

ssize_t memtrace_head(const uint8_t *p, size_t bytes, struct memtrace_head *ret,
		      const char **expected)
{
	struct memtrace_head h = {.head_bytes = MEMTRACE_HEAD_BYTES};
	uint8_t v3[MEMTRACE_HEAD_BYTES];
	if (bytes < MEMTRACE_HEAD_BYTES)
		return 0;
	*expected = "the head of a packet, c11ffcc1";
	if (memtrace_u32(p) != MEMTRACE_MAGIC)
		return -EBADMSG;
	h.version = memtrace_u16(p + 28);
	*expected = "a version from 1 to 3";
	if (!h.version || h.version > MEMTRACE_VERSION)
		return -EPROTO;
	memcpy(v3, p, sizeof(v3));
	if (h.version < 3) {
		h.head_bytes = MEMTRACE_HEAD_BYTES - 2;
		memcpy(v3 + 40, p + 38, MEMTRACE_HEAD_BYTES - 40);
		memset(v3 + 38, 0, 2);
	}
	h.bytes = memtrace_u32(p + 4) / 8;
	h.time_begin = memtrace_u64(v3 + 8);
	h.time_end = memtrace_u64(v3 + 16);
	h.pid = memtrace_u64(v3 + 30);
	h.domain = memtrace_u16(v3 + 38);
	h.verifier = memtrace_u16(v3 + 40);
	h.predicted = memtrace_u16(v3 + 42);
	h.verifier_code = memtrace_int(v3 + 44);
	h.id_begin = memtrace_u64(v3 + 52);
	h.id_end = memtrace_u64(v3 + 60);
	*expected = head_fault(&h, memtrace_u32(p + 4));
	if (*expected)
		return -EBADMSG;
	*ret = h;
	return h.bytes;
}

void memtrace_stream_done(struct memtrace_stream *s)
{
	free(s->buckets);
	s->buckets = NULL;
}

void memtrace_stream_forget(struct memtrace_stream *s)
{
	memtrace_files_forget(&s->files);
	s->depth_unknown = true;
	if (!s->buckets)
		return;
	s->epoch++;
	for (uint32_t i = 0; i <= MEMTRACE_LOST_BUCKET; i++)
		s->buckets[i].code = EBT_MEMTRACE_UNKNOWN;
}

/* A number of 1 to 9 bytes. */
static inline const uint8_t *number(const uint8_t *p, int64_t *ret)
{
	uint8_t first = *p++;
	switch (first) {
	case 253:
		*ret = memtrace_u16(p);
		return p + 2;
	case 254:
		*ret = (int32_t)memtrace_u32(p);
		return p + 4;
	case 255:
		*ret = memtrace_int(p);
		return p + 8;
	default:
		*ret = first;
		return p;
	}
}

/* Room for the codes of `words` code words; false: no memory. Only while
 * no event refers to the memory may it move. */
static bool reserve(struct memtrace_frames *f, size_t words)
{
	size_t cap = words * CODES_OF_WORD;
	int64_t *grown =
		realloc(f->codes, (cap < FRAMES_FIRST ? FRAMES_FIRST : cap) * sizeof(*grown));
	if (!grown)
		return false;
	f->codes = grown;
	f->cap = cap < FRAMES_FIRST ? FRAMES_FIRST : cap;
	return true;
}

/*
 * Each word is at most 10 bytes and begins before `end`, so no read is behind the pad. A word behind
 * a bucket that is not known is the next one of any bucket, so none is known any more.
 */
__attribute__((always_inline)) static inline const uint8_t *
decode_words(struct memtrace_stream *s, const uint8_t *p, const uint8_t *end, size_t words,
	     int64_t **codes)
{
	struct memtrace_bucket *b = s->buckets;
	int64_t *to = *codes;
	uint32_t last = 0, epoch = s->epoch;
	for (; words && p < end; words--) {
		uint32_t word = memtrace_u16(p), at = word >> 2, more = word & 3;
		p += 2;
		if (last == MEMTRACE_LOST_BUCKET) {
			epoch++;
		} else {
			b[last].next = at;
			b[last].epoch = epoch;
		}
		last = at;
		if (more == 3) {
			*to++ = b[at].code = memtrace_int(p);
			p += 8;
			continue;
		}
		if (more == 2)
			more = *p++;
		*to++ = b[at].code;
		for (; more; more--) {
			last = b[last].epoch == epoch ? b[last].next : MEMTRACE_LOST_BUCKET;
			*to++ = b[last].code;
		}
	}
	s->epoch = epoch;
	*codes = to;
	return words ? end + 1 : p;
}

static inline const uint8_t *skip_words(const uint8_t *p, const uint8_t *end, size_t words)
{
	static const uint8_t more[4] = {2, 2, 3, 10};
	for (; words && p < end; words--)
		p += more[*p & 3];
	return words ? end + 1 : p;
}

static bool need_buckets(struct memtrace_stream *s)
{
	if (s->buckets)
		return true;
	s->buckets = calloc(MEMTRACE_BUCKETS + 1, sizeof(*s->buckets));
	if (s->buckets && s->depth_unknown)
		memtrace_stream_forget(s);
	return s->buckets;
}

static inline void add_backtrace(struct memtrace_stream *s, struct ebt_memtrace_event *e)
{
	e->again = e->common > s->depth && !s->depth_unknown;
	e->shared = e->again ? s->depth : e->common;
	if (e->again)
		return;
	s->depth = e->common + e->frames;
	s->depth_unknown = false;
}

enum { DECODED, DAMAGED, FULL, NO_MEMORY };

/* The caller adds the frames of an event that it keeps to those in use. Returns the byte behind the
 * code words, beyond the packet's end if they are not whole. */
__attribute__((always_inline)) static inline const uint8_t *backtrace(struct memtrace_packet *k,
								      bool skip, const uint8_t *p,
								      size_t words,
								      struct ebt_memtrace_event *e)
{
	struct memtrace_frames *f = k->frames;
	if (skip) {
		e->frame = NULL;
		e->shared = e->frames = 0;
		e->again = false;
		return skip_words(p, k->end, words);
	}
	int64_t *codes = f->codes + f->used;
	e->frame = codes;
	p = decode_words(k->stream, p, k->end, words, &codes);
	e->frames = (uint32_t)(codes - e->frame);
	add_backtrace(k->stream, e);
	return p;
}

/* Whether the code words of a backtrace fit the memory for frames. */
static inline bool has_room(const struct memtrace_packet *k, bool skip, size_t words)
{
	const struct memtrace_frames *f = k->frames;
	return skip || (f->codes && f->cap - f->used >= words * CODES_OF_WORD);
}

static const char *alloc_fault(const struct ebt_memtrace_event *e, const struct memtrace_packet *k,
			       const uint8_t *p)
{
	if (p > k->end)
		return "a whole alloc event";
	if (e->source > EBT_ALLOC_EXTERNAL)
		return "an alloc's source from 0 to 2";
	if (e->common > EBT_MEMTRACE_DEPTH)
		return "a common prefix of at most 2^24 frames";
	return NULL;
}

static int decode_alloc(struct memtrace_packet *k, unsigned code, const uint8_t **at,
			struct ebt_memtrace_event *e)
{
	const uint8_t *p = *at;
	int64_t words = code - MEMTRACE_SHORT_ALLOC, samples = 1, common;
	uint8_t source = EBT_ALLOC_MINOR;
	size_t codes;
	if (code == MEMTRACE_ALLOC) {
		p = number(p, &words);
		p = number(p, &samples);
		source = *p++;
		p = number(p, &common);
		codes = memtrace_u16(p);
		p += 2;
	} else {
		p = number(p, &common);
		codes = *p++;
	}
	e->what = EBT_MEMTRACE_ALLOC;
	e->source = source;
	e->obj = k->next_id;
	e->words = words;
	e->samples = samples;
	e->common = (uint64_t)common;
	k->expected = alloc_fault(e, k, p);
	if (k->expected)
		return DAMAGED;
	k->expected = "a whole backtrace";
	if (codes > (size_t)(k->end - p) / 2)
		return DAMAGED;
	if (!has_room(k, k->skip_backtraces, codes) && k->frames->used)
		return FULL;
	if (!has_room(k, k->skip_backtraces, codes) && !reserve(k->frames, codes))
		return NO_MEMORY;
	*at = backtrace(k, k->skip_backtraces, p, codes, e);
	if (*at > k->end)
		return DAMAGED;
	k->frames->used += e->frames;
	k->next_id++;
	return DECODED;
}

static int decode_object(struct memtrace_packet *k, unsigned code, const uint8_t **at,
			 struct ebt_memtrace_event *e)
{
	int64_t distance;
	*at = number(*at, &distance);
	int64_t obj = (int64_t)(k->next_id - 1 - (uint64_t)distance);
	k->expected = "an object that was allocated before";
	if (*at > k->end || obj < 0 || (code == MEMTRACE_PROMOTE && distance < 0))
		return DAMAGED;
	e->what = (uint8_t)code;
	e->obj = (uint64_t)obj;
	e->frames = 0;
	return DECODED;
}

/* e->what is 0 for an event that is not the caller's. */
static int decode_event(struct memtrace_packet *k, unsigned code, const uint8_t **at,
			struct ebt_memtrace_event *e)
{
	if (code > MEMTRACE_SHORT_ALLOC && code <= MEMTRACE_SHORT_ALLOC + MEMTRACE_SHORT_WORDS)
		return decode_alloc(k, code, at, e);
	switch (code) {
	case MEMTRACE_ALLOC:
		return decode_alloc(k, code, at, e);
	case MEMTRACE_PROMOTE:
	case MEMTRACE_COLLECT:
		return decode_object(k, code, at, e);
	case MEMTRACE_LOCATION:
		e->what = 0;
		*at = memtrace_location(k->locations, &k->stream->files, k->head.version < 2, *at,
					k->end, &k->expected);
		return *at ? DECODED : k->expected ? DAMAGED : NO_MEMORY;
	default:
		k->expected = "the code of an event: 1 to 4 or 101 to 116";
		return DAMAGED;
	}
}

/* The time of an event from its low bits, which a packet's events never run over twice. */
static inline uint64_t full_time(const struct memtrace_head *h, uint32_t low)
{
	uint64_t us = (h->time_begin & ~(uint64_t)LOW_TIME) + low;
	return us + (us < h->time_begin ? LOW_TIME + 1 : 0);
}

/* Decodes short allocs, promotes and collects up to the first event that is none of these, or not
 * right, or that the memory has no room for: that one is decode_event()'s. */
__attribute__((always_inline)) static inline size_t
decode_plain(struct memtrace_packet *k, bool skip, struct ebt_memtrace_event *ev, size_t cap)
{
	struct memtrace_stream *s = k->stream;
	const uint64_t base = k->head.time_begin & ~(uint64_t)LOW_TIME;
	const uint64_t time_end = k->head.time_end;
	const uint8_t *p = k->at, *end = k->end;
	uint64_t next_id = k->next_id, last_us = s->last_us;
	const uint16_t domain = k->head.domain;
	size_t n = 0;
	while (n < cap && p < end) {
		struct ebt_memtrace_event *e = &ev[n];
		uint32_t word = memtrace_u32(p), code = word >> MEMTRACE_TIME_BITS;
		uint64_t us = base + (word & LOW_TIME);
		us += us < k->head.time_begin ? LOW_TIME + 1 : 0;
		const uint8_t *q = p + 4;
		if (us < last_us || us > time_end)
			break;
		if (code - MEMTRACE_SHORT_ALLOC - 1 < MEMTRACE_SHORT_WORDS) {
			uint8_t common = q[0], words = q[1];
			if (common >= 253 || !has_room(k, skip, words))
				break;
			e->what = EBT_MEMTRACE_ALLOC;
			e->source = EBT_ALLOC_MINOR;
			e->words = code - MEMTRACE_SHORT_ALLOC;
			e->samples = 1;
			e->common = common;
			e->obj = next_id;
			q = backtrace(k, skip, q + 2, words, e);
			if (q > end)
				break;
			k->frames->used += e->frames;
			next_id++;
		} else {
			int64_t distance;
			if (code - MEMTRACE_PROMOTE > 1)
				break;
			q = number(q, &distance);
			e->obj = next_id - 1 - (uint64_t)distance;
			if (q > end || (int64_t)e->obj < 0 ||
			    (distance < 0 && code == MEMTRACE_PROMOTE))
				break;
			e->what = (uint8_t)code;
			e->frames = 0;
		}
		e->time_us = last_us = us;
		e->domain = domain;
		p = q;
		n++;
	}
	k->at = p;
	k->next_id = next_id;
	s->last_us = last_us;
	return n;
}

/* One event of any kind, at the packet's beginning or behind plain ones. */
static int decode_next(struct memtrace_packet *k, struct ebt_memtrace_event *e)
{
	struct memtrace_stream *s = k->stream;
	uint32_t word = memtrace_u32(k->at);
	const uint8_t *p = k->at + 4;
	uint64_t us = full_time(&k->head, word & LOW_TIME);
	k->expected = "the time of an event, within its packet and not before the last one";
	int result = us < s->last_us || us > k->head.time_end || p > k->end
			     ? DAMAGED
			     : decode_event(k, word >> MEMTRACE_TIME_BITS, &p, e);
	if (result != DECODED)
		return result;
	k->at = p;
	s->last_us = us;
	e->time_us = us;
	e->domain = k->head.domain;
	return DECODED;
}

ssize_t memtrace_packet_events(struct memtrace_packet *k, struct ebt_memtrace_event *ev, size_t cap)
{
	size_t n = 0;
	if (!k->skip_backtraces && !need_buckets(k->stream))
		return -ENOMEM;
	while (n < cap && k->at < k->end) {
		if (!k->only_locations)
			n += k->skip_backtraces ? decode_plain(k, true, ev + n, cap - n)
						: decode_plain(k, false, ev + n, cap - n);
		if (n == cap || k->at >= k->end)
			break;
		int result = decode_next(k, &ev[n]);
		if (result == DECODED)
			n += ev[n].what && !k->only_locations;
		else if (n || result == FULL)
			break; /* an error once more by the next call */
		else
			return result == DAMAGED ? -EBADMSG : -ENOMEM;
	}
	return (ssize_t)n;
}
