/* SPDX-License-Identifier: BSD-2-Clause */
/* The head of a packet of a memtrace trace, of all versions, decoded and checked. Pure. */
#ifndef CODEC_MEMTRACE_HEAD_H
#define CODEC_MEMTRACE_HEAD_H

#include "codec/memtrace/memtrace.h"

/*
 * Decodes the head of a packet. Returns its length; 0: more bytes are needed; -EBADMSG, with
 * *expected; -EPROTO: of a version that is not known.
 */
ssize_t memtrace_head(const uint8_t *p, size_t bytes, struct memtrace_head *ret,
		      const char **expected);

#endif
