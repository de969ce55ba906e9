/* SPDX-License-Identifier: BSD-2-Clause */
#include "codec/memtrace/packet.h"

#include <errno.h>
#include <stdlib.h>

#define LOW_TIME ((1u << MEMTRACE_TIME_BITS) - 1)
/* The most codes that a code word represents. */
#define CODES_OF_WORD 256
#define FRAMES_FIRST  (64u << 10)
/* In a packet in which the clock stepped back, a longer gap between two events is taken as the
 * step: the low bits of their times do not distinguish the two. */
#define GAP_MAX_US (1u << 20)
#define STEPPED	   UINT64_MAX

void memtrace_stream_done(struct memtrace_stream *s)
{
	free(s->buckets);
	s->buckets = NULL;
}

void memtrace_stream_forget(struct memtrace_stream *s)
{
	memtrace_files_forget(&s->files);
	s->depth = MEMTRACE_NO_DEPTH;
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

/* Reads a number of 1 to 3 bytes, without a branch on its length. False: it is longer. */
static inline bool small_number(const uint8_t **p, uint64_t *ret)
{
	uint32_t first = **p, second = memtrace_u16(*p + 1);
	*ret = first < 253 ? first : second;
	*p += first < 253 ? 1 : 3;
	return first <= 253;
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
 * Each word is at most 10 bytes and begins before `end`, so no read is behind the pad. A word
 * behind a bucket that is not known is the next one of any bucket, so none is known any more.
 * Returns the byte behind the words, beyond `end` if they are not whole.
 */
__attribute__((always_inline)) static inline const uint8_t *
decode_words(struct memtrace_stream *s, const uint8_t *p, const uint8_t *end, size_t words,
	     int64_t **codes)
{
	struct memtrace_bucket *b = s->buckets;
	int64_t *to = *codes;
	uint32_t last = 0;
	uint64_t epoch = (uint64_t)s->epoch << 32;
	for (; words && p < end; words--) {
		uint32_t word = memtrace_u16(p), at = word >> 2, more = word & 3;
		p += 2;
		if (__builtin_expect(last == MEMTRACE_LOST_BUCKET, 0))
			epoch = (uint64_t)++s->epoch << 32;
		else
			b[last].next = epoch | at;
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
			uint64_t next = b[last].next ^ epoch;
			last = next < MEMTRACE_BUCKETS ? (uint32_t)next : MEMTRACE_LOST_BUCKET;
			*to++ = b[last].code;
		}
	}
	*codes = to;
	return words ? end + 1 : p;
}

/* Skips code words and what is behind each. Returns the byte behind them, beyond `end` if they are
 * not whole. */
static inline const uint8_t *skip_words(const uint8_t *p, const uint8_t *end, size_t words)
{
	static const uint8_t more[4] = {2, 2, 3, 10};
	for (; words && p < end; words--)
		p += more[*p & 3];
	return words ? end + 1 : p;
}

#define FEW_WORDS 4
/* True if there are at most FEW_WORDS code words, and none has a number or a code behind it, as in
 * most backtraces. */
static inline bool are_bare(const uint8_t *p, size_t words)
{
	static const uint64_t numbered[FEW_WORDS + 1] = {0, 2, 0x20002, 0x200020002,
							 0x2000200020002};
	return words <= FEW_WORDS && !(memtrace_u64(p) & numbered[words]);
}

static bool need_buckets(struct memtrace_stream *s)
{
	if (s->buckets)
		return true;
	s->buckets = calloc(MEMTRACE_BUCKETS + 1, sizeof(*s->buckets));
	if (s->buckets && s->depth == MEMTRACE_NO_DEPTH)
		memtrace_stream_forget(s);
	return s->buckets;
}

/* Sets how the backtrace of an alloc continues the last one. *depth: of the last backtrace, then of
 * this one. */
static inline void add_backtrace(struct ebt_memtrace_event *e, uint32_t *depth)
{
	e->again = e->common > *depth;
	*depth = e->again ? *depth : e->common + e->frames;
}

enum { DECODED, DAMAGED, FULL, NO_MEMORY };

/* The caller adds the frames of an event that it keeps to those in use. Returns the byte behind the
 * code words, beyond the packet's end if they are not whole. */
static const uint8_t *backtrace(struct memtrace_packet *k, const uint8_t *p, size_t words,
				struct ebt_memtrace_event *e)
{
	struct memtrace_stream *s = k->stream;
	struct memtrace_frames *f = k->frames;
	if (k->skip_backtraces) {
		e->frames = 0;
		return skip_words(p, k->end, words);
	}
	int64_t *codes = f->codes + f->used;
	e->frame = codes;
	p = decode_words(s, p, k->end, words, &codes);
	e->frames = (uint32_t)(codes - e->frame);
	add_backtrace(e, &s->depth);
	return p;
}

/* Whether the code words of a backtrace fit the memory for frames. */
static inline bool has_room(const struct memtrace_packet *k, size_t words)
{
	const struct memtrace_frames *f = k->frames;
	return k->skip_backtraces || (f->codes && f->cap - f->used >= words * CODES_OF_WORD);
}

static const char *alloc_fault(const struct memtrace_packet *k, const uint8_t *p, uint8_t source,
			       int64_t common)
{
	if (p > k->end)
		return "a whole alloc event";
	if (source > EBT_ALLOC_EXTERNAL)
		return "an alloc's source from 0 to 2";
	if (common < 0 || common > EBT_MEMTRACE_DEPTH)
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
	e->common = (uint32_t)common;
	k->expected = alloc_fault(k, p, source, common);
	if (k->expected)
		return DAMAGED;
	k->expected = "a whole backtrace";
	if (codes > (size_t)(k->end - p) / 2)
		return DAMAGED;
	if (!has_room(k, codes) && k->frames->used)
		return FULL;
	if (!has_room(k, codes) && !reserve(k->frames, codes))
		return NO_MEMORY;
	*at = backtrace(k, p, codes, e);
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

/* Decodes one event of any kind. e->what is 0 for an event that the caller does not get. */
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

/* The functions of the loop over plain events are one in the machine's code. */
#define PLAIN __attribute__((always_inline)) static inline
/* No event is longer up to the code words of its backtrace. */
#define PLAIN_BYTES 32

/* A packet while plain events of it are decoded. */
struct plain {
	const uint8_t *p, *end;
	uint64_t end_us;  /* no event is later */
	uint32_t left_us; /* from the last event until then; no event is earlier */
	uint32_t depth;
	uint64_t next_id;
	uint16_t domain;
	struct memtrace_stream *stream;
	int64_t *codes, *codes_end;
};

/* False: no event can have a time that is right. */
static inline bool plain_begin(const struct memtrace_packet *k, struct plain *s)
{
	const struct memtrace_head *h = &k->head;
	if (h->time_begin > h->time_end)
		return false;
	const struct memtrace_frames *f = k->frames;
	uint64_t span = h->time_end - h->time_begin, last_us = k->stream->last_us;
	uint64_t end_us = h->time_begin + (span < LOW_TIME ? span : LOW_TIME);
	uint64_t begin_us = last_us > h->time_begin ? last_us : h->time_begin;
	*s = (struct plain){
		.p = k->at,
		.end = k->end,
		.end_us = end_us,
		.left_us = (uint32_t)(end_us - begin_us),
		.depth = k->stream->depth,
		.next_id = k->next_id,
		.domain = h->domain,
		.stream = k->stream,
		.codes = f->cap ? f->codes + f->used : NULL,
		.codes_end = f->cap ? f->codes + f->cap : NULL,
	};
	return begin_us <= end_us;
}

/* Behind at least one event. */
static inline void plain_end(struct memtrace_packet *k, const struct plain *s)
{
	k->at = s->p;
	k->next_id = s->next_id;
	k->stream->last_us = s->end_us - s->left_us;
	if (k->skip_backtraces)
		return;
	k->frames->used = (size_t)(s->codes - k->frames->codes);
	k->stream->depth = s->depth;
}

/* The backtrace of an alloc, at `p`, and what is the same for all. False: it is not plain. */
PLAIN bool plain_backtrace(struct plain *s, bool skip, const uint8_t *p, size_t words,
			   struct ebt_memtrace_event *e)
{
	if (skip) {
		/* The bare ones are within PLAIN_BYTES. */
		p = are_bare(p, words) ? p + 2 * words : skip_words(p, s->end, words);
		if (p > s->end)
			return false;
		e->frames = 0;
	} else {
		int64_t *codes = s->codes;
		if ((size_t)(s->codes_end - codes) < words * CODES_OF_WORD)
			return false;
		p = decode_words(s->stream, p, s->end, words, &codes);
		if (p > s->end)
			return false;
		e->frame = s->codes;
		e->frames = (uint32_t)(codes - s->codes);
		s->codes = codes;
		add_backtrace(e, &s->depth);
	}
	e->obj = s->next_id++;
	s->p = p;
	return true;
}

/* An alloc of 1 to 16 words. */
PLAIN bool plain_short_alloc(struct plain *s, bool skip, uint32_t code,
			     struct ebt_memtrace_event *e)
{
	uint8_t common = s->p[4];
	e->common = common;
	if (common >= 253 || !plain_backtrace(s, skip, s->p + 6, s->p[5], e))
		return false;
	e->what = EBT_MEMTRACE_ALLOC;
	e->source = EBT_ALLOC_MINOR;
	e->words = code - MEMTRACE_SHORT_ALLOC;
	e->samples = 1;
	return true;
}

/* An alloc of any size, of small numbers. */
PLAIN bool plain_long_alloc(struct plain *s, bool skip, struct ebt_memtrace_event *e)
{
	const uint8_t *p = s->p + 4;
	uint64_t words, samples, common;
	if (!small_number(&p, &words) || !small_number(&p, &samples))
		return false;
	uint8_t source = *p++;
	if (source > EBT_ALLOC_EXTERNAL || !small_number(&p, &common))
		return false;
	e->what = EBT_MEMTRACE_ALLOC;
	e->source = source;
	e->common = (uint32_t)common;
	e->words = (int64_t)words;
	e->samples = (int64_t)samples;
	return plain_backtrace(s, skip, p + 2, memtrace_u16(p), e);
}

/* A promote or a collect of a recent object. */
PLAIN bool plain_object(struct plain *s, uint32_t code, struct ebt_memtrace_event *e)
{
	uint64_t distance;
	const uint8_t *p = s->p + 4;
	if (!small_number(&p, &distance) || distance >= s->next_id)
		return false;
	e->what = (uint8_t)code;
	e->frames = 0;
	e->obj = s->next_id - 1 - distance;
	s->p = p;
	return true;
}

/* Decodes plain events up to the first one that is not plain: an event of another kind, or with
 * large numbers, or with a fault, or with more codes than the memory has room for, or at the
 * packet's very end. decode_event() decodes that one. Returns the entry behind the last one
 * decoded. */
PLAIN struct ebt_memtrace_event *decode_plain(struct plain *state, bool skip,
					      struct ebt_memtrace_event *e,
					      const struct ebt_memtrace_event *end)
{
	struct plain s = *state;
	for (; e < end && s.end - s.p >= PLAIN_BYTES; e++) {
		uint32_t word = memtrace_u32(s.p), code = word >> MEMTRACE_TIME_BITS;
		uint32_t left_us = ((uint32_t)s.end_us - word) & LOW_TIME;
		bool plain = left_us <= s.left_us;
		if (code - MEMTRACE_SHORT_ALLOC - 1 < MEMTRACE_SHORT_WORDS)
			plain = plain && plain_short_alloc(&s, skip, code, e);
		else if (code - MEMTRACE_PROMOTE <= 1)
			plain = plain && plain_object(&s, code, e);
		else
			plain = plain && code == MEMTRACE_ALLOC && plain_long_alloc(&s, skip, e);
		if (!plain)
			break;
		s.left_us = left_us;
		e->time_us = s.end_us - left_us;
		e->domain = s.domain;
	}
	*state = s;
	return e;
}

/* A function each, so that the compiler keeps the state of the loop in registers. */
static __attribute__((noinline)) struct ebt_memtrace_event *
plain_with_codes(struct plain *s, struct ebt_memtrace_event *e,
		 const struct ebt_memtrace_event *end)
{
	return decode_plain(s, false, e, end);
}

static __attribute__((noinline)) struct ebt_memtrace_event *
plain_without_codes(struct plain *s, struct ebt_memtrace_event *e,
		    const struct ebt_memtrace_event *end)
{
	return decode_plain(s, true, e, end);
}

/* Returns the number of plain events. */
static size_t plain_events(struct memtrace_packet *k, struct ebt_memtrace_event *ev, size_t cap)
{
	struct plain s;
	if (k->only_locations || !plain_begin(k, &s))
		return 0;
	size_t n = (size_t)((k->skip_backtraces ? plain_without_codes(&s, ev, ev + cap)
						: plain_with_codes(&s, ev, ev + cap)) -
			    ev);
	if (n)
		plain_end(k, &s);
	return n;
}

/* Whether the events that are not decoded yet end where the packet does, and are as many as its
 * head counts, whatever their times are. */
static bool is_whole(const struct memtrace_packet *k)
{
	struct memtrace_packet rest = *k;
	struct ebt_memtrace_event unused;
	rest.skip_backtraces = true;
	while (rest.at < rest.end) {
		const uint8_t *p = rest.at + 4;
		unsigned code = memtrace_u32(rest.at) >> MEMTRACE_TIME_BITS;
		if (p > rest.end)
			return false;
		if (code == MEMTRACE_LOCATION)
			p = memtrace_location_skip(p, rest.end);
		else if (decode_event(&rest, code, &p, &unused) != DECODED)
			return false;
		if (!p)
			return false;
		rest.at = p;
	}
	return rest.at == rest.end && rest.next_id == rest.head.id_end;
}

/*
 * The time of an event of a packet that ends before it begins: the clock stepped back within it. Up
 * to that place times ascend from its begin. 0: of an event behind it, or the begin is far from the
 * last event, as one that is damaged.
 */
static uint64_t time_before_step(struct memtrace_packet *k, uint32_t low)
{
	uint64_t begin_us = k->head.time_begin, last_us = k->stream->last_us;
	if (!k->clock_us)
		k->clock_us =
			begin_us >= last_us && begin_us - last_us <= LOW_TIME ? begin_us : STEPPED;
	uint32_t more = (low - (uint32_t)k->clock_us) & LOW_TIME;
	if (k->clock_us == STEPPED || more > GAP_MAX_US) {
		k->clock_us = STEPPED;
		return 0;
	}
	return k->clock_us += more;
}

/* Sets *us to the time of the next event. False: the packet is damaged. */
static inline bool set_time(struct memtrace_packet *k, uint32_t low, uint64_t *us, bool *ret_raised)
{
	const struct memtrace_head *h = &k->head;
	uint64_t last_us = k->stream->last_us;
	*ret_raised = false;
	*us = full_time(h, low);
	if (*us >= last_us && *us <= h->time_end)
		return true;
	k->is_whole = k->is_whole || is_whole(k);
	if (!k->is_whole)
		return false;
	*us = h->time_begin > h->time_end ? time_before_step(k, low) : 0;
	*ret_raised = *us < last_us;
	if (*ret_raised)
		*us = last_us;
	return true;
}

/* One event of any kind, at the packet's beginning or behind plain ones. */
static int decode_next(struct memtrace_packet *k, struct ebt_memtrace_event *e)
{
	struct memtrace_stream *s = k->stream;
	uint32_t word = memtrace_u32(k->at);
	const uint8_t *p = k->at + 4;
	uint64_t us;
	bool is_raised;
	k->expected = "the time of an event, within its packet and not before the last one";
	int result = p > k->end || !set_time(k, word & LOW_TIME, &us, &is_raised)
			     ? DAMAGED
			     : decode_event(k, word >> MEMTRACE_TIME_BITS, &p, e);
	if (result != DECODED)
		return result;
	k->at = p;
	k->raised += is_raised && e->what && !k->only_locations;
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
		n += plain_events(k, ev + n, cap - n);
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
