/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layout of a ring file: checks its header against the file's size, and parses the extension
 * block of our own files. Pure: it parses bytes that the caller has copied. The fields of a header
 * are redundant, so one or two damaged ones are repaired from the others; the repairs are returned.
 */
#ifndef CODEC_RING_LAYOUT_H
#define CODEC_RING_LAYOUT_H

#include <ebtrace/ring.h>
#include <stdbool.h>
#include <stddef.h>

#define RING_MAX_REPAIRS 10

/* A field with a wrong value. `what` is static. */
struct ring_fault {
	uint64_t offset; /* in the file */
	uint64_t found, expected;
	const char *what; /* "ring_size_bytes" */
};

struct ring_layout {
	uint32_t max_domains;
	uint32_t ring_words; /* a power of two */
	uint64_t headers_offset, header_bytes;
	uint64_t data_offset;
	uint64_t names_offset; /* 0: no names, no user events (OCaml 5.0) */
	/* The end of the names; an extension block, if there is one, begins there. */
	uint64_t end_offset;
	uint64_t file_bytes;
	uint32_t repairs;
	struct ring_fault repair[RING_MAX_REPAIRS];
};

/*
 * `head`: the first `n` bytes of the file (sizeof(struct ebt_ring_file) are enough). 0, or
 * -EBADMSG: not a ring file or beyond repair; -EPROTO: another version; -EAGAIN: all zero, the
 * producer has not written it yet. Writes *ret on success, *fault on failure.
 */
int ring_layout_parse(const void *head, size_t n, uint64_t file_bytes, struct ring_layout *ret,
		      struct ring_fault *fault);

static inline uint64_t ring_layout_header(const struct ring_layout *l, uint32_t domain)
{
	return l->headers_offset + l->header_bytes * domain;
}
/* File offset of the word at a position of a ring. */
static inline uint64_t ring_layout_word(const struct ring_layout *l, uint32_t domain, uint64_t pos)
{
	return l->data_offset +
	       8 * ((uint64_t)l->ring_words * domain + (pos & (l->ring_words - 1)));
}

/* The fields of an extension block; strings are terminated. */
struct ring_ext {
	uint64_t pid, start_time, start_ns, no_ring_events;
	char boot_id[40], producer[64], runtime[64];
	char comm[16]; /* empty: not known */
	uint32_t phases, counters, lifecycles, first_domain;
	bool left_over; /* the process has ended, and the tracer is to remove the file */
};
/* `bytes`: those at end_offset. 1: a block, in *ret; 0: none; -EBADMSG or -EPROTO with *fault. */
int ring_ext_parse(const void *bytes, size_t n, uint64_t offset, struct ring_ext *ret,
		   struct ring_fault *fault);

#endif
