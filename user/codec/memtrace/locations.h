/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The source positions of a memtrace trace: decodes location events and keeps the positions of each
 * code. Pure: no I/O, no globals.
 *
 * A position is 48 bits: line (20), first column (8), last column (10), index of the file's name
 * (5), index of the function's name (5). Index 31: the name follows, with a NUL. Names are in
 * tables of 31, where a used one moves to the front and a new one pushes the last one out; each
 * file has a table of the functions in it. A domain has tables of its own over the whole trace;
 * codes are common to all domains.
 */
#ifndef CODEC_MEMTRACE_LOCATIONS_H
#define CODEC_MEMTRACE_LOCATIONS_H

#include "base/ptrmap.h"
#include "codec/memtrace/memtrace.h"

#define MEMTRACE_NAMES		31
#define MEMTRACE_POSITION_BYTES 6

/* A table of names, the one used last first. */
struct memtrace_functions {
	const char *name[MEMTRACE_NAMES];
	uint8_t count;
};
struct memtrace_files {
	struct {
		const char *name;
		struct memtrace_functions *functions;
	} file[MEMTRACE_NAMES];
	uint8_t count;
	struct memtrace_functions functions[MEMTRACE_NAMES]; /* in no order */
};

/* Names and positions are in chunks, which never move. */
struct memtrace_chunk;
struct memtrace_entry; /* the positions of a code */

struct memtrace_locations {
	PTRMAP(struct memtrace_entry) by_code;
	struct memtrace_chunk *chunks;
};

void memtrace_locations_done(struct memtrace_locations *l);
/* Sets the names of a domain to unknown: a part of its location events was not read. */
void memtrace_files_forget(struct memtrace_files *f);
/*
 * Decodes a location event behind its header. Returns the byte behind it; NULL with *why: it is
 * damaged (what was expected), or *why NULL: no memory.
 */
const uint8_t *memtrace_location(struct memtrace_locations *l, struct memtrace_files *f,
				 bool before_v2, const uint8_t *p, const uint8_t *end,
				 const char **why);
/* Skips a location event. Returns the byte behind it; NULL: it is not whole. */
const uint8_t *memtrace_location_skip(const uint8_t *p, const uint8_t *end);
size_t memtrace_locations_of(const struct memtrace_locations *l, int64_t code,
			     const struct ebt_memtrace_location **ret);

#endif
