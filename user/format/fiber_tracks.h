/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fibers as tracks of a timeline: slices for stream/fibers.h, the same in every format made for a
 * viewer. A fiber has a track of its domain from its first interval on the CPU to its end; then
 * another fiber may have it. A domain has at most FIBER_TRACKS; fibers beyond are not shown until a
 * track is free, and are counted. On its track the fiber is a slice, in it are the slices of its
 * contexts and spans, which nest, and innermost what it did: running, suspended, ready.
 *
 * Slices of a track are visited in order: what encloses others when it begins and when it ends, an
 * innermost one as a whole when it has ended. Arrows lead from an eio.put to the running slice of
 * the fiber that waited. Names are valid during the call.
 */
#ifndef FORMAT_FIBER_TRACKS_H
#define FORMAT_FIBER_TRACKS_H

#include "session/kinds.h"
#include "stream/fibers.h"

#define FIBER_TRACKS	 1000	 /* of a domain */
#define FIBER_CATEGORY	 "fiber" /* of their slices, where a format has categories */
#define FIBER_NAME_BYTES (FIBERS_TEXT_BYTES + 32)

struct fiber_track {
	uint32_t process, lane; /* of the registry */
	uint16_t domain;
	uint16_t number; /* of the domain's tracks, from 0 */
	uint32_t user;	 /* the format's own; 0 at first */
	/* Private from here on. */
	uint64_t last_ns;
	uint32_t fiber; /* a text: the name with which the slice of the fiber has begun */
};

enum fiber_slice_kind {
	FIBER_SLICE_FIBER,
	FIBER_SLICE_CONTEXT,
	FIBER_SLICE_SPAN,
	FIBER_SLICE_RUNNING,
	FIBER_SLICE_SUSPENDED,
	FIBER_SLICE_READY,
};

struct fiber_slice {
	enum fiber_slice_kind kind;
	const char *name; /* "server", "fiber 12", "switch 3", "running", "suspended: readv" */
	int64_t id;	  /* of a fiber or context */
	/* The context in which the fiber was made, if that event was seen. */
	bool has_context;
	int64_t context;
	const char *type;	   /* of a context; NULL: none, or not known */
	const char *operation;	   /* of a suspended one; NULL: none, or it has no name */
	uint64_t begin_ns, end_ns; /* end_ns: not in begin() */
	enum track_end how;	   /* TRACK_ENDED, or why it is cut; not in begin() */
	uint64_t arrow;		   /* the number of the arrow that ends at its begin; 0: none */
};

/* 0 or -errno, which ends the call that visits. */
struct fiber_tracks_visitor {
	int (*begin)(void *ctx, struct fiber_track *t, const struct fiber_slice *s);
	int (*end)(void *ctx, struct fiber_track *t, const struct fiber_slice *s);
	int (*whole)(void *ctx, struct fiber_track *t, const struct fiber_slice *s);
	/* A message or an exception, where the fiber that ran has a track. */
	int (*note)(void *ctx, struct fiber_track *t, const struct ebt_event *ev, const char *text);
	/* Arrows begin at an eio.put of the fiber that runs on the track. */
	int (*put)(void *ctx, struct fiber_track *t, const struct ebt_event *ev, uint64_t arrow,
		   unsigned count);
};

struct fiber_tracks;

/* All three are kept. 0 or -ENOMEM. */
int fiber_tracks_new(const struct session *s, const struct fiber_tracks_visitor *v, void *ctx,
		     struct fiber_tracks **ret);
void fiber_tracks_free(struct fiber_tracks *t); /* NULL is allowed */
/* As fibers_push(), fibers_forget(), fibers_end(). The end reports to the user what was not
 * shown. */
int fiber_tracks_event(struct fiber_tracks *t, const struct ebt_event *ev);
int fiber_tracks_forget(struct fiber_tracks *t, uint32_t process, uint64_t end_ns);
int fiber_tracks_end(struct fiber_tracks *t, uint64_t end_ns);

#endif
