/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The source of a Go page trace (ebtrace/pagetrace.h): the domain of an event is its P, and P -1 is
 * EBT_NO_DOMAIN. Its times are those of CLOCK_MONOTONIC.
 *
 * A file has a lane for each P, and its events are exactly in order of time. A pipe is read once,
 * block after block: a P that has written nothing for PAGETRACE_WINDOW_NS of the trace, or while
 * PAGETRACE_QUEUE events of others wait, does not hold up the others any more, and its events are
 * late. That a P is there is not known before its first block, so events wait for one that is not
 * known, too. Those of P -1, which are the earliest and come last, always are.
 */
#ifndef SOURCE_FILE_PAGETRACE_H
#define SOURCE_FILE_PAGETRACE_H

#include "session/session.h"
#include "stream/source.h"
#include <ebtrace/pagetrace.h>

#define PAGETRACE_WINDOW_NS 10000000000ull
#define PAGETRACE_QUEUE	    (1u << 20)

struct pagetrace_source;

struct pagetrace_options {
	const char *name; /* in messages; copied */
	/* Bytes that were read from the descriptor to recognise the format; copied. */
	const void *head;
	size_t head_bytes;
	/* There is no other input: the session's start is the trace's. */
	bool alone;
};

/* Takes ownership of fd, also on failure. Keeps the pointer to the session. 0, -EBADMSG: it is no
 * page trace, or -errno. */
int pagetrace_source_new(struct session *session, int fd, const struct pagetrace_options *o,
			 struct pagetrace_source **ret);
struct source *pagetrace_source_base(struct pagetrace_source *s); /* freed by source_free() */
/* The inverse. */
struct pagetrace_source *pagetrace_source_of(struct source *base);

const char *pagetrace_source_name(const struct pagetrace_source *s);
/* -EBADMSG: it is no page trace; -errno of reading; 0. */
int pagetrace_source_error(const struct pagetrace_source *s);
/* The offset and what was expected there, of the error or the first damage; "": none. */
const char *pagetrace_source_reason(const struct pagetrace_source *s);
struct ebt_pagetrace_counts pagetrace_source_counts(const struct pagetrace_source *s);

#endif
