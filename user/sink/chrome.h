/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chrome's JSON Trace Event Format, for chrome://tracing, Perfetto and what else reads it: phases
 * as B and E that nest, user spans as nestable b and e, counters as C, what has no length as i, a
 * loss as an X on a row of its own, names of processes and rows as M. Times are in microseconds with
 * exactly three digits of nanoseconds. See rows.h for what pid and tid mean here.
 *
 * It is the format's JSON *array*, not its object with "traceEvents": only of the array the format
 * says that the closing bracket may be missing, so only that opens after the tracer was killed
 * (Perfetto refuses an object that is cut off, Chrome's viewer mends the array alone). What would
 * stand in "otherData" is in two M events, `ebtrace` at the start and `ebtrace_summary` at the end.
 * Events are separated by a comma *before* them and given to the output as a whole: what was
 * flushed is JSON but for the `]`. A kill in the middle of a large write can cut the last event.
 */
#ifndef SINK_CHROME_H
#define SINK_CHROME_H

#include "core/session.h"
#include "core/sink.h"

/* Writes to fd, which stays the caller's. 0 or -errno. */
int chrome_new(const struct session *s, int fd, struct sink **ret);

#endif
