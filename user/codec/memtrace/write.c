/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The writer of memtrace traces. Every choice that the format leaves to a writer is made as
 * memtrace makes it, so a trace of memtrace's that is read and written again has the same bytes.
 */
#include "codec/memtrace/memtrace.h"

#include <errno.h>
#include <stdbool.h>

#define CODES_BYTES    4096 /* of a backtrace */
#define ALLOC_BYTES    100  /* an event at most, without its code words */
#define LOCATION_BYTES 4096 /* a location event at most */
#define NEW_MAX	       128  /* codes without positions, before they are written */
#define ID_CHUNK       10000
#define PACKET_US      30000000
#define VERIFIER_FIRST 4242
#define VERIFIER_STEP  5413
#define KNOWN	       (64u << 10) /* codes that were defined; a power of two */
#define KNOWN_MAX      (KNOWN / 4 * 3)
#define NAMES	       31
#define NEW_NAME       31
#define MISS_BYTES     10
#define CODES_MAX_MISS (CODES_BYTES / MISS_BYTES + 1)

struct names {
	const char *name[NAMES];
	uint8_t count;
};
struct files {
	const char *name[NAMES];
	uint8_t functions[NAMES]; /* the index of each file's table */
	uint8_t count;
	struct names table[NAMES];
};

struct ebt_memtrace_writer {
	struct ebt_memtrace_trace *trace;
	uint16_t domain;
	int err;
	uint64_t cut; /* frames */
	/* The packet that is being filled. */
	uint8_t *at;
	uint64_t time_begin, time_end;
	uint64_t id_begin, next_id, chunk_end;
	uint16_t verifier, predicted, next_verifier;
	int64_t verifier_code;
	/* The cache of backtraces. */
	int64_t code[MEMTRACE_BUCKETS];
	uint64_t date[MEMTRACE_BUCKETS]; /* the alloc that used the bucket last */
	uint16_t next[MEMTRACE_BUCKETS];
	/* Codes that have positions in the trace, or are about to. */
	int64_t known[KNOWN];
	uint32_t known_count, new_count;
	int64_t new_code[NEW_MAX + CODES_MAX_MISS];
	struct files files;
	uint8_t packet[EBT_MEMTRACE_PACKET_BYTES];
	uint8_t location_packet[EBT_MEMTRACE_PACKET_BYTES];
};

static uint8_t *put_u16(uint8_t *p, uint16_t v)
{
	v = htole16(v);
	return (uint8_t *)memcpy(p, &v, sizeof(v)) + sizeof(v);
}
static uint8_t *put_u32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	return (uint8_t *)memcpy(p, &v, sizeof(v)) + sizeof(v);
}
static uint8_t *put_u64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	return (uint8_t *)memcpy(p, &v, sizeof(v)) + sizeof(v);
}

static inline uint8_t *put_number(uint8_t *p, int64_t v)
{
	if (v >= 0 && v < 253) {
		*p = (uint8_t)v;
		return p + 1;
	}
	if (v >= 0 && v <= UINT16_MAX) {
		*p = 253;
		return put_u16(p + 1, (uint16_t)v);
	}
	if (v == (int32_t)v) {
		*p = 254;
		return put_u32(p + 1, (uint32_t)v);
	}
	*p = 255;
	return put_u64(p + 1, (uint64_t)v);
}

static uint8_t *put_event(uint8_t *p, uint32_t code, uint64_t us)
{
	return put_u32(p, code << MEMTRACE_TIME_BITS | (us & ((1u << MEMTRACE_TIME_BITS) - 1)));
}

static void put_head(uint8_t *p, const struct memtrace_head *h)
{
	p = put_u32(p, MEMTRACE_MAGIC);
	p = put_u32(p, h->bytes * 8);
	p = put_u64(p, h->time_begin);
	p = put_u64(p, h->time_end);
	p = put_u32(p, 0);
	p = put_u16(p, MEMTRACE_VERSION);
	p = put_u64(p, h->pid);
	p = put_u16(p, h->domain);
	p = put_u16(p, h->verifier);
	p = put_u16(p, h->predicted);
	p = put_u64(p, (uint64_t)h->verifier_code);
	p = put_u64(p, h->id_begin);
	put_u64(p, h->id_end);
}

int ebt_memtrace_write_info(struct ebt_memtrace_trace *t, const struct ebt_memtrace_info *i)
{
	uint8_t packet[EBT_MEMTRACE_PACKET_BYTES], *p = packet + MEMTRACE_HEAD_BYTES;
	const char *text[] = {i->executable, i->host, i->runtime_params, i->context};
	size_t bytes = MEMTRACE_HEAD_BYTES + 4 + 8 + 1 + 8;
	uint64_t rate;
	for (int k = 0; k < 4; k++)
		bytes += strlen(text[k]) + 1;
	if (bytes > sizeof(packet))
		return -EMSGSIZE;
	t->pid = i->pid;
	t->start_us = i->start_us;
	memcpy(&rate, &i->sample_rate, sizeof(rate));
	p = put_event(p, MEMTRACE_INFO, i->start_us);
	p = put_u64(p, rate);
	*p++ = i->word_bits;
	for (int k = 0; k < 4; k++) {
		if (k == 3)
			p = put_u64(p, i->pid);
		p = (uint8_t *)stpcpy((char *)p, text[k]) + 1;
	}
	put_head(packet, &(struct memtrace_head){
				 .bytes = (uint32_t)bytes,
				 .time_begin = i->start_us,
				 .time_end = i->start_us,
				 .pid = i->pid,
				 .domain = i->domain,
				 .verifier = MEMTRACE_NO_VERIFIER,
			 });
	return t->write(t->ctx, packet, bytes);
}

size_t ebt_memtrace_writer_bytes(void)
{
	return sizeof(struct ebt_memtrace_writer);
}

static void begin_packet(struct ebt_memtrace_writer *w, uint64_t us)
{
	w->at = w->packet + MEMTRACE_HEAD_BYTES;
	w->time_begin = w->time_end = us;
	if (w->next_id == w->chunk_end) {
		w->next_id = __atomic_fetch_add(&w->trace->next_id, ID_CHUNK, __ATOMIC_RELAXED);
		w->chunk_end = w->next_id + ID_CHUNK;
	}
	w->id_begin = w->next_id;
}

struct ebt_memtrace_writer *ebt_memtrace_writer_init(void *memory, struct ebt_memtrace_trace *t,
						     uint16_t domain, uint64_t now_us)
{
	struct ebt_memtrace_writer *w = memory;
	w->trace = t;
	w->domain = domain;
	w->verifier = MEMTRACE_NO_VERIFIER;
	w->next_verifier = VERIFIER_FIRST;
	begin_packet(w, now_us);
	return w;
}

uint64_t ebt_memtrace_writer_cut(const struct ebt_memtrace_writer *w)
{
	return w->cut;
}

/* The index of a name in use; -1. */
static int find_name(const char *const *t, unsigned count, const char *name)
{
	for (unsigned i = 0; i < count; i++)
		if (t[i] == name || !strcmp(t[i], name))
			return (int)i;
	return -1;
}

/* Moves the entry to the front; the entry at `count - 1` may be one to be overwritten. */
static void to_front(const char **t, int from, const char *name)
{
	memmove(t + 1, t, (size_t)from * sizeof(*t));
	t[0] = name;
}

static uint64_t index_function(struct names *t, const char *name)
{
	int i = find_name(t->name, t->count, name);
	if (i < 0 && t->count < NAMES)
		t->count++;
	to_front(t->name, i < 0 ? t->count - 1 : i, name);
	return i < 0 ? NEW_NAME : (uint64_t)i;
}

static uint64_t index_file(struct files *f, const char *name)
{
	int i = find_name(f->name, f->count, name), from = i;
	uint8_t table;
	if (i >= 0) {
		table = f->functions[i];
	} else {
		table = f->count < NAMES ? f->count++ : f->functions[NAMES - 1];
		f->table[table].count = 0;
		from = f->count - 1;
	}
	to_front(f->name, from, name);
	memmove(f->functions + 1, f->functions, (size_t)from);
	f->functions[0] = table;
	return i < 0 ? NEW_NAME : (uint64_t)i;
}

static uint32_t at_most(uint32_t v, uint32_t max)
{
	return v > max ? max : v;
}

static uint8_t *put_position(struct files *f, uint8_t *p, const struct ebt_memtrace_location *l)
{
	uint64_t file = index_file(f, l->file);
	uint64_t function = index_function(&f->table[f->functions[0]], l->function);
	uint64_t bits = at_most(l->line, 0xfffff) | (uint64_t)at_most(l->first_char, 0xff) << 20 |
			(uint64_t)at_most(l->last_char, 0x3ff) << 28 | file << 38 | function << 43;
	p = put_u32(p, (uint32_t)bits);
	p = put_u16(p, (uint16_t)(bits >> 32));
	if (file == NEW_NAME)
		p = (uint8_t *)stpcpy((char *)p, l->file) + 1;
	if (function == NEW_NAME)
		p = (uint8_t *)stpcpy((char *)p, l->function) + 1;
	return p;
}

static bool fits(const struct ebt_memtrace_location *l, size_t count)
{
	size_t bytes = 8 + 1;
	if (count > UINT8_MAX)
		return false;
	for (size_t i = 0; i < count; i++)
		bytes += 6 + strlen(l[i].file) + 1 + strlen(l[i].function) + 1;
	return bytes <= LOCATION_BYTES;
}

static uint8_t *put_location(struct ebt_memtrace_writer *w, uint8_t *p, int64_t code)
{
	static const struct ebt_memtrace_location unknown = {"<unknown>", "??", 1, 1, 1};
	const struct ebt_memtrace_location *l = NULL;
	size_t count = w->trace->locations(w->trace->ctx, code, &l);
	if (!fits(l, count)) {
		l = &unknown;
		count = 1;
	}
	p = put_event(p, MEMTRACE_LOCATION, w->time_begin);
	p = put_u64(p, (uint64_t)code);
	*p++ = (uint8_t)count;
	for (size_t i = 0; i < count; i++)
		p = put_position(&w->files, p, &l[i]);
	return p;
}

static void write_packet(struct ebt_memtrace_writer *w, uint8_t *packet, const uint8_t *end,
			 struct memtrace_head *h)
{
	h->bytes = (uint32_t)(end - packet);
	h->pid = w->trace->pid;
	h->domain = w->domain;
	h->time_begin = w->time_begin;
	h->id_begin = w->id_begin;
	put_head(packet, h);
	if (!w->err)
		w->err = w->trace->write(w->trace->ctx, packet, h->bytes);
}

/* The positions of all new codes, in packets of their own. */
static void write_locations(struct ebt_memtrace_writer *w)
{
	uint32_t i = 0;
	while (i < w->new_count) {
		uint8_t *p = w->location_packet + MEMTRACE_HEAD_BYTES;
		const uint8_t *end = w->location_packet + sizeof(w->location_packet);
		while (i < w->new_count && end - p > LOCATION_BYTES)
			p = put_location(w, p, w->new_code[i++]);
		struct memtrace_head h = {
			.time_end = w->time_begin,
			.id_end = w->id_begin,
			.verifier = MEMTRACE_NO_VERIFIER,
		};
		write_packet(w, w->location_packet, p, &h);
	}
	w->new_count = 0;
}

int ebt_memtrace_write_flush(struct ebt_memtrace_writer *w, uint64_t us)
{
	write_locations(w);
	struct memtrace_head h = {
		.time_end = w->time_end,
		.id_end = w->next_id,
		.verifier = w->verifier,
		.predicted = w->predicted,
		.verifier_code = w->verifier_code,
	};
	write_packet(w, w->packet, w->at, &h);
	begin_packet(w, us);
	w->verifier = w->next_verifier;
	w->predicted = w->next[w->verifier];
	w->verifier_code = w->code[w->verifier];
	w->next_verifier = (uint16_t)((w->verifier + VERIFIER_STEP) % MEMTRACE_BUCKETS);
	return w->err;
}

/* A code that is not in the cache: the trace has no positions of it if it never was. */
static void define(struct ebt_memtrace_writer *w, int64_t code)
{
	uint32_t at = (uint32_t)((uint64_t)code * 0x9e3779b97f4a7c15ull >> 48);
	while (w->known[at]) {
		if (w->known[at] == code)
			return;
		at = (at + 1) & (KNOWN - 1);
	}
	if (w->known_count == KNOWN_MAX) { /* codes may be defined again */
		memset(w->known, 0, sizeof(w->known));
		w->known_count = 0;
	}
	w->known[at] = code;
	w->known_count++;
	w->new_code[w->new_count++] = code;
}

static inline uint32_t hash(int64_t code, uint64_t factor, int shift)
{
	return (uint32_t)(((uint64_t)code * factor & INT64_MAX) >> shift) & (MEMTRACE_BUCKETS - 1);
}

/* Writes the code word of a code, with tag 0 or 3, and moves *p behind it. Returns its bucket. */
static inline uint32_t put_code(struct ebt_memtrace_writer *w, uint8_t **p, int64_t code,
				bool *ret_hit)
{
	uint32_t h1 = hash(code, 0x4983723, 11), h2 = hash(code, 0xfdea731, 21), at;
	*ret_hit = true;
	if (w->code[h1] == code)
		at = h1;
	else if (w->code[h2] == code)
		at = h2;
	else {
		at = w->date[h1] < w->date[h2] ? h1 : h2;
		*ret_hit = false;
		w->code[at] = code;
		define(w, code);
	}
	w->date[at] = w->next_id;
	*p = put_u16(*p, (uint16_t)(at << 2 | (*ret_hit ? 0 : 3)));
	if (!*ret_hit)
		*p = put_u64(*p, (uint64_t)code);
	return at;
}

/* Returns the byte behind the code words; *ret_words is their number. */
static uint8_t *put_codes(struct ebt_memtrace_writer *w, uint8_t *p, const int64_t *frame,
			  size_t frames, size_t *ret_words)
{
	const uint8_t *limit = p + CODES_BYTES - MISS_BYTES;
	size_t words = 0;
	uint32_t last = 0;
	size_t i = 0;
	bool goes_on = false; /* the frame behind a run at its limit is predicted, too */
	for (; i < frames && (p <= limit || goes_on); words++) {
		bool hit;
		uint8_t *word = p;
		uint32_t at = put_code(w, &p, frame[i++], &hit);
		w->next[last] = (uint16_t)at;
		last = at;
		unsigned run = 0;
		goes_on = false;
		while (hit && i < frames && p <= limit && w->code[w->next[last]] == frame[i]) {
			goes_on = run == UINT8_MAX;
			if (goes_on)
				break;
			last = w->next[last];
			run++;
			i++;
		}
		if (run) {
			word[0] = (uint8_t)(word[0] | (run == 1 ? 1 : 2));
			if (run > 1)
				*p++ = (uint8_t)run;
		}
	}
	w->cut += frames - i;
	*ret_words = words;
	return p;
}

/* A number that the caller chose begins a packet unless it follows the last one. */
static void number_object(struct ebt_memtrace_writer *w, const struct ebt_memtrace_event *e)
{
	if (e->obj == EBT_MEMTRACE_NEW_OBJ || e->obj == w->next_id)
		return;
	if (w->at != w->packet + MEMTRACE_HEAD_BYTES)
		ebt_memtrace_write_flush(w, e->time_us);
	w->id_begin = w->next_id = e->obj;
	w->chunk_end = e->obj - e->obj % ID_CHUNK + ID_CHUNK;
}

static void write_alloc(struct ebt_memtrace_writer *w, struct ebt_memtrace_event *e)
{
	bool is_short = e->words >= 1 && e->words <= MEMTRACE_SHORT_WORDS &&
			e->source == EBT_ALLOC_MINOR && e->samples == 1 && e->frames <= UINT8_MAX;
	uint32_t code = is_short ? MEMTRACE_SHORT_ALLOC + (uint32_t)e->words : MEMTRACE_ALLOC;
	uint8_t *p = put_event(w->at, code, e->time_us);
	if (!is_short) {
		p = put_number(p, e->words);
		p = put_number(p, e->samples);
		*p++ = e->source;
	}
	p = put_number(p, e->common);
	uint8_t *count = p;
	size_t words;
	w->at = put_codes(w, p + (is_short ? 1 : 2), e->frame, e->frames, &words);
	if (is_short)
		*count = (uint8_t)words;
	else
		put_u16(count, (uint16_t)words);
	e->obj = w->next_id++;
}

int ebt_memtrace_write(struct ebt_memtrace_writer *w, struct ebt_memtrace_event *e)
{
	size_t room = (size_t)(w->packet + sizeof(w->packet) - w->at);
	if (room < ALLOC_BYTES + CODES_BYTES || w->new_count > NEW_MAX ||
	    e->time_us - w->time_begin > PACKET_US || w->next_id == w->chunk_end)
		ebt_memtrace_write_flush(w, e->time_us);
	if (e->what == EBT_MEMTRACE_ALLOC)
		number_object(w, e);
	w->time_end = e->time_us;
	if (e->what == EBT_MEMTRACE_ALLOC)
		write_alloc(w, e);
	else
		w->at = put_number(put_event(w->at, e->what, e->time_us),
				   (int64_t)(w->next_id - 1 - e->obj));
	return w->err;
}
