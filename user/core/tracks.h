/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Spans that nest, whatever the stream holds: for the formats and reports that need a begin for
 * every end. A track is a stack of open spans: the phases of one domain (of one thread, where there
 * is no domain) are one track; each kind of user span of a domain is a track of its own, since user
 * spans may overlap.
 *
 * An end belongs to the innermost open begin of its id; what is open inside is ended with it. An
 * end without a begin is dropped: its begin was lost, or lies before the trace. At a loss, whatever
 * is open on the track is ended at the last moment before the hole: nobody knows when it ended.
 * Every span that was begun is ended, at the latest by tracks_end(). Moments never go back within a
 * track, so no span is shorter than nothing.
 */
#ifndef CORE_TRACKS_H
#define CORE_TRACKS_H

#include <ebtrace/event.h>

#define TRACK_DEPTH  128	/* open spans of a track; what is deeper is not seen */
#define TRACK_PHASES UINT32_MAX /* `span` of the track of the phases */

struct tracks;

struct track {
	uint32_t number;       /* from 1, in order of appearance, never used twice */
	uint32_t process, tid; /* tid: of its last event, 0: not known */
	uint16_t domain;       /* EBT_NO_DOMAIN: the track of a thread */
	uint32_t span;	       /* TRACK_PHASES, or the id of its user spans */
	union {		       /* the visitor's own; 0 at first */
		void *user;
		uint64_t user_number;
	};
};

struct track_span {
	uint32_t id;
	uint64_t begin_ns;
	uint64_t inner_ns; /* spent in spans inside it that have ended */
};

enum track_end {
	TRACK_ENDED,	 /* by an event */
	TRACK_OUTER,	 /* a span around it ended */
	TRACK_LOST,	 /* cut: events were lost behind it */
	TRACK_PROCESS,	 /* cut: the process, or its program, ended */
	TRACK_UNFINISHED /* cut: the trace ended */
};

/* What a visitor returns other than 0 ends the call and is returned by it. */
struct tracks_visitor {
	int (*begin)(void *ctx, struct track *t, const struct track_span *s, unsigned depth,
		     const struct ebt_event *ev);
	/* depth: spans that are still open around it. */
	int (*end)(void *ctx, struct track *t, const struct track_span *s, unsigned depth,
		   uint64_t end_ns, enum track_end how);
	/* The track will not be used any more. May be NULL. */
	void (*forget)(void *ctx, struct track *t);
	void *ctx;
};

int tracks_new(const struct tracks_visitor *v, struct tracks **ret); /* v is copied; 0 or -ENOMEM */
/* Where an event of a domain tells its thread and is in no ring, each thread has a track of its own
 * for its phases: systhreads share a domain, and theirs do not nest. Before the first event. */
void tracks_by_thread(struct tracks *t);
void tracks_free(struct tracks *t); /* does not call the visitor */
/* Takes an event of any kind, in order of time; visits what it begins or ends. */
int tracks_push(struct tracks *t, const struct ebt_event *ev);
/* Ends what is open of a process, and forgets its tracks. */
int tracks_forget(struct tracks *t, uint32_t process, uint64_t end_ns);
/* Ends what is open, at this moment or the last of its track, whichever is later. */
int tracks_end(struct tracks *t, uint64_t end_ns);
/* The track of the phases of the event's domain or thread, made if it is new. NULL: -ENOMEM. */
struct track *tracks_of(struct tracks *t, const struct ebt_event *ev);

#endif
