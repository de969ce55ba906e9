/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stream of events as all lanes of the model of stat share it: its present, and its tracks.
 *
 * Moments of a live run that lie before its begin are moved up to it, so no time before it counts.
 */
#ifndef REPORT_STAT_MODEL_STREAM_H
#define REPORT_STAT_MODEL_STREAM_H

#include "base/histogram.h"
#include "base/ptrarray.h"
#include "session/session.h"
#include "stream/tracks.h"

struct stat_lane;

struct stat_stream {
	const struct session *session;
	PTRARRAY(struct stat_lane) lanes; /* by lane of the registry */
	struct tracks *tracks;		  /* the open spans of all lanes */
	uint64_t floor_ns;		  /* when a live run began; 0: none */
	uint64_t now_ns;
	bool late;    /* the present event came late */
	bool closing; /* spans that are cut now are cut by an end, not by a loss */
	/* Lengths of the pauses that have ended since its owner cleared it; NULL: not wanted. */
	struct histogram *interval;
};

/* A moment, or the begin of the run if that is later. */
static inline uint64_t stat_stream_clip(const struct stat_stream *s, uint64_t ns)
{
	return ns < s->floor_ns ? s->floor_ns : ns;
}
static inline uint64_t stat_stream_later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

#endif
