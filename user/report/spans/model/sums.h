/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sums of spans by name, and the slowest spans. Of a name: how many, the percentiles of their
 * lengths, what their time was made of, and the same by length, so that what the slowest ones were
 * made of is known at any moment: lengths of 1 part in 32 are one class. It follows no event.
 *
 * Bounds: SPAN_NAMES_MAX names, then all others are one; SPAN_CLASSES_MAX classes of lengths, then
 * those of a power of two are one.
 */
#ifndef REPORT_SPANS_MODEL_SUMS_H
#define REPORT_SPANS_MODEL_SUMS_H

#include <errno.h>

#include "base/histogram.h"
#include "base/ptrarray.h"
#include "base/ptrmap.h"
#include "report/spans/model/parts.h"
#include "session/stacks.h"
#include "session/strings.h"

#define SPAN_NAMES_MAX	 2000
#define SPAN_CLASSES_MAX 65536u
#define SPAN_TEXTS_MAX	 65536u /* names, threads, operations */
#define SPAN_SEGMENTS	 64	/* of a slow span that are kept in their order */

/* A stretch of a span: pieces of one part that follow one another. */
struct span_segment {
	uint64_t begin_ns, end_ns;
	uint32_t kind, detail; /* as in struct span_part */
	/* The thread that ran, or that woke a blocked one; 0: none, or not known. */
	uint32_t tid;
	uint32_t comm; /* its name, a text; 0: not known */
	bool is_tracer;
	union {
		uint32_t
			stack; /* until it is added to a span: where it was blocked; 0: not known */
		uint32_t pieces; /* in a span: of how many it was made */
	};
};

/* One of no other thread. Field by field: clearing it at once costs more. */
static inline struct span_segment span_segment_of(enum span_part_kind kind, uint32_t detail,
						  uint64_t begin_ns, uint64_t end_ns)
{
	struct span_segment s;
	s.begin_ns = begin_ns;
	s.end_ns = end_ns;
	s.kind = kind;
	s.detail = detail;
	s.tid = s.comm = s.stack = 0;
	s.is_tracer = false;
	return s;
}

struct span_segments {
	struct span_segment *at;
	uint32_t count, cap;
	uint32_t pieces, more; /* all, and of these those that there was no room for */
};

/* A span that has ended. */
struct span {
	struct span_name *name;
	uint32_t pid, tid; /* 0: not known */
	uint32_t comm;	   /* of the process, a text; 0: not known */
	uint16_t domain;   /* EBT_NO_DOMAIN: none */
	int64_t fiber;	   /* 0: it is none of a fiber */
	uint64_t begin_ns, ns;
	struct span_parts parts;
	struct span_segments segments;
	uint64_t block_ns;    /* the longest block */
	uint32_t block_stack; /* of that, held; 0: not known */
};

/* Why a span is in no sum. */
#define SPAN_CUTS_LIST(X)                \
	X(SPAN_NOT_ENDED, not_ended)     \
	X(SPAN_CUT_BEGIN, open_at_begin) \
	X(SPAN_CUT_END, open_at_end)     \
	X(SPAN_CUT_LOSS, cut_by_loss)    \
	X(SPAN_NOT_FOLLOWED, not_followed)

enum span_cut {
#define X(CONSTANT, key) CONSTANT,
	SPAN_CUTS_LIST(X)
#undef X
		SPAN_CUTS /* their number */
};

/* Spans of one class of lengths. */
struct span_class {
	uint64_t count, ns;
	uint64_t shortest_ns;
	struct span_parts parts;
};

struct span_name {
	uint32_t text; /* 0: all names beyond SPAN_NAMES_MAX */
	bool is_phase;
	bool is_shown; /* of a phase: set by result.c */
	bool recurses; /* one has ended inside of which another one had */
	struct histogram lengths;
	uint64_t p99_ns, p99_count; /* of hung.c: that of the first p99_count of them */
	uint64_t total_ns;
	struct span_parts parts;
	uint64_t cut[SPAN_CUTS];
	/* Of fibers: what their domains did while they were suspended; the last one: not known. */
	uint64_t suspended_while[SPAN_DOMAIN_STATES + 1];
	PTRMAP(struct span_class) classes; /* by their lengths */
};

/* The slowest spans, the shortest of them first. */
struct span_heap {
	struct span *at;
	uint32_t count, cap;
};

struct span_sums {
	struct strings *texts;
	PTRARRAY(struct span_name) names, phases; /* by text */
	struct span_name *others[2];		  /* beyond SPAN_NAMES_MAX: spans, phases */
	uint32_t name_count, class_count;
	struct span_heap slowest[2]; /* spans, phases */
	uint32_t slow_max;	     /* of each */
	struct stacks *stacks;
};

/* slow_max: of the slowest spans that are kept. The stacks are kept. 0 or -ENOMEM; done() works
 * after either. */
int span_sums_init(struct span_sums *s, struct stacks *stacks, uint32_t slow_max);
void span_sums_done(struct span_sums *s);
/* A text that is held as long as the sums; 0: there is no room, or it is empty. */
uint32_t span_sums_text(struct span_sums *s, const char *text);
/* The sums of a name, new if it is, by its text (0: one for which there was no room). NULL:
 * -ENOMEM. */
struct span_name *span_sums_name(struct span_sums *s, uint32_t text, bool is_phase);
/* Adds a span; its parts and segments stay the caller's. 0 or -ENOMEM. */
int span_sums_add(struct span_sums *s, const struct span *span);
/* Adds the time of one that has no length, and counts it as cut. 0 or -ENOMEM. */
int span_sums_add_cut(struct span_sums *s, const struct span *span, enum span_cut cut);
/* The order of the slowest; of the same length the later one is the shorter. */
static inline bool span_is_shorter(const struct span *a, const struct span *b)
{
	return a->ns != b->ns ? a->ns < b->ns : a->begin_ns > b->begin_ns;
}
/* Whether a span that is added now will be one of the slowest: only those need `comm`. */
static inline bool span_sums_keeps(const struct span_sums *s, const struct span *span)
{
	const struct span_heap *h = &s->slowest[span->name->is_phase];
	return s->slow_max && (h->count < s->slow_max || span_is_shorter(h->at, span));
}

/* The slowest spans of a name: at least a hundredth, all of those classes. */
struct span_slow {
	uint64_t count, ns, from_ns; /* from_ns: the shortest of them */
	struct span_parts parts;
};
/* 0 or -ENOMEM; ended with span_parts_done(&ret->parts), also if it fails. */
int span_name_slow(const struct span_name *n, struct span_slow *ret);
/* Room for one more segment, of SPAN_SEGMENTS at most. 0 or -ENOMEM. */
int span_segments_grow(struct span_segments *s);
/* Appends a segment of so many pieces, or makes the last one longer. 0 or -ENOMEM. */
static inline int span_segments_add(struct span_segments *s, const struct span_segment *next,
				    uint32_t pieces)
{
	struct span_segment *last = s->count ? &s->at[s->count - 1] : NULL;
	if (next->end_ns <= next->begin_ns)
		return 0;
	s->pieces += pieces;
	if (last && last->end_ns == next->begin_ns &&
	    !((last->kind ^ next->kind) | (last->detail ^ next->detail) |
	      (last->tid ^ next->tid))) {
		last->end_ns = next->end_ns;
		last->pieces += pieces;
		return 0;
	}
	if (s->count == SPAN_SEGMENTS) {
		s->more += pieces;
		return 0;
	}
	if (s->count == s->cap && span_segments_grow(s))
		return -ENOMEM;
	s->at[s->count] = *next;
	s->at[s->count++].pieces = pieces;
	return 0;
}
/* Appends those of `more`, which follow. 0 or -ENOMEM. */
int span_segments_append(struct span_segments *s, const struct span_segments *more);
void span_segments_done(struct span_segments *s);

#endif
