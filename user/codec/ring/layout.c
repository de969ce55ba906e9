/* SPDX-License-Identifier: BSD-2-Clause */
#include "codec/ring/layout.h"

#include <errno.h>
#include <string.h>

/* What is beyond the names, at most: our extension block with its tables, and room to grow. */
#define RING_SLACK_BYTES (1u << 20)
#define RING_MIN_WORDS	 8
/* A header has RING_STATEMENTS statements about the layout; if fewer than RING_MIN_AGREE agree, the
 * file is rejected as no ring file. */
#define RING_STATEMENTS 9
#define RING_MIN_AGREE	6

/* A guess at the layout; all else follows from these by OCaml's formulae. */
struct guess {
	uint64_t domains, words;
	bool names;
	uint64_t data, data_end, end;
	unsigned agree;
};

static void guess_complete(struct guess *g)
{
	g->data = EBT_RING_HEADERS_OFFSET + sizeof(struct ebt_ring_header) * g->domains;
	g->data_end = g->data + 8 * g->words * g->domains;
	g->end = g->data_end + (g->names ? EBT_RING_NAMES_BYTES : 0);
}

static void guess_count(struct guess *g, const struct ebt_ring_file *h, uint64_t file_bytes)
{
	uint64_t slack = g->names ? RING_SLACK_BYTES : 0;
	g->agree = (h->version == EBT_RING_VERSION) + (h->max_domains == g->domains) +
		   (h->ring_header_size == sizeof(struct ebt_ring_header)) +
		   (h->ring_size_bytes == 8 * g->words) + (h->ring_size_elements == g->words) +
		   (h->headers_offset == EBT_RING_HEADERS_OFFSET) + (h->data_offset == g->data) +
		   (h->custom_events_offset == (g->names ? g->data_end : 0)) +
		   (file_bytes >= g->end && file_bytes <= g->end + slack);
}

static void guess_try(struct guess *best, const struct ebt_ring_file *h, uint64_t file_bytes,
		      uint64_t domains, uint64_t words)
{
	if (!domains || domains > EBT_RING_MAX_DOMAINS || words < RING_MIN_WORDS ||
	    words > 1ull << EBT_RING_MAX_LOG_WORDS || words & (words - 1))
		return;
	for (int names = 1; names >= 0; names--) {
		struct guess g = {.domains = domains, .words = words, .names = names};
		guess_complete(&g);
		guess_count(&g, h, file_bytes);
		if (g.agree > best->agree)
			*best = g;
	}
}

/* The header has each number in more than one form. Returns the guess that most of them agree
 * with. */
static struct guess guess_best(const struct ebt_ring_file *h, uint64_t file_bytes)
{
	struct guess best = {.agree = 0};
	const uint64_t header = sizeof(struct ebt_ring_header);
	uint64_t domains[] = {h->max_domains, (h->data_offset - EBT_RING_HEADERS_OFFSET) / header};
	uint64_t room = h->custom_events_offset - h->data_offset;

	for (size_t i = 0; i < 2; i++) {
		uint64_t n = domains[i];
		if (!n || n > EBT_RING_MAX_DOMAINS)
			continue;
		uint64_t headers = EBT_RING_HEADERS_OFFSET + header * n + EBT_RING_NAMES_BYTES;
		guess_try(&best, h, file_bytes, n, h->ring_size_elements);
		guess_try(&best, h, file_bytes, n, h->ring_size_bytes / 8);
		guess_try(&best, h, file_bytes, n, room / (8 * n));
		if (file_bytes > headers)
			guess_try(&best, h, file_bytes, n, (file_bytes - headers) / (8 * n));
	}
	return best;
}

static void check(struct ring_layout *l, const char *what, uint64_t offset, uint64_t found,
		  uint64_t expected)
{
	if (found != expected)
		l->repair[l->repairs++] = (struct ring_fault){offset, found, expected, what};
}

static void check_all(struct ring_layout *l, const struct ebt_ring_file *h, const struct guess *g)
{
#define CHECK(field, expected) \
	check(l, #field, offsetof(struct ebt_ring_file, field), h->field, expected)
	CHECK(version, EBT_RING_VERSION);
	CHECK(max_domains, g->domains);
	CHECK(ring_header_size, sizeof(struct ebt_ring_header));
	CHECK(ring_size_bytes, 8 * g->words);
	CHECK(ring_size_elements, g->words);
	CHECK(headers_offset, EBT_RING_HEADERS_OFFSET);
	CHECK(data_offset, g->data);
	CHECK(custom_events_offset, g->names ? g->data_end : 0);
#undef CHECK
	if (l->file_bytes < g->end)
		check(l, "end of file", l->file_bytes, l->file_bytes, g->end);
}

static int refuse(struct ring_fault *fault, int err, const char *what, uint64_t offset,
		  uint64_t found, uint64_t expected)
{
	*fault = (struct ring_fault){offset, found, expected, what};
	return err;
}

int ring_layout_parse(const void *head, size_t n, uint64_t file_bytes, struct ring_layout *ret,
		      struct ring_fault *fault)
{
	struct ebt_ring_file h;
	static const struct ebt_ring_file zero;

	if (n < sizeof(h) || file_bytes < sizeof(h))
		return refuse(fault, -EBADMSG, "end of file", file_bytes, file_bytes, sizeof(h));
	memcpy(&h, head, sizeof(h));
	if (!memcmp(&h, &zero, sizeof(h)))
		return refuse(fault, -EAGAIN, "version", 0, 0, EBT_RING_VERSION);

	struct guess g = guess_best(&h, file_bytes);
	if (g.agree < RING_MIN_AGREE) {
		bool version = h.version > EBT_RING_VERSION && h.version < 256;
		if (__builtin_bswap64(h.version) == EBT_RING_VERSION)
			return refuse(fault, -EPROTO,
				      "it is of a machine with the other byte order: version", 0,
				      h.version, EBT_RING_VERSION);
		if (h.version != EBT_RING_VERSION)
			return refuse(fault, version ? -EPROTO : -EBADMSG, "version", 0, h.version,
				      EBT_RING_VERSION);
		return refuse(fault, -EBADMSG, "max_domains",
			      offsetof(struct ebt_ring_file, max_domains), h.max_domains, 128);
	}
	/* A sparse file of a terabyte costs nothing to make; only an attack has a reason to. */
	if (file_bytes > g.end + RING_SLACK_BYTES)
		return refuse(fault, -EBADMSG, "end of file", file_bytes, file_bytes, g.end);
	if (file_bytes < g.data)
		return refuse(fault, -EBADMSG, "end of file", file_bytes, file_bytes, g.end);

	struct ring_layout l = {
		.max_domains = (uint32_t)g.domains,
		.ring_words = (uint32_t)g.words,
		.headers_offset = EBT_RING_HEADERS_OFFSET,
		.header_bytes = sizeof(struct ebt_ring_header),
		.data_offset = g.data,
		.names_offset = g.names ? g.data_end : 0,
		.end_offset = g.end,
		.file_bytes = file_bytes,
	};
	check_all(&l, &h, &g);
	*ret = l;
	return 0;
}

static void copy_string(char *to, const char *from, size_t n)
{
	memcpy(to, from, n - 1);
	to[n - 1] = 0;
}

int ring_ext_parse(const void *bytes, size_t n, uint64_t offset, struct ring_ext *ret,
		   struct ring_fault *fault)
{
	struct ebt_ring_ext e;
	if (n < sizeof(e.magic))
		return 0;
	memcpy(&e.magic, bytes, sizeof(e.magic));
	if (e.magic != EBT_RING_EXT_MAGIC)
		return 0;
	if (n < sizeof(e))
		return refuse(fault, -EBADMSG, "end of file", offset + n, n, sizeof(e));
	memcpy(&e, bytes, sizeof(e));

#define AT(field) (offset + offsetof(struct ebt_ring_ext, field))
	if (e.byte_order != 0x0102030405060708)
		return refuse(fault, -EPROTO, "byte order", AT(byte_order), e.byte_order,
			      0x0102030405060708);
	if (e.word_bytes != 8)
		return refuse(fault, -EPROTO, "word size", AT(word_bytes), e.word_bytes, 8);
	if (e.clock != EBT_RING_CLOCK_MONOTONIC)
		return refuse(fault, -EPROTO, "clock", AT(clock), e.clock, 0);
	if (e.phases > EBT_RING_EXT_MAX_NAMES)
		return refuse(fault, -EBADMSG, "phases", AT(phases), e.phases, 0);
	if (e.counters > EBT_RING_EXT_MAX_NAMES)
		return refuse(fault, -EBADMSG, "counters", AT(counters), e.counters, 0);
	if (e.lifecycles > EBT_RING_EXT_MAX_NAMES)
		return refuse(fault, -EBADMSG, "lifecycles", AT(lifecycles), e.lifecycles, 0);
	if (e.first_domain >= EBT_RING_MAX_DOMAINS)
		return refuse(fault, -EBADMSG, "first domain", AT(first_domain), e.first_domain, 0);
	uint64_t size = sizeof(e) +
			(uint64_t)EBT_RING_EXT_NAME_BYTES * (e.phases + e.counters + e.lifecycles);
	if (e.size < size)
		return refuse(fault, -EBADMSG, "size", AT(size), e.size, size);
#undef AT

	memset(ret, 0, sizeof(*ret));
	ret->pid = e.pid;
	ret->start_time = e.start_time;
	ret->start_ns = e.start_ns;
	ret->no_ring_events = e.no_ring_events;
	ret->phases = e.phases;
	ret->counters = e.counters;
	ret->lifecycles = e.lifecycles;
	ret->first_domain = (uint32_t)e.first_domain;
	ret->left_over = e.left_over == 1;
	copy_string(ret->boot_id, e.boot_id, sizeof(ret->boot_id));
	copy_string(ret->producer, e.producer, sizeof(ret->producer));
	copy_string(ret->runtime, e.runtime, sizeof(ret->runtime));
	copy_string(ret->comm, e.comm, sizeof(ret->comm));
	return 1;
}
