/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interned frames, the entries of backtraces. A frame is an address of code, if it is known, and
 * the positions in the source that it belongs to: none if it was not resolved, more than one if
 * functions were inlined, the outermost first. Equal frames have one id; id 0 is "no frame".
 *
 * References are counted like those of strings. A frame holds its strings. Not thread-safe.
 */
#ifndef SESSION_FRAMES_H
#define SESSION_FRAMES_H

#include "base/buf.h"
#include "session/strings.h"
#include <stdbool.h>

#define FRAME_POSITIONS_MAX 255

struct frame_position {
	uint32_t function, file; /* strings; 0: not known */
	uint32_t line, start_char, end_char;
	bool has_line, has_chars; /* what is not known is 0 */
};

/* The file that the code was mapped from, when the stack was recorded. */
struct frame_module {
	uint32_t path, build_id; /* strings, the latter in hexadecimal; 0: not known */
	uint64_t offset;	 /* of the instruction in the file; of a return address 1 less */
};

struct frame {
	uint64_t address; /* 0 if it is not known */
	bool has_address;
	uint32_t count; /* of positions, at most FRAME_POSITIONS_MAX */
	const struct frame_position *position;
	struct frame_module module;
};

struct frames;

/* Keeps `strings`, which must outlive it. 0 or -ENOMEM. */
int frames_new(struct strings *strings, struct frames **ret);
void frames_free(struct frames *t); /* NULL is allowed */

/*
 * The id of a frame, which the caller now holds; 0: no memory. The positions are copied. The frame
 * adds references to its strings; the caller keeps its own.
 */
uint32_t frames_put(struct frames *t, const struct frame *frame);
/* Add and remove a reference to a frame; nothing with id 0. */
void frames_hold(struct frames *t, uint32_t id);
void frames_drop(struct frames *t, uint32_t id);

/* Valid until the next frames_put() or the last drop; its positions until the last drop. */
const struct frame *frames_get(const struct frames *t, uint32_t id);
/* The number of frames with references. */
uint32_t frames_count(const struct frames *t);

#define FRAMES_BARE_BYTES 24
/* The text of a frame without positions: "$" and the address in decimal, or "?". */
const char *frames_bare_text(const struct frame *frame, char scratch[FRAMES_BARE_BYTES]);

/*
 * The number of texts for a frame in an output: one for each position, or one if it has none. Each
 * is "function@file:line:start-end" as far as it is known; without a position frames_bare_text().
 */
static inline uint32_t frames_texts(const struct frame *frame)
{
	return frame->count ? frame->count : 1;
}
/* No less than the bytes of the text of position i; of all texts of a frame, at most UINT32_MAX. */
size_t frames_text_bytes(const struct frames *t, const struct frame *frame, uint32_t i);
uint32_t frames_bytes(const struct frames *t, uint32_t id);
/* Appends the text of position i. */
void frames_put_text(const struct frames *t, const struct frame *frame, uint32_t i,
		     struct buf *out);

#endif
