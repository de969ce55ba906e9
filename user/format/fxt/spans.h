/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Phases of tracks as few records: a phase is held until it ends, and then is one complete record
 * instead of a begin and an end. Records of a track are written in the order in which their phases
 * began, so an outer phase precedes those inside it, also where both begin at the same nanosecond.
 *
 * A phase that is open for longer than FXT_SPANS_NS of event time, or has FXT_SPANS_HELD others
 * begun inside it or since, is written as a begin, and later as an end: what a reader of the output
 * cannot see yet is bounded in both. So is the oldest one where all tracks hold FXT_SPANS_TOTAL:
 * memory for what is held does not grow with the number of tracks.
 */
#ifndef FORMAT_FXT_SPANS_H
#define FORMAT_FXT_SPANS_H

#include "format/fxt/record.h"
#include "session/pause_counts.h"
#include "session/stacks.h"
#include "stream/tracks.h"

#define FXT_SPANS_NS	100000000ull
#define FXT_SPANS_HELD	256
#define FXT_SPANS_TOTAL 65536

struct fxt_span {
	uint64_t begin_ns, end_ns;
	uint32_t id;
	uint32_t tid; /* 0: not known, or that of the track's phase before */
	uint16_t cpu; /* EBT_NO_CPU: not known, or that of the track's phase before */
	bool late : 1, ended : 1;
	uint8_t how;			   /* enum track_end */
	uint32_t stack;			   /* of the begin; held */
	const struct pause_counts *counts; /* of the pause that ends with it; NULL: none */
};

/* Writes FXT_DURATION_BEGIN, _COMPLETE or _END of a phase. A return value other than 0 ends the
 * call and is its result. */
typedef int fxt_spans_write_fn(void *ctx, const struct track *t, enum fxt_event_type type,
			       const struct fxt_span *s);

struct fxt_spans {
	fxt_spans_write_fn *write;
	void *ctx;
	struct stacks *stacks;
	struct fxt_held *first, *last; /* that hold a phase, by the begin of their first */
	uint32_t held;		       /* phases of all tracks */
};

/* Keeps the stacks. Memory is that of the tracks: fxt_spans_forget() releases it. */
void fxt_spans_init(struct fxt_spans *f, fxt_spans_write_fn *write, void *ctx,
		    struct stacks *stacks);

/* The calls of a tracks_visitor for a track of phases. `user` of the track and of its spans belong
 * to this module. */
int fxt_spans_begin(struct fxt_spans *f, struct track *t, struct track_span *s,
		    const struct ebt_event *ev);
/* counts: of the pause that ends with the phase, or NULL. */
int fxt_spans_end(struct fxt_spans *f, struct track *t, const struct track_span *s, uint64_t end_ns,
		  enum track_end how, const struct pause_counts *counts);
void fxt_spans_forget(struct fxt_spans *f, struct track *t);

/* Writes the begins of the phases that have been open for too long at this moment. Before each
 * event, at its time: then the output depends on the events alone. */
int fxt_spans_advance(struct fxt_spans *f, uint64_t now_ns);

#endif
