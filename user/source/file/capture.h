/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The source of a capture file (codec/capture/capture.h), in one lane: its events were merged and
 * joined when it was written and pass unchanged (EBT_F_FINAL). It enters the processes, names and
 * stacks of the capture into the session, and refers to each process up to its GONE item. The file
 * is read in steps, also from a pipe that is still written.
 */
#ifndef SOURCE_FILE_CAPTURE_H
#define SOURCE_FILE_CAPTURE_H

#include "codec/capture/capture.h"
#include "session/session.h"
#include "stream/source.h"

struct capture_source;

struct capture_options {
	const char *name; /* in messages; copied */
	/* Bytes that were read from the descriptor to recognise the format; copied. */
	const void *head;
	size_t head_bytes;
	/* There is no other input: the session's source, clock and times are the capture's. */
	bool alone;
	bool keeps; /* processes are not released, wherever they end */
};

/* Takes ownership of fd, also on failure. Keeps the pointer to the session. 0 or -errno. */
int capture_source_new(struct session *session, int fd, const struct capture_options *o,
		       struct capture_source **ret);
struct source *capture_source_base(struct capture_source *s); /* freed by source_free() */
/* The inverse. */
struct capture_source *capture_source_of(struct source *base);

const char *capture_source_name(const struct capture_source *s);
/* -EBADMSG: it is no capture; -EPROTO: another version; -errno of reading; 0. */
int capture_source_error(const struct capture_source *s);
/* NULL: no damage so far. */
const struct capture_fault *capture_source_fault(const struct capture_source *s);
const struct capture_stats *capture_source_stats(const struct capture_source *s);
/* The totals that the capture holds; NULL: none, or none so far. */
const struct totals *capture_source_totals(const struct capture_source *s);

#endif
