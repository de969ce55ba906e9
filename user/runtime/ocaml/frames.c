/* SPDX-License-Identifier: BSD-2-Clause */
#include "runtime/ocaml/frames.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define HEAD_BYTES   12 /* the return address, data and the number of live values */
#define HAS_DEBUG    1u /* in data */
#define HAS_LENGTHS  2u
#define RETURNS_TO_C 0xffffu

/* A descriptor behind its live values. */
struct descriptor {
	uint8_t lengths; /* allocations */
	uint8_t length[OCAML_LENGTHS_MAX];
	uint64_t debug; /* the address of its offsets; 0: none */
	uint32_t debugs;
};

static bool read_all(const struct ocaml_memory *m, uint64_t address, void *ret, size_t bytes)
{
	return m->read(m->ctx, address, ret, bytes) == (int)bytes;
}

static bool read_descriptor(const struct ocaml_memory *m, uint64_t at, struct descriptor *ret)
{
	uint8_t head[HEAD_BYTES];
	uint16_t data, live;
	if (!read_all(m, at, head, sizeof(head)))
		return false;
	memcpy(&data, head + 8, sizeof(data));
	memcpy(&live, head + 10, sizeof(live));
	if (data == RETURNS_TO_C)
		return false;
	at += HEAD_BYTES + 2ull * live;
	*ret = (struct descriptor){.debugs = 1};
	if (data & HAS_LENGTHS) {
		if (!read_all(m, at, &ret->lengths, 1) ||
		    !read_all(m, at + 1, ret->length, ret->lengths))
			return false;
		at += 1ull + ret->lengths;
		ret->debugs = ret->lengths;
	}
	if (data & HAS_DEBUG)
		ret->debug = (at + 3) & ~3ull;
	return true;
}

int ocaml_frames_allocation(const struct ocaml_memory *m, uint64_t descriptor, uint64_t free_words,
			    uint32_t *ret_words)
{
	struct descriptor d;
	uint64_t used = 0;
	if (!read_descriptor(m, descriptor, &d) || !d.lengths)
		return -ENOENT;
	/* They are made downwards, the last one first; a length is one less than its words, and a
	 * header comes on top. */
	int i = d.lengths;
	while (i-- > 0) {
		used += d.length[i] + 2u;
		if (used > free_words || !i)
			break;
	}
	*ret_words = d.length[i] + 1u;
	return i;
}

/* The address of the first position's words; 0: none. */
static uint64_t find_debug(const struct ocaml_memory *m, const struct descriptor *d, int allocation)
{
	uint32_t offset = 0, i = allocation > 0 ? (uint32_t)allocation : 0;
	if (!d->debug || i >= d->debugs)
		return 0;
	if (!read_all(m, d->debug + 4ull * i, &offset, sizeof(offset)))
		return 0;
	/* Not each allocation has one. */
	for (uint32_t k = 0; !offset && k < d->debugs; k++) {
		i = k;
		if (!read_all(m, d->debug + 4ull * i, &offset, sizeof(offset)))
			return 0;
	}
	return offset ? d->debug + 4ull * i + offset : 0;
}

static bool read_text(const struct ocaml_memory *m, uint64_t at, char ret[OCAML_NAME_BYTES])
{
	int n = m->read(m->ctx, at, ret, OCAML_NAME_BYTES - 1);
	if (n <= 0)
		return false;
	ret[n] = 0;
	return true;
}

/* The names and numbers that a position refers to. */
struct names {
	int32_t file; /* offset */
	uint16_t start_char, end_char;
	int32_t end_offset;
};

static bool read_position(const struct ocaml_memory *m, uint64_t at, uint64_t word,
			  struct ocaml_position *ret)
{
	struct names n = {0};
	uint64_t names = at + (word & 0x3fffffc);
	uint32_t high = (uint32_t)(word >> 32), low = (uint32_t)word;
	bool newer = m->version.minor >= 2, is_long = newer && high >> 31;
	size_t bytes = is_long ? sizeof(n) : sizeof(n.file);
	if (!read_all(m, names, &n, bytes) ||
	    !read_text(m, names + (uint64_t)(int64_t)n.file, ret->file) ||
	    !read_text(m, names + bytes, ret->function))
		return false;
	if (is_long) {
		ret->line = high >> 12 & 0x7ffff;
		ret->start_char = n.start_char;
		ret->end_char = n.end_offset > 0 ? (uint32_t)n.end_offset : 0;
	} else if (newer) {
		ret->line = high >> 19;
		ret->start_char = high >> 10 & 0x3f;
		ret->end_char = (high >> 3 & 0x7f) + ((high & 7) << 6 | low >> 26);
	} else {
		ret->line = high >> 12;
		ret->start_char = high >> 4 & 0xff;
		ret->end_char = (high & 0xf) << 6 | low >> 26;
	}
	return true;
}

unsigned ocaml_frames_positions(const struct ocaml_memory *m, uint64_t descriptor, int allocation,
				struct ocaml_position ret[OCAML_POSITIONS_MAX])
{
	struct descriptor d;
	unsigned n = 0;
	if (!read_descriptor(m, descriptor, &d))
		return 0;
	uint64_t at = find_debug(m, &d, allocation), word = 1;
	for (; at && word & 1 && n < OCAML_POSITIONS_MAX; at += sizeof(word)) {
		if (!read_all(m, at, &word, sizeof(word)) || !read_position(m, at, word, &ret[n]))
			return 0;
		n++;
	}
	/* They are there with the innermost first. */
	for (unsigned i = 0; i < n / 2; i++) {
		struct ocaml_position swapped = ret[i];
		ret[i] = ret[n - 1 - i];
		ret[n - 1 - i] = swapped;
	}
	return n;
}
