/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The identity and nesting of spans, whatever the stream holds: for the formats, reports and
 * filters that need a begin for every end. A track is a stack of open spans: the phases of one lane
 * (of one domain, or of one thread outside of any) are one track; each kind of user span of a lane
 * is a track of its own, since user spans may overlap. Spans by an argument of markers
 * (session/marker_values.h) may end in another thread: they are tracks of their process.
 *
 * An end belongs to the innermost open begin of its id; spans open inside it end with it. An end
 * without a begin is dropped: its begin was lost, or precedes the trace. Spans of markers that have
 * a level (session/marker_values.h) end as it says. A loss ends the open spans
 * of the tracks that it concerns at the last moment before the hole, since their ends may be among
 * the lost events: a loss with a domain concerns all tracks of its lane; one without, the tracks of
 * its process (of every process, if it has none) that had their last event in no ring, and with
 * EBT_LOST_ANYWHERE those in rings too. An exec or exit ends all spans of its process. Every span
 * that was begun is ended, at the latest by tracks_end(). Time never goes back within a track, so
 * no duration is negative.
 */
#ifndef STREAM_TRACKS_H
#define STREAM_TRACKS_H

#include "session/processes.h"

#define TRACK_DEPTH  128	/* open spans of a track; deeper ones are ignored */
#define TRACK_PHASES UINT32_MAX /* `span` of the track of the phases */

struct tracks;

struct track {
	uint32_t number;       /* from 1, in order of appearance, never used twice */
	uint32_t lane;	       /* of the registry */
	uint32_t process, tid; /* tid: of its last event, 0: not known */
	uint16_t domain;       /* EBT_NO_DOMAIN: the track of a thread */
	bool in_ring;	       /* its last event has a position in a ring; private */
	uint32_t span;	       /* TRACK_PHASES, or the id of its user spans */
	union {		       /* the visitor's own; 0 at first */
		void *user;
		uint64_t user_number;
	};
	/* Private from here on. */
	uint64_t last_ns;
	unsigned depth, cap;	 /* open spans, and the room for them: most tracks are not deep */
	struct track_span *open; /* the outermost first */
};

struct track_span {
	uint32_t id;
	uint32_t level; /* of a span of markers; 0: not known; private */
	uint64_t begin_ns;
	uint64_t inner_ns; /* spent in spans inside it that have ended */
	uint64_t user;	   /* the visitor's own, set by begin() */
};

enum track_end {
	TRACK_ENDED,	  /* by an event */
	TRACK_OUTER,	  /* a span around it ended */
	TRACK_LOST,	  /* cut: events were lost behind it */
	TRACK_PROCESS,	  /* cut: the process, or its program, ended */
	TRACK_UNFINISHED, /* cut: the trace ended */
	TRACK_NOT_ENDED	  /* its end will not come: one of its level begins, or ends */
};

/* A return value other than 0 ends the call that visits, which returns it. */
struct tracks_visitor {
	int (*begin)(void *ctx, struct track *t, struct track_span *s, unsigned depth,
		     const struct ebt_event *ev);
	/* depth: spans that are still open around it. */
	int (*end)(void *ctx, struct track *t, const struct track_span *s, unsigned depth,
		   uint64_t end_ns, enum track_end how);
	/* An end without a begin: no span of its id is open. May be NULL. */
	void (*orphan)(void *ctx, struct track *t, const struct ebt_event *ev);
	/* The track will not be used any more; its spans have ended, or tracks_free() was called.
	 * May be NULL. */
	void (*forget)(void *ctx, struct track *t);
};

/* All three pointers are kept. 0 or -ENOMEM. */
int tracks_new(const struct processes *ps, const struct tracks_visitor *v, void *ctx,
	       struct tracks **ret);
/* From here on each thread has a track of its own for its phases where an event of a domain has a
 * thread and is in no ring: systhreads share a domain, and theirs do not nest. Before the first
 * event. */
void tracks_by_thread(struct tracks *t);
/* Calls forget() for each track, and nothing else of the visitor. */
void tracks_free(struct tracks *t);
/* Processes an event of any kind, in order of time; visits the spans that it begins or ends. */
int tracks_push(struct tracks *t, const struct ebt_event *ev);
/* Processes an EBT_BEGIN or EBT_END. track: of the event, as tracks_of() returned it. */
int tracks_push_to(struct tracks *t, struct track *track, const struct ebt_event *ev);
/* Ends the outermost open span of a track that has one, before those inside it: its own
 * end will not come. At this moment, or the last of the track. */
int tracks_end_outermost(struct tracks *t, struct track *track, uint64_t end_ns,
			 enum track_end how);
/* Ends the open spans of a process and forgets its tracks. */
int tracks_forget(struct tracks *t, uint32_t process, uint64_t end_ns);
/* Ends all open spans, at this moment or the last of their track, whichever is later. */
int tracks_end(struct tracks *t, uint64_t end_ns);
/* What tracks_each_open() calls. A return value other than 0 ends it, which returns that. */
typedef int tracks_open_fn(void *ctx, const struct track *t, const struct track_span *s,
			   unsigned depth, uint64_t end_ns);
/* Calls fn for each open span of a lane of the registry as a loss at end_ns would end them, in the
 * same order and with the same moments; nothing ends. */
int tracks_each_open(const struct tracks *t, uint32_t lane, uint64_t end_ns, tracks_open_fn *fn,
		     void *ctx);
/* The track of the phases of the event's lane, made if it is new; valid until the visitor's
 * forget(). NULL: -ENOMEM. */
struct track *tracks_of(struct tracks *t, const struct ebt_event *ev);

/*
 * As tracks_push_to(), for the hot path: v and ctx are those of `t`; of a constant v, the functions
 * are inlined for spans that are inside another one and begin and end by their own events.
 */
static inline __attribute__((always_inline)) int
tracks_push_inline(struct tracks *t, struct track *k, const struct ebt_event *ev,
		   const struct tracks_visitor *v, void *ctx)
{
	bool begins = ev->kind == EBT_BEGIN;
	unsigned depth = k->depth;
	if (depth < 2u - begins || k->in_ring != (ev->pos != EBT_NO_POS) || ev->ts < k->last_ns)
		return tracks_push_to(t, k, ev);
	struct track_span *inner = &k->open[depth - 1];
	if (begins ? depth == k->cap : inner->id != ev->id)
		return tracks_push_to(t, k, ev);
	k->last_ns = ev->ts;
	if (ev->tid)
		k->tid = ev->tid;
	if (begins) {
		k->depth = depth + 1;
		inner[1] = (struct track_span){.id = ev->id, .begin_ns = ev->ts};
		return v->begin(ctx, k, &inner[1], depth, ev);
	}
	k->depth = depth - 1;
	inner[-1].inner_ns += ev->ts - inner->begin_ns;
	return v->end(ctx, k, inner, depth - 1, ev->ts, TRACK_ENDED);
}

#endif
