/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The source of a memtrace trace (codec/memtrace/memtrace.h): a lane for each domain. Its times are
 * those of the real-time clock. It enters the traced process and the backtraces into the session.
 *
 * A trace has one packet of a domain after the other, and a packet begins earlier than many before
 * it. In a file each lane has a reader of its own, so events are exactly in order of time. A pipe
 * is read once: a domain that has written nothing for MEMTRACE_WINDOW_NS, or while MEMTRACE_QUEUE
 * events of others wait, does not hold up the others any more, and its events are late.
 */
#ifndef SOURCE_FILE_MEMTRACE_H
#define SOURCE_FILE_MEMTRACE_H

#include "session/session.h"
#include "stream/source.h"
#include <ebtrace/memtrace.h>

/* A packet of memtrace's spans at most 30 s. */
#define MEMTRACE_WINDOW_NS 31000000000ull
#define MEMTRACE_QUEUE	   (1u << 20)

struct memtrace_source;

struct memtrace_options {
	const char *name; /* in messages; copied */
	/* Bytes that were read from the descriptor to recognise the format; copied. */
	const void *head;
	size_t head_bytes;
	/* There is no other input: the session's source, clock and start are the trace's. */
	bool alone;
};

/* Whether the first bytes of a file are a memtrace trace's. */
bool memtrace_is(const void *head, size_t bytes);

/* Takes ownership of fd, also on failure. Keeps the pointer to the session. 0 or -errno. */
int memtrace_source_new(struct session *session, int fd, const struct memtrace_options *o,
			struct memtrace_source **ret);
struct source *memtrace_source_base(struct memtrace_source *s); /* freed by source_free() */
/* The inverse. */
struct memtrace_source *memtrace_source_of(struct source *base);

const char *memtrace_source_name(const struct memtrace_source *s);
/* -EBADMSG: it is no trace; -EPROTO: of another version; -errno of reading; 0. */
int memtrace_source_error(const struct memtrace_source *s);
/* The offset and what was expected there, of the error or the first damage; "": none. */
const char *memtrace_source_reason(const struct memtrace_source *s);
/* A module that is not found or has another build id, so that its frames have only offsets; NULL:
 * none. */
const char *memtrace_source_changed(const struct memtrace_source *s);
/* Of all packets, as the first lane's reader counted them. */
/* Backtraces without their outermost frames, as the trace has too many of deep ones. */
uint64_t memtrace_source_cut(const struct memtrace_source *s);
/* What the trace lacks by its own head. */
struct alloc_trace_lack memtrace_source_lack(const struct memtrace_source *s);
struct ebt_memtrace_counts memtrace_source_counts(const struct memtrace_source *s);

#endif
