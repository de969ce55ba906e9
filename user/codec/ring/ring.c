/* SPDX-License-Identifier: BSD-2-Clause */
#include "codec/ring/ring.h"
#include "codec/ring/ids.h"

#include <ebtrace/ring.h>
#include <string.h>

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define NEVER 0xffff /* longer than any record */
/* OCaml writes custom payloads of at most 1024 bytes and the word with the pad byte. */
#define OCAML_CUSTOM_WORDS (2 + 1024 / 8 + 1)
/* Records in a row that must be plausible before the words behind damage are decoded again. */
#define RESYNC_RECORDS	   4
#define RESYNC_MAX_STEP_NS (1ull << 44)
/* An event is two words at least; those that a probe inside a probe dropped have no words. */
#define MAX_DROPPED (1u << 20)

/* Fewest words and kind of each `user << 4 | type`. EBT_KIND_NONE: skipped in silence. */
static const struct shape {
	uint16_t min, kind;
} shapes[32] = {
	[EBT_RING_INTERNAL] = {1, EBT_KIND_NONE},
	/* OCaml 5.1 writes ring_stop without data */
	[EBT_RING_LIFECYCLE] = {2, EBT_LIFECYCLE},
	[EBT_RING_BEGIN] = {2, EBT_BEGIN},
	[EBT_RING_END] = {2, EBT_END},
	[EBT_RING_COUNTER] = {3, EBT_COUNTER},
	[EBT_RING_ALLOC] = {2 + EBT_ALLOC_BUCKETS, EBT_ALLOC_SIZES},
	[EBT_RING_FLUSH] = {2, EBT_KIND_NONE},
	[7 ... 15] = {NEVER, EBT_KIND_NONE},
	[16 + EBT_RING_USER_UNIT] = {2, EBT_UNIT},
	[16 + EBT_RING_USER_INT] = {3, EBT_INT},
	[16 + EBT_RING_USER_SPAN_BEGIN] = {2, EBT_SPAN_BEGIN},
	[16 + EBT_RING_USER_SPAN_END] = {2, EBT_SPAN_END},
	[16 + EBT_RING_USER_CUSTOM] = {3, EBT_CUSTOM},
	[21 ... 31] = {NEVER, EBT_KIND_NONE},
};

static const struct shape *shape_of(uint64_t header)
{
	return &shapes[header >> 49 & 31];
}

void ring_decoder_init(struct ring_decoder *d, uint32_t domain, uint32_t ring_words,
		       uint64_t data_offset, const uint16_t *phase, uint32_t phases, bool counted)
{
	*d = (struct ring_decoder){
		.blank =
			{
				.domain = (uint16_t)domain,
				.cpu = EBT_NO_CPU,
				.flags = EBT_F_RING | (counted ? EBT_F_SEQ : 0),
			},
		.phase = phase,
		.phases = phases,
		.ring_words = ring_words,
		.data_offset = data_offset,
		.counted = counted,
	};
}

void ring_decoder_gap(struct ring_decoder *d, uint64_t words, bool history)
{
	d->gap_history = history && (!d->gap || d->gap_history);
	d->gap = true;
	d->gap_words += words;
	d->astray = false;
}

void ring_decoder_damage(struct ring_decoder *d, uint64_t offset, uint64_t words, uint64_t pos)
{
	if (d->bad) { /* damage not reported yet: both are reported as one, at the first offset */
		d->bad_words += words;
		return;
	}
	d->bad = true;
	d->bad_offset = offset;
	d->bad_words = words;
	d->bad_pos = pos;
}

void ring_decoder_restart(struct ring_decoder *d)
{
	d->resumed = true;
	d->astray = false;
}

static void report_damage(struct ring_decoder *d, struct ebt_event *ev, uint64_t offset,
			  uint64_t words, uint64_t pos)
{
	*ev = d->blank;
	ev->flags &= ~EBT_F_SEQ;
	ev->kind = EBT_DAMAGE;
	ev->ts = d->last_ts;
	ev->pos = pos;
	ev->arg[0] = offset;
	ev->arg[1] = words;
	d->damaged++;
}

/*
 * The ordinal reports more missing events than there were words for: it is bad. Words under
 * damage are not counted as lost; there are less of them than a ring has.
 */
static bool is_impossible(const struct ring_decoder *d, uint64_t header)
{
	uint32_t jump = ebt_ring_event_seq(header) - d->next_seq;
	return d->counted && !d->resumed && jump > (d->gap_words + d->ring_words) / 2 + MAX_DROPPED;
}

/*
 * Reports the loss before the record with this header; true if an EBT_LOST was written. A hole
 * without an event (only padding) is no loss.
 */
static bool report_gap(struct ring_decoder *d, uint64_t header, uint64_t ts, struct ebt_event *ev)
{
	uint64_t events = EBT_LOST_UNCOUNTED, words = d->gap_words;
	uint16_t history = d->gap && d->gap_history ? EBT_F_HISTORY : 0;

	if (d->counted && !d->resumed)
		events = (uint32_t)(ebt_ring_event_seq(header) - d->next_seq);
	bool nothing = d->resumed ? !d->gap : !events;
	d->gap = d->gap_history = d->resumed = false;
	d->gap_words = 0;
	d->next_seq = ebt_ring_event_seq(header);
	if (nothing)
		return false;

	*ev = d->blank;
	ev->flags = (uint16_t)((ev->flags & ~EBT_F_SEQ) | history);
	ev->kind = EBT_LOST;
	ev->ts = ts < d->last_ts ? d->last_ts : ts;
	EBT_LOST_SINCE(ev) = d->last_ts;
	if (!d->last_ts) /* nothing was decoded before */
		ev->flags |= EBT_F_NO_SINCE;
	ev->arg[0] = events;
	ev->arg[1] = words;
	if (events != EBT_LOST_UNCOUNTED)
		d->lost_events += events;
	d->lost_words += words;
	return true;
}

bool ring_decoder_report(struct ring_decoder *d, const uint64_t *ordinals, uint64_t ts,
			 struct ebt_event *ev)
{
	bool known = d->counted && ordinals && !d->resumed;
	uint64_t seq = known ? ebt_ring_event_header(0, 0, 0, 0, (uint32_t)*ordinals) : 0;
	if (!known && !d->gap)
		return false;
	/* The header is the program's, and may be wrong: the next record reports what it can. */
	if (known && is_impossible(d, seq))
		return false;
	if (known)
		return report_gap(d, seq, ts, ev);
	*ev = d->blank;
	ev->flags &= ~EBT_F_SEQ;
	ev->kind = EBT_LOST;
	ev->ts = ts < d->last_ts ? d->last_ts : ts;
	EBT_LOST_SINCE(ev) = d->last_ts;
	if (!d->last_ts)
		ev->flags |= EBT_F_NO_SINCE;
	ev->arg[0] = EBT_LOST_UNCOUNTED;
	ev->arg[1] = d->gap_words;
	d->lost_words += d->gap_words;
	d->resumed |= d->counted;
	d->gap = d->gap_history = false;
	d->gap_words = 0;
	return true;
}

/* The record itself is believed, from its ordinal on; words known to be lost are still reported. */
static void report_bad_seq(struct ring_decoder *d, uint64_t pos, uint64_t header,
			   struct ebt_event *ev)
{
	report_damage(d, ev, d->data_offset + 8 * (pos & (d->ring_words - 1)), 0, pos);
	d->resumed = d->gap;
	d->next_seq = ebt_ring_event_seq(header);
}

/* How a batch is cut: `limit` is the end of its words, or `wrap`, where the ring wraps. */
struct span {
	const uint64_t *w;
	size_t limit, wrap;
	bool wraps, more;
};

static struct span span_at(const struct ring_decoder *d, const struct ring_batch *b, size_t i)
{
	size_t room = d->ring_words - ((b->pos + i) & (d->ring_words - 1));
	bool wraps = room <= b->n - i;
	return (struct span){b->words, wraps ? i + room : b->n, i + room, wraps, b->more && !wraps};
}

/* Stricter than decoding: also bits that are zero in every known file must be zero. */
static bool is_header(const struct ring_decoder *d, uint64_t h)
{
	return !(h & (d->counted ? 0xf00000000 : 0xfffffffff)) &&
	       ebt_ring_event_words(h) >= shape_of(h)->min;
}

static bool is_plausible(const struct ring_decoder *d, const struct span *s, size_t i, uint64_t *ts)
{
	uint64_t h = s->w[i];
	size_t len = ebt_ring_event_words(h);

	if (!is_header(d, h) || len > s->limit - i)
		return false;
	if (shape_of(h)->kind == EBT_KIND_NONE)
		return s->wraps && i + len == s->limit;
	uint64_t t = s->w[i + 1];
	if (!t || (*ts && (t < *ts || t - *ts > RESYNC_MAX_STEP_NS)))
		return false;
	*ts = t;
	return true;
}

static bool makes_sense(const struct ring_decoder *d, const struct span *s, size_t i)
{
	uint64_t ts = 0;
	for (int n = 0; n < RESYNC_RECORDS && i < s->limit; n++) {
		if (!is_plausible(d, s, i, &ts)) /* the last may be cut by the end of the batch */
			return n && s->more && ebt_ring_event_words(s->w[i]) > s->limit - i;
		i += ebt_ring_event_words(s->w[i]);
	}
	return true;
}

/* A record may begin here, and end in the next batch. */
static bool may_be_cut(const struct ring_decoder *d, const struct span *s, size_t i)
{
	uint64_t h = s->w[i];
	size_t len = ebt_ring_event_words(h);
	return s->more && is_header(d, h) && shape_of(h)->kind != EBT_KIND_NONE &&
	       len > s->limit - i && len <= s->wrap - i && (i + 1 == s->limit || s->w[i + 1]);
}

/* The first word from i on at which reading can go on; the next batch shows it if a record may be
 * cut there. */
static size_t resync(struct ring_decoder *d, const struct span *s, size_t i)
{
	while (i < s->limit && !makes_sense(d, s, i) && !may_be_cut(d, s, i))
		i++;
	d->astray = s->more && (i == s->limit || may_be_cut(d, s, i));
	return i;
}

/* Reports the bad record at i as damage. Returns the word at which decoding continues. */
static size_t skip_bad(struct ring_decoder *d, const struct ring_batch *b, size_t i,
		       struct ebt_event *ev)
{
	struct span s = span_at(d, b, i);
	size_t len = ebt_ring_event_words(b->words[i]), next = i + len;

	if (!len || len > s.limit - i || !makes_sense(d, &s, next))
		next = resync(d, &s, i + 1);
	uint64_t pos = b->pos + i;
	report_damage(d, ev, d->data_offset + 8 * (pos & (d->ring_words - 1)), next - i, pos);
	return next;
}

/* Kinds that are more than header, time and one word. False: the record is bad. */
static bool decode_payload(struct ring_decoder *d, const struct ring_batch *b, size_t i,
			   struct ebt_event *ev)
{
	size_t payload = ev->size - 2;
	uint64_t bytes = 8 * EBT_ALLOC_BUCKETS;

	if (ev->kind == EBT_CUSTOM) {
		uint64_t pad = b->words[i + ev->size - 1] >> 56; /* the very last byte */
		if (pad > 7 || (!d->counted && ev->size > OCAML_CUSTOM_WORDS))
			return false;
		bytes = 8 * payload - 1 - pad;
	} else {
		ev->id = 0;
	}
	ev->flags |= EBT_F_PAYLOAD;
	ev->arg[0] = b->payload_base + 8 * (i + 2);
	ev->arg[1] = bytes;
	return true;
}

static inline bool decode_record(struct ring_decoder *d, const struct ring_batch *b, size_t i,
				 struct ebt_event *ev)
{
	uint64_t h = b->words[i], ts = b->words[i + 1];
	uint32_t id = ebt_ring_event_id(h);
	uint16_t kind = shape_of(h)->kind;

	*ev = d->blank;
	ev->ts = ts < d->last_ts ? d->last_ts : ts;
	ev->pos = b->pos + i;
	ev->kind = kind;
	ev->size = ebt_ring_event_words(h);
	ev->seq = d->counted ? ebt_ring_event_seq(h) : 0;
	ev->id = id;
	if (kind == EBT_BEGIN || kind == EBT_END) {
		ev->id = id < d->phases ? d->phase[id] : EBT_UNKNOWN_ID | id;
	} else if (kind == EBT_COUNTER) {
		ev->id = id < ring_counters() ? id : EBT_UNKNOWN_ID | id;
		ev->arg[0] = b->words[i + 2];
	} else if (kind == EBT_INT) {
		ev->arg[0] = b->words[i + 2];
	} else if (kind == EBT_LIFECYCLE) {
		ev->id = id < ring_lifecycles() ? id : EBT_UNKNOWN_ID | id;
		ev->arg[0] = ev->size > 2 ? b->words[i + 2] : 0;
	} else if (kind == EBT_ALLOC_SIZES || kind == EBT_CUSTOM) {
		if (!decode_payload(d, b, i, ev))
			return false;
	}
	d->last_ts = ev->ts;
	d->next_seq = ebt_ring_event_seq(h) + 1;
	d->events++;
	return true;
}

/* The bits of a header above its id: words, user and type. */
#define SHAPE(words, user, type) ((uint32_t)((words) << 5 | (user) << 4 | (type)))
#define SHAPE_OF(header)	 ((uint32_t)((header) >> 49))
/* Begins and ends of phases are SHAPE_PHASE and the odd number behind it, like their kinds. */
#define SHAPE_PHASE   SHAPE(2, 0, EBT_RING_BEGIN)
#define SHAPE_COUNTER SHAPE(3, 0, EBT_RING_COUNTER)
_Static_assert(SHAPE(2, 0, EBT_RING_END) == SHAPE_PHASE + 1 && SHAPE_PHASE % 2 == 0 &&
		       EBT_END == EBT_BEGIN + 1,
	       "an end is the number behind its begin");

/* By type: shape and kind of the user's records with a header, a time and at most one value. */
static const struct simple {
	uint16_t shape, kind; /* shape: NEVER for other types */
} simple[16] = {
	[EBT_RING_USER_UNIT] = {SHAPE(2, 1, EBT_RING_USER_UNIT), EBT_UNIT},
	[EBT_RING_USER_INT] = {SHAPE(3, 1, EBT_RING_USER_INT), EBT_INT},
	[EBT_RING_USER_SPAN_BEGIN] = {SHAPE(2, 1, EBT_RING_USER_SPAN_BEGIN), EBT_SPAN_BEGIN},
	[EBT_RING_USER_SPAN_END] = {SHAPE(2, 1, EBT_RING_USER_SPAN_END), EBT_SPAN_END},
	[EBT_RING_USER_SPAN_END + 1 ... 15] = {NEVER, EBT_KIND_NONE},
};
#define SIMPLE_MAX_WORDS 3
/* From `process` to `flags`: of them only kind and flags differ from event to event of a ring. */
#define SHARED_BYTES (offsetof(struct ebt_event, id) - offsetof(struct ebt_event, process))
_Static_assert(offsetof(struct ebt_event, arg) == offsetof(struct ebt_event, id) + 16,
	       "id, stack, seq and size are written at once");

/* Where a run of records has got to. */
struct run {
	const uint64_t *next; /* record */
	uint64_t pos;	      /* of it */
	uint64_t last_ts;
	uint32_t seq; /* of the next event */
};

/* Writes the event of the next record. */
static inline __attribute__((always_inline)) void
put_event(struct ebt_event *e, const struct ebt_event *blank, bool counted, struct run *r,
	  uint32_t kind, uint32_t id, uint32_t words)
{
	uint32_t seq = (uint32_t)r->next[0];
	memcpy(&e->process, &blank->process, SHARED_BYTES);
	e->ts = r->last_ts = r->next[1];
	e->pos = r->pos;
	e->kind = (uint16_t)kind;
	/* In few stores: a CPU may do only one a cycle. */
	const struct {
		uint32_t id, stack, seq, size;
	} rest = {id, 0, counted ? seq : 0, words};
	memcpy(&e->id, &rest, sizeof(rest));
	e->arg[0] = words > 2 ? r->next[2] : 0;
	e->arg[1] = 0;
	r->seq = seq + 1;
	r->next += words;
	r->pos += words;
}

/* The next record, with the header h, holds bytes of the user's. False: it is another one, or
 * does not end before `end`. */
static inline __attribute__((always_inline)) bool
put_bytes(struct ebt_event *e, const struct ebt_event *blank, bool counted, struct run *r,
	  uint64_t h, const struct ring_batch *b, const uint64_t *end)
{
	uint32_t words = ebt_ring_event_words(h);
	uint32_t most = counted ? EBT_RING_MAX_EVENT_WORDS : OCAML_CUSTOM_WORDS;
	if ((SHAPE_OF(h) & 31) != SHAPE(0, 1u, EBT_RING_USER_CUSTOM) || words - 3 > most - 3 ||
	    words > (size_t)(end - r->next))
		return false;
	uint64_t pad = r->next[words - 1] >> 56, at = (uint64_t)(r->next + 2 - b->words);
	if (pad > 7)
		return false;
	put_event(e, blank, counted, r, EBT_CUSTOM, ebt_ring_event_id(h), words);
	e->flags |= EBT_F_PAYLOAD;
	e->arg[0] = b->payload_base + 8 * at;
	e->arg[1] = 8 * (words - 2ull) - 1 - pad;
	return true;
}

/* Up to which event no other bound need be checked while records are simple: they fit in the words
 * that are left. */
static inline struct ebt_event *stop_of(const struct run *r, const uint64_t *end,
					struct ebt_event *e, struct ebt_event *last)
{
	size_t most = (size_t)(end - r->next) / SIMPLE_MAX_WORDS;
	return most < (size_t)(last - e) ? e + most : last;
}

/*
 * Decodes a run of simple records and of the user's bytes, which most records are. Stops before the
 * first record that is anything else, or that may end behind `limit`; returns the number of events.
 */
static inline __attribute__((always_inline)) size_t
decode_run(struct ring_decoder *d, const struct ring_batch *b, bool counted, size_t *at,
	   size_t limit, struct ebt_event *ev, size_t cap)
{
	const struct ebt_event blank = d->blank;
	const uint64_t *end = b->words + limit;
	const uint16_t *phase = d->phase;
	const uint32_t phases = d->phases, counters = ring_counters();
	struct run r = {b->words + *at, b->pos + *at, d->last_ts, d->next_seq};
	struct ebt_event *e = ev, *stop = ev;
	for (; likely(e < stop) || e < (stop = stop_of(&r, end, e, ev + cap)); e++) {
		uint64_t h = r.next[0];
		uint32_t shape = SHAPE_OF(h), id = ebt_ring_event_id(h);
		if ((counted && (uint32_t)h != r.seq) || r.next[1] < r.last_ts)
			break;
		/* Constant `words`, so that the next header is fetched before this one has come: a
		 * branch that is predicted costs less than the way through the length. */
		if (likely(shape - SHAPE_PHASE <= 1)) {
			id = likely(id < phases) ? phase[id] : EBT_UNKNOWN_ID | id;
			put_event(e, &blank, counted, &r, shape - SHAPE_PHASE + EBT_BEGIN, id, 2);
		} else if (shape == SHAPE_COUNTER) {
			id = likely(id < counters) ? id : EBT_UNKNOWN_ID | id;
			put_event(e, &blank, counted, &r, EBT_COUNTER, id, 3);
		} else if (shape == simple[shape & 15].shape) {
			put_event(e, &blank, counted, &r, simple[shape & 15].kind, id, shape >> 5);
		} else if (put_bytes(e, &blank, counted, &r, h, b, end)) {
			stop = e;
		} else {
			break;
		}
	}
	size_t got = (size_t)(e - ev);
	d->last_ts = r.last_ts;
	if (got)
		d->next_seq = r.seq;
	d->events += got;
	*at = (size_t)(r.next - b->words);
	return got;
}

/* After damage that reached the end of the last batch: searches a valid record in this one. */
static size_t find_ground(struct ring_decoder *d, const struct ring_batch *b, struct ebt_event *ev,
			  size_t *got)
{
	d->astray = false;
	if (!(b->pos & (d->ring_words - 1)))
		return 0; /* a record always starts where the ring does */
	struct span s = span_at(d, b, 0);
	size_t i = resync(d, &s, 0);
	if (i)
		report_damage(d, &ev[(*got)++], d->data_offset + 8 * (b->pos & (d->ring_words - 1)),
			      i, b->pos);
	return i;
}

size_t ring_decode(struct ring_decoder *d, const struct ring_batch *b, struct ebt_event *ev,
		   size_t cap, size_t *ret_used)
{
	const uint64_t *w = b->words;
	size_t i = 0, got = 0, limit = 0;

	if (d->bad && cap) {
		d->bad = false;
		report_damage(d, &ev[got++], d->bad_offset, d->bad_words, d->bad_pos);
	}
	if (d->astray && got < cap && b->n)
		i = find_ground(d, b, ev, &got);
	while (i < b->n && got < cap) {
		if (unlikely(i >= limit))
			limit = span_at(d, b, i).limit;
		if (likely(!d->gap)) {
			got += d->counted ? decode_run(d, b, true, &i, limit, ev + got, cap - got)
					  : decode_run(d, b, false, &i, limit, ev + got, cap - got);
			if (i >= limit || got == cap)
				continue;
		}
		uint64_t h = w[i];
		size_t len = ebt_ring_event_words(h);
		const struct shape *shape = shape_of(h);

		if (unlikely(len < shape->min || len > limit - i)) {
			if (len >= shape->min && span_at(d, b, i).more &&
			    len <= d->ring_words - ((b->pos + i) & (d->ring_words - 1)))
				break; /* goes on in the next batch */
			i = skip_bad(d, b, i, &ev[got++]);
			continue;
		}
		if (unlikely(shape->kind == EBT_KIND_NONE)) {
			i += len;
			continue;
		}
		if (unlikely(d->gap || (d->counted && ebt_ring_event_seq(h) != d->next_seq))) {
			if (is_impossible(d, h)) {
				report_bad_seq(d, b->pos + i, h, &ev[got++]);
				continue;
			}
			got += report_gap(d, h, w[i + 1], &ev[got]);
			continue;
		}
		if (unlikely(!decode_record(d, b, i, &ev[got]))) {
			i = skip_bad(d, b, i, &ev[got++]);
			continue;
		}
		got++;
		i += len;
	}
	*ret_used = i;
	return got;
}
