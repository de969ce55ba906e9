/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The spans and fibers that samples are in, by the events of a run (stream/tracks.h,
 * stream/fibers.h). Of a domain, or of a thread outside of any, it is the span that began last and
 * has not ended: a user event of type span, a pair of markers, or a span of a library of fibers.
 * While a fiber runs, only spans that began in it count; without one it is the fiber itself, by the
 * name of its outermost context that has one, its own, or that of where it was made. Markers name
 * no domain: a pair of them counts for its thread, in whichever domain or fiber that is, if it
 * began last. Spans by an argument of markers are of no thread, and do not count.
 *
 * After a loss it is not known until the next of these events. Names beyond PROFILE_SPANS, in order
 * of appearance, are one.
 */
#ifndef REPORT_PROFILE_MODEL_SPANS_H
#define REPORT_PROFILE_MODEL_SPANS_H

#include "session/session.h"

#define PROFILE_SPANS 2000

/* Numbers of what is no name; names follow. */
enum { PROFILE_SPAN_NONE, PROFILE_SPAN_UNKNOWN, PROFILE_SPAN_SCHEDULER, PROFILE_SPAN_OTHERS };

struct profile_spans;

/* Keeps the session. 0 or -ENOMEM. */
int profile_spans_new(const struct session *s, struct profile_spans **ret);
void profile_spans_free(struct profile_spans *p); /* NULL is allowed */
/* An event that is no sample, in order of time. 0 or -ENOMEM. */
int profile_spans_event(struct profile_spans *p, const struct ebt_event *ev);
/* 0 or -ENOMEM. */
int profile_spans_forget(struct profile_spans *p, uint32_t process, uint64_t end_ns);
/* The number of what a sample is in; domain: where it is, or EBT_NO_DOMAIN. */
int profile_spans_find(struct profile_spans *p, const struct ebt_event *sample, uint16_t domain,
		       uint32_t *ret);
/* The name of a number; valid until free(). */
const char *profile_spans_name(const struct profile_spans *p, uint32_t number);

#endif
