/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events as a capture (codec/capture.h): all that the stream holds, compressed, so that every other
 * output can be made of it later. A block is closed when it is large enough, or when a second has
 * gone by, so a run that is killed leaves all but its last second. Memory follows the number of
 * processes and of names, not the length of the run.
 */
#ifndef SINK_EBT_H
#define SINK_EBT_H

#include "core/session.h"
#include "core/sink.h"

/* The session is kept. 0 or -errno. */
int ebt_new(const struct session *s, int fd, struct sink **ret);

#endif
