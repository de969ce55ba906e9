/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The texts of fibers, each once: names and operations, made valid, and cut at
 * FIBERS_TEXT_BYTES bytes. At most FIBERS_TEXTS_BYTES bytes of all are held; what is beyond is
 * counted. References are counted, as in session/strings.h; a text that comes again and again is
 * found by its bytes, without a hash.
 */
#ifndef STREAM_FIBER_TEXTS_H
#define STREAM_FIBER_TEXTS_H

#include "codec/eio/eio.h"
#include "session/strings.h"

#define FIBERS_TEXT_BYTES  256
#define FIBERS_TEXTS_BYTES (8u << 20)
/* Nearly all texts are of some dozens. Direct-mapped. */
#define FIBERS_TEXTS_RECENT 64

/* Private. */
struct fiber_text {
	uint64_t user;
	size_t bytes;
};

struct fiber_texts {
	struct strings *strings;
	struct fiber_text *at; /* by id */
	uint32_t count;
	size_t bytes;
	uint32_t recent[FIBERS_TEXTS_RECENT]; /* that are held, so that they are found */
	uint64_t over;			      /* texts without room */
};

/* 0 or -ENOMEM; done() works after either, and on zeroed memory. */
int fiber_texts_init(struct fiber_texts *t);
void fiber_texts_done(struct fiber_texts *t);
/* The text of a record, held. *ret 0: it is empty, or there is no room for it. 0 or -ENOMEM. */
int fiber_texts_keep(struct fiber_texts *t, const struct eio_record *r, uint32_t *ret);
void fiber_texts_release(struct fiber_texts *t, uint32_t id);		/* private */
static inline void fiber_texts_drop(struct fiber_texts *t, uint32_t id) /* nothing with id 0 */
{
	if (id)
		fiber_texts_release(t, id);
}
/* The user's own number of a text, 0 at first and while the text is held. Valid until the next
 * fiber_texts_keep(). */
static inline uint64_t *fiber_texts_user(const struct fiber_texts *t, uint32_t id)
{
	return &t->at[id].user;
}

#endif
