/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the sampled allocations of one process as a memtrace trace, which memtrace's own tools
 * read. The first process that has any is written; the format holds no other, and no event of
 * another kind.
 */
#ifndef FORMAT_MEMTRACE_H
#define FORMAT_MEMTRACE_H

#include "session/session.h"
#include "stream/sink.h"

/* Keeps the session; fd remains the caller's. 0 or -ENOMEM. */
int memtrace_new(struct session *s, int fd, struct sink **ret);

#endif
