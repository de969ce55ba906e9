/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Spans that have not ended: the time of each is taken in piece by piece, at the latest when it
 * ends, and sooner where what threads did lately would be too much to keep. A piece is one of its
 * thread, or one that the caller has.
 */
#ifndef REPORT_SPANS_MODEL_OPEN_H
#define REPORT_SPANS_MODEL_OPEN_H

#include "report/spans/model/sums.h"
#include "report/spans/model/times.h"

struct open_span {
	struct span of; /* ns: when it has ended */
	struct span_thread who;
	struct stacks *stacks; /* which hold that of its longest block; NULL: it has none */
	uint64_t block_begin_ns, block_end_ns; /* of the last block */
	uint64_t done_ns;		       /* what was before is in its parts */
	bool held_one;			       /* a span of its name has ended inside it */
	struct open_span *prev, *next;	       /* of its process, or those around it of its fiber */
};

/* Spans that have ended, for the next ones that begin: each keeps the memory of its parts and
 * segments. Zeroed memory: none. */
#define OPEN_SPANS_SPARE 64
struct open_spans {
	struct open_span *spare; /* a list by `next` */
	uint32_t count;
};
/* NULL: no memory. */
struct open_span *open_spans_take(struct open_spans *s);
/* The span has ended: it is a spare one, or freed where there are OPEN_SPANS_SPARE. */
void open_spans_put(struct open_spans *s, struct open_span *o);
void open_spans_done(struct open_spans *s);

/* Private: a piece without a CPU, which may be the longest block. */
void open_span_note_block(struct open_span *o, uint64_t begin_ns, uint64_t end_ns, uint32_t stack);
/* Takes in a piece. 0 or -ENOMEM. Inline: the fields of a piece at hand stay in registers. */
static inline __attribute__((always_inline)) int open_span_add(struct open_span *o,
							       const struct span_segment *s)
{
	if (s->kind == SPAN_BLOCKED || s->kind == SPAN_FAULTING)
		open_span_note_block(o, s->begin_ns, s->end_ns, s->stack);
	int err = span_parts_add(&o->of.parts, s->kind, s->detail, s->end_ns - s->begin_ns);
	return err ? err : span_segments_add(&o->of.segments, s, 1);
}
/* Takes in all pieces of another one, which follow those it has. 0 or -ENOMEM. */
int open_span_append(struct open_span *o, const struct open_span *more);
/* Takes in the time of its thread up to this moment. 0 or -ENOMEM. */
int open_span_advance(struct open_span *o, struct span_times *t, struct span_sums *sums,
		      uint64_t known_from, uint64_t to_ns);
/* The pieces of a thread's time as segments. 0 or -ENOMEM, or what fn returned. */
typedef int open_span_fn(void *ctx, const struct span_segment *s);
int open_span_walk(struct span_times *t, struct span_sums *sums, const struct span_thread *who,
		   uint64_t known_from, uint64_t from, uint64_t to, open_span_fn *fn, void *ctx);
/* All of its time was of no thread that is known: its parts are one. 0 or -ENOMEM. */
int open_span_replace(struct open_span *o, enum span_part_kind kind, uint64_t end_ns);
void open_span_free(struct open_span *o); /* NULL is allowed */

#endif
