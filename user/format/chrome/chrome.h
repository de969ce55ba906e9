/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chrome's JSON Trace Event Format, for chrome://tracing, Perfetto and its other readers: phases as
 * B and E that nest, user spans as nestable b and e, counters as C, events without a duration as i,
 * a loss as an X on a row of its own, names of processes and rows as M. Times are in microseconds
 * with exactly three digits of nanoseconds. rows.h defines pid and tid.
 *
 * B and E of a phase have the same args: none, or the stack of its begin. Some readers match an E
 * with its B by name and args. What one of them alone knows is an i of the same row and time,
 * "begin of" or "end of" the phase: counts of the kernel, why the phase was cut, and that the event
 * came late.
 *
 * It is the format's JSON *array*, not its object with "traceEvents": the format allows a missing
 * closing bracket of the array alone, so only an array can be opened after the tracer was killed
 * (Perfetto refuses an object that is cut off, Chrome's viewer completes the array alone). The
 * contents of "otherData" are two M events, `ebtrace` at the start and `ebtrace_summary` at the
 * end. The comma is written *before* an event, and events are written as a whole: flushed output is
 * JSON without its `]`. A kill in the middle of a large write can cut the last event.
 */
#ifndef FORMAT_CHROME_CHROME_H
#define FORMAT_CHROME_CHROME_H

#include "session/session.h"
#include "stream/sink.h"

/* Writes to fd, which stays the caller's. 0 or -errno. */
int chrome_new(const struct session *s, int fd, struct sink **ret);

#endif
