/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds spans that last longer than a limit, and knows the begin of every span that is open. A span
 * is a phase, a span that the program registered, or a pause (pause_clock.h). Spans that a loss or
 * the end of a process cuts are not found, unless they are while they are open. Not thread-safe.
 */
#ifndef FORMAT_EBT_SPAN_WATCH_H
#define FORMAT_EBT_SPAN_WATCH_H

#include "session/session.h"

#define SPAN_WATCH_RULES 16
#define SPAN_WATCH_PAUSE "pause"

struct span_rule {
	const char *text; /* as the user wrote it */
	const char *span; /* a glob, or SPAN_WATCH_PAUSE */
	uint64_t over_ns;
};

struct span_hit {
	const struct span_rule *rule;
	char span[64]; /* its name, which is cut if it is longer */
	uint32_t process;
	uint16_t domain;
	uint64_t begin_ns, end_ns;
	uint64_t ns;  /* its length: of a pause, without the time of other threads of the domain */
	bool is_open; /* it has not ended: length and end are those so far */
	bool was_found; /* while it was open */
};

struct span_watch;

/* Keeps both pointers. 0 or -ENOMEM. */
int span_watch_new(const struct session *s, const struct span_rule *rule, unsigned rules,
		   struct span_watch **ret);
void span_watch_free(struct span_watch *w); /* NULL is allowed */
/* In order of time. 1: *ret is the span that the event has ended, over a limit; 0: none;
 * -ENOMEM. */
int span_watch_push(struct span_watch *w, const struct ebt_event *ev, struct span_hit *ret);
/* 1: *ret is a span that was open for so long beyond its limit, and no event before now_ns will end
 * it; it is found once. Pauses are not. 0: there is none. */
int span_watch_overdue(struct span_watch *w, uint64_t now_ns, uint64_t beyond_ns,
		       struct span_hit *ret);
/* The process has ended. 0 or -ENOMEM. */
int span_watch_forget(struct span_watch *w, uint32_t process);

/* The begins of all open spans, in order of time, without stacks: the caller's to free. 0 or
 * -ENOMEM. */
int span_watch_open(const struct span_watch *w, struct ebt_event **ret, uint32_t *ret_count);
/* When the first open span began that a rule may find; UINT64_MAX: there is none. */
uint64_t span_watch_oldest_ns(const struct span_watch *w);

#endif
