/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The source of a capture file (codec/capture.h), in one lane: what was merged and joined when it
 * was written passes as it is (EBT_F_FINAL). It puts back into the session what the capture holds
 * of it. The file is read as it is needed, from a pipe too, which may still be written to.
 */
#ifndef SOURCE_CAPTURE_H
#define SOURCE_CAPTURE_H

#include "codec/capture.h"
#include "core/session.h"
#include "core/source.h"

struct capture_source;

struct capture_options {
	const char *name; /* in messages; copied */
	/* Bytes that were read from the descriptor to see what it is; copied. */
	const void *head;
	size_t head_bytes;
	/* There is no other input: the session's source, clock and times are the capture's. */
	bool alone;
};

/* fd is owned from here on, also on failure. The session is kept. 0 or -errno. */
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
/* The totals that the capture says; NULL: it does not, or not yet. */
const struct totals *capture_source_totals(const struct capture_source *s);

#endif
