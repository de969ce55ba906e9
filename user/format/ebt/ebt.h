/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events as a capture (codec/capture/capture.h): the whole stream, compressed, so that it can be
 * converted to every other format later. A block is closed when it is large enough, or a second
 * after it was opened, so a killed run loses its last second at most. Memory follows the number of
 * living processes and their names, not the length of the run.
 */
#ifndef FORMAT_EBT_EBT_H
#define FORMAT_EBT_EBT_H

#include "session/session.h"
#include "stream/sink.h"

/* The session is kept. 0 or -errno. */
int ebt_new(const struct session *s, int fd, struct sink **ret);

#endif
