/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report of top: a sink with the models of stat and blame, of which it makes frames, at any
 * moment and as often as its caller likes. With a descriptor it writes one frame, at the end of the
 * run; a caller with a screen asks for frames (top_frame()) and hands over keys (top_key()).
 *
 * Rates are since the frame before. Memory and the cost of a frame grow with the processes that
 * live, not with the events.
 */
#ifndef REPORT_TOP_TOP_H
#define REPORT_TOP_TOP_H

#include "base/json.h"
#include "report/top/frame.h"
#include "report/top/view.h"
#include "stream/sink.h"

/* Facts of processes that no event has, of the machine that they run on. */
struct top_host {
	/* Of a process that the registry has and that runs; false: they are not known. */
	bool (*where)(void *ctx, const struct process *p, struct top_where *ret);
	void *ctx;
};

struct top_options {
	bool json;
	bool counters; /* tallies are made, once a step */
	bool is_live;  /* processes that run; else a recording */
	enum top_column sort;
	enum top_group group;
	bool tree;
	const char *filter;   /* "": all */
	uint32_t most;	      /* rows of the frame that is written; 0: all */
	unsigned cols;	      /* of its text */
	bool utf8;	      /* likewise */
	struct top_host host; /* zeroes: nothing is known */
	uint64_t step_ns; /* between two frames; of a recording, of its history: 0: it has none */
	const char *note; /* a line of each frame; kept */
};

/* fd stays the caller's; -1: it writes nothing. 0 or -ENOMEM. */
int top_new(struct session *s, int fd, const struct top_options *o, struct sink **ret);
/* Draws a frame of its size, of this moment. next: it is the next one, from which rates are from
 * now on; else what there was is drawn anew. 0 or -ENOMEM. */
int top_frame(struct sink *k, struct top_frame *f, bool next);
/* A key. TOP_MAKE and TOP_DRAW have to be followed by a frame; TOP_KILL: see top_killed(). */
enum top_action top_key(struct sink *k, uint32_t key);
/* The signal that TOP_KILL asks for, and what became of it, for the last line of the screen. */
const struct top_kill *top_kill(const struct sink *k);
void top_say(struct sink *k, const char *text);
bool top_is_paused(const struct sink *k);
/* Replaces the line of each frame; kept. */
void top_set_note(struct sink *k, const char *note);
/* Writes the JSON Schema of what it writes with `json`, as a value. */
void top_schema(struct json *j);
/* For struct tally_reader; ctx is the sink. */
void top_take_tally(void *ctx, struct tally *t);

#endif
