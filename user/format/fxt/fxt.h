/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Fuchsia trace format (FXT), a binary format that Perfetto and Fuchsia's own tools read:
 * phases as complete durations, long ones as a begin and an end (spans.h), user spans as async
 * events, counters, events without a duration as instants, a loss as a complete duration on a row
 * of its own. A phase has the thread and the CPU of its begin where they differ from those of its
 * row's previous phase. Processes are koids equal to their pids, threads koids equal to the numbers
 * of rows (rows.h); a tick is a nanosecond. A counter's argument has the name of its row, because
 * Perfetto draws one graph of a process's counters of one name and argument, whatever their id.
 *
 * Only whole records are written, and each refers to earlier ones only, so an interrupted file is
 * readable to its last record. Records of a row are in the order of their begins; those of other
 * rows may be of earlier moments, which the format allows.
 */
#ifndef FORMAT_FXT_FXT_H
#define FORMAT_FXT_FXT_H

#include "session/session.h"
#include "stream/sink.h"

/* Writes to fd, which stays the caller's. 0 or -errno. */
int fxt_new(const struct session *s, int fd, struct sink **ret);

#endif
