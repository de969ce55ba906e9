/* SPDX-License-Identifier: BSD-2-Clause */
#include "codec/memtrace/read.h"

#include "codec/memtrace/packet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define REASON_BYTES 160

struct ebt_memtrace_reader {
	unsigned flags;
	bool has_selected, alone;
	uint16_t selected; /* domain */
	uint8_t *buffer;
	size_t cap;	   /* of it, without the pad */
	size_t begin, end; /* the bytes that are not read yet */
	uint64_t offset;   /* of buffer[begin] in the trace */
	bool finished;	   /* no more bytes will be put */
	bool may_skip;	   /* the caller leaves out bytes: */
	uint64_t skip;
	bool has_info;
	int err;

	struct ebt_memtrace_info info;
	char *info_text; /* the packet that info's strings are in */
	PTRMAP(struct memtrace_stream) streams;
	struct memtrace_locations locations;
	struct memtrace_frames frames;

	struct memtrace_packet packet;
	bool in_packet;
	uint64_t skipped_from; /* offset; no packet was found since */
	bool skipping;
	const char *why_skipping;
	struct ebt_memtrace_event damage; /* to be returned next */
	bool has_damage;
	uint64_t last_us;
	struct ebt_memtrace_counts counts;
	char reason[REASON_BYTES];
};

int memtrace_reader_new_small(unsigned flags, size_t bytes, struct ebt_memtrace_reader **ret)
{
	struct ebt_memtrace_reader *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->flags = flags;
	r->cap = bytes;
	r->buffer = calloc(1, r->cap + MEMTRACE_PAD);
	if (!r->buffer) {
		free(r);
		return -ENOMEM;
	}
	*ret = r;
	return 0;
}

int ebt_memtrace_reader_new(unsigned flags, struct ebt_memtrace_reader **ret)
{
	return memtrace_reader_new_small(flags, MEMTRACE_BUFFER_BYTES, ret);
}

void ebt_memtrace_reader_free(struct ebt_memtrace_reader *r)
{
	if (!r)
		return;
	size_t at = 0;
	for (struct memtrace_stream *s; (s = ptrmap_next(&r->streams, &at));)
		memtrace_stream_done(s);
	ptrmap_free(&r->streams);
	memtrace_locations_done(&r->locations);
	free(r->frames.codes);
	free(r->info_text);
	free(r->buffer);
	free(r);
}

void ebt_memtrace_select(struct ebt_memtrace_reader *r, uint16_t domain)
{
	r->has_selected = true;
	r->selected = domain;
}

static void grow(struct ebt_memtrace_reader *r)
{
	size_t cap = 2 * r->cap < MEMTRACE_BUFFER_BYTES ? 2 * r->cap : MEMTRACE_BUFFER_BYTES;
	uint8_t *buffer = realloc(r->buffer, cap + MEMTRACE_PAD);
	if (!buffer) {
		r->err = r->err ? r->err : -ENOMEM;
		return;
	}
	memset(buffer + r->cap + MEMTRACE_PAD, 0, cap - r->cap);
	r->buffer = buffer;
	r->cap = cap;
}

void memtrace_reader_select_alone(struct ebt_memtrace_reader *r, uint16_t domain)
{
	ebt_memtrace_select(r, domain);
	r->alone = true;
}

void *ebt_memtrace_room(struct ebt_memtrace_reader *r, size_t *ret_bytes)
{
	/* An unread packet stays where it is: packet.at points into it. */
	if (!r->in_packet && r->begin) {
		memmove(r->buffer, r->buffer + r->begin, r->end - r->begin);
		r->end -= r->begin;
		r->begin = 0;
	}
	/* Full, without a whole packet. */
	if (!r->in_packet && r->end == r->cap && r->cap < MEMTRACE_BUFFER_BYTES)
		grow(r);
	*ret_bytes = r->cap - r->end;
	return r->buffer + r->end;
}

void ebt_memtrace_put(struct ebt_memtrace_reader *r, size_t bytes)
{
	r->end += bytes;
}

void ebt_memtrace_finish(struct ebt_memtrace_reader *r)
{
	r->finished = true;
}

static void advance(struct ebt_memtrace_reader *r, size_t bytes)
{
	r->begin += bytes;
	r->offset += bytes;
}

static void set_reason(struct ebt_memtrace_reader *r, uint64_t offset, const char *expected)
{
	snprintf(r->reason, sizeof(r->reason), "at byte %llu: expected %s",
		 (unsigned long long)offset, expected);
}

static void forget(struct ebt_memtrace_reader *r, uint16_t domain)
{
	size_t at = 0;
	struct memtrace_stream *s = ptrmap_get(&r->streams, domain);
	if (s)
		memtrace_stream_forget(s);
	if (domain != EBT_NO_DOMAIN)
		return;
	while ((s = ptrmap_next(&r->streams, &at)))
		memtrace_stream_forget(s);
}

uint64_t memtrace_reader_skip(struct ebt_memtrace_reader *r)
{
	uint64_t skip = r->skip;
	r->may_skip = true;
	r->skip = 0;
	r->offset += skip;
	return skip;
}

bool memtrace_reader_leave_out(struct ebt_memtrace_reader *r, uint64_t bytes)
{
	if (!r->has_info || r->begin != r->end)
		return false;
	r->offset += bytes;
	return true;
}

static void report_damage(struct ebt_memtrace_reader *r, uint16_t domain, uint64_t offset,
			  uint64_t bytes, uint64_t allocs, const char *expected)
{
	set_reason(r, offset, expected);
	r->damage = (struct ebt_memtrace_event){
		.what = EBT_MEMTRACE_DAMAGE,
		.time_us = r->last_us,
		.domain = domain,
		.obj = offset,
		.words = (int64_t)bytes,
		.samples = (int64_t)allocs,
	};
	r->has_damage = true;
	r->counts.damaged++;
	r->counts.lost_allocs += allocs;
	forget(r, domain);
}

static int fail(struct ebt_memtrace_reader *r, int err, const char *expected)
{
	if (expected)
		set_reason(r, r->offset, expected);
	return err;
}

/* A string of the first packet. NULL: it has no end. */
static const char *text(const uint8_t **p, const uint8_t *end)
{
	const uint8_t *nul = *p < end ? memchr(*p, 0, (size_t)(end - *p)) : NULL;
	const char *s = (const char *)*p;
	if (!nul)
		return NULL;
	*p = nul + 1;
	return s;
}

static bool decode_info(const struct memtrace_head *h, const uint8_t *p, const uint8_t *end,
			struct ebt_memtrace_info *i)
{
	if (end - p < 4 + 8 + 1 || memtrace_u32(p) >> MEMTRACE_TIME_BITS != MEMTRACE_INFO)
		return false;
	uint64_t rate = memtrace_u64(p + 4);
	memcpy(&i->sample_rate, &rate, sizeof(rate));
	i->word_bits = p[12];
	p += 13;
	i->executable = text(&p, end);
	i->host = text(&p, end);
	i->runtime_params = text(&p, end);
	if (!i->executable || !i->host || !i->runtime_params || end - p < 8)
		return false;
	i->pid = memtrace_u64(p);
	p += 8;
	i->context = h->version >= 2 ? text(&p, end) : "";
	i->version = h->version;
	i->domain = h->domain;
	i->start_us = h->time_begin;
	return i->context && p == end;
}

static int read_info(struct ebt_memtrace_reader *r, const struct memtrace_head *h)
{
	const uint8_t *from = r->buffer + r->begin;
	r->info_text = malloc(h->bytes);
	if (!r->info_text)
		return -ENOMEM;
	const uint8_t *copy = memcpy(r->info_text, from, h->bytes);
	if (!decode_info(h, copy + h->head_bytes, copy + h->bytes, &r->info))
		return fail(r, -EBADMSG, "a packet with the event trace_info alone");
	r->last_us = r->info.start_us;
	r->has_info = true;
	advance(r, h->bytes);
	r->counts.packets++;
	return 0;
}

static struct memtrace_stream *stream_of(struct ebt_memtrace_reader *r, uint16_t domain)
{
	bool is_new;
	struct memtrace_stream *s = ptrmap_get(&r->streams, domain);
	if (s)
		return s;
	s = ptrmap_make(&r->streams, domain, &is_new);
	if (!s)
		return NULL;
	s->last_us = r->info.start_us;
	/* Its first packets may have been among the lost ones. */
	if (r->counts.lost_packets)
		memtrace_stream_forget(s);
	return s;
}

/* True if our cache has the bucket that the packet's head records of the writer's cache, with the
 * same code and the same next bucket, as far as they are known. */
static bool verified(const struct memtrace_stream *s, const struct memtrace_head *h)
{
	if (h->verifier == MEMTRACE_NO_VERIFIER)
		return true;
	if (h->verifier >= MEMTRACE_BUCKETS || h->predicted >= MEMTRACE_BUCKETS)
		return false;
	struct memtrace_bucket none = {0}, *b = s->buckets ? &s->buckets[h->verifier] : &none;
	uint32_t next = memtrace_next_bucket(b, s->epoch);
	return (next == h->predicted || next == MEMTRACE_LOST_BUCKET) &&
	       (b->code == h->verifier_code || b->code == EBT_MEMTRACE_UNKNOWN);
}

static bool is_of_others(const struct ebt_memtrace_reader *r, const struct memtrace_head *h)
{
	return r->has_selected && h->domain != r->selected;
}

/* They are of interest to each domain. */
static bool has_locations(const struct ebt_memtrace_reader *r, const struct memtrace_head *h)
{
	return !r->alone && h->bytes >= h->head_bytes + 4u &&
	       memtrace_u32(r->buffer + r->begin + h->head_bytes) >> MEMTRACE_TIME_BITS ==
		       MEMTRACE_LOCATION;
}

static int begin_packet(struct ebt_memtrace_reader *r, const struct memtrace_head *h)
{
	if (h->pid != r->info.pid) {
		r->counts.other_pid++;
		advance(r, h->bytes);
		return 0;
	}
	r->counts.packets++;
	const uint8_t *p = r->buffer + r->begin;
	bool others = is_of_others(r, h);
	if (others && !has_locations(r, h)) {
		advance(r, h->bytes);
		return 0;
	}
	if (r->streams.words.count >= MEMTRACE_DOMAINS_MAX && !ptrmap_get(&r->streams, h->domain)) {
		report_damage(r, h->domain, r->offset, h->bytes, h->id_end - h->id_begin,
			      "packets of at most 4096 domains");
		advance(r, h->bytes);
		return 0;
	}
	struct memtrace_stream *s = stream_of(r, h->domain);
	if (!s)
		return -ENOMEM;
	bool skip = others || r->flags & EBT_MEMTRACE_SKIP_BACKTRACES;
	r->packet = (struct memtrace_packet){
		.head = *h,
		.at = p + h->head_bytes,
		.end = p + h->bytes,
		.next_id = h->id_begin,
		.stream = s,
		.locations = &r->locations,
		.frames = &r->frames,
		.skip_backtraces = skip,
		.only_locations = others,
	};
	r->in_packet = true;
	if (!skip && !verified(s, h))
		report_damage(r, h->domain, r->offset, 0, 0,
			      "the verifier of a packet, of backtraces as they were decoded");
	return 0;
}

static void end_packet(struct ebt_memtrace_reader *r, const char *expected)
{
	const struct memtrace_packet *k = &r->packet;
	uint64_t rest = (uint64_t)(k->end - k->at);
	uint64_t lost = k->next_id < k->head.id_end ? k->head.id_end - k->next_id : 0;
	if (!expected && k->next_id != k->head.id_end)
		expected = "as many allocations as the head of the packet counts";
	r->last_us = k->stream->last_us;
	r->counts.raised += k->raised;
	if (expected)
		report_damage(r, k->head.domain, r->offset + k->head.bytes - rest, rest, lost,
			      expected);
	r->in_packet = false;
	advance(r, k->head.bytes);
}

static void end_skipping(struct ebt_memtrace_reader *r)
{
	r->skipping = false;
	r->counts.lost_packets++;
	report_damage(r, EBT_NO_DOMAIN, r->skipped_from, r->offset - r->skipped_from, 0,
		      r->why_skipping);
}

/* Skips to the next bytes that begin as a packet does. 0, or -EAGAIN: more bytes are needed. */
static int skip_to_packet(struct ebt_memtrace_reader *r)
{
	struct memtrace_head h;
	const char *expected;
	while (r->begin < r->end) {
		const uint8_t *p = r->buffer + r->begin;
		const uint8_t *next = memchr(p, MEMTRACE_MAGIC & 0xff, r->end - r->begin);
		advance(r, next ? (size_t)(next - p) : r->end - r->begin);
		size_t bytes = r->end - r->begin;
		ssize_t n = next ? memtrace_head(next, bytes, &h, &expected) : -EBADMSG;
		if (!n && !r->finished)
			return -EAGAIN;
		if (n > 0 && (!r->finished || (size_t)n <= bytes)) {
			end_skipping(r);
			return 0;
		}
		if (next)
			advance(r, 1);
	}
	if (!r->finished)
		return -EAGAIN;
	end_skipping(r);
	return 0;
}

static void start_skipping(struct ebt_memtrace_reader *r, const char *why)
{
	r->skipping = true;
	r->skipped_from = r->offset;
	r->why_skipping = why;
	advance(r, 1);
}

/* 0: go on, there may be a packet or a damage now; else the result of ebt_memtrace_read(). */
static int next_packet(struct ebt_memtrace_reader *r)
{
	struct memtrace_head h;
	const char *expected = NULL;
	if (r->skipping)
		return skip_to_packet(r);
	size_t bytes = r->end - r->begin;
	ssize_t n = memtrace_head(r->buffer + r->begin, bytes, &h, &expected);
	if (n < 0 && !r->has_info)
		return fail(r, (int)n, expected);
	if (n < 0) {
		start_skipping(r, expected);
		return 0;
	}
	if (n && (size_t)n <= bytes)
		return r->has_info ? begin_packet(r, &h) : read_info(r, &h);
	if (n && !r->finished && r->may_skip && r->has_info && is_of_others(r, &h) &&
	    bytes >= h.head_bytes + 4u && !has_locations(r, &h)) {
		r->counts.packets++;
		r->skip = h.bytes - bytes;
		advance(r, bytes);
	}
	if (!r->finished)
		return -EAGAIN;
	if (!bytes && r->has_info)
		return -ENODATA;
	if (!r->has_info)
		return fail(r, -EBADMSG, "a whole packet with the event trace_info");
	r->counts.truncated++;
	start_skipping(r, "a whole packet before the end of the trace");
	return 0;
}

ssize_t ebt_memtrace_read(struct ebt_memtrace_reader *r, struct ebt_memtrace_event *ev, size_t cap)
{
	size_t n = 0;
	int err = r->err;
	r->frames.used = 0;
	while (n < cap && !err) {
		if (r->has_damage) {
			ev[n++] = r->damage;
			r->has_damage = false;
		} else if (r->in_packet) {
			ssize_t got = memtrace_packet_events(&r->packet, ev + n, cap - n);
			n += got > 0 ? (size_t)got : 0;
			if (got == -ENOMEM)
				err = -ENOMEM;
			else if (got == -EBADMSG)
				end_packet(r, r->packet.expected);
			else if (r->packet.at == r->packet.end)
				end_packet(r, NULL);
			else
				break; /* cap is reached, or the frames need a batch of their own */
		} else {
			err = next_packet(r);
		}
	}
	if (err && err != -EAGAIN)
		r->err = err;
	if (n)
		return (ssize_t)n;
	return err == -ENODATA ? 0 : err;
}

const struct ebt_memtrace_info *ebt_memtrace_info(const struct ebt_memtrace_reader *r)
{
	return r->has_info ? &r->info : NULL;
}

size_t ebt_memtrace_locations(const struct ebt_memtrace_reader *r, int64_t code,
			      const struct ebt_memtrace_location **ret)
{
	return memtrace_locations_of(&r->locations, code, ret);
}

struct ebt_memtrace_counts ebt_memtrace_counts(const struct ebt_memtrace_reader *r)
{
	return r->counts;
}

const char *ebt_memtrace_reason(const struct ebt_memtrace_reader *r)
{
	return r->reason;
}
