/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Passes on the events that the user asked for, by name, kind, domain, thread and duration. An event passes if it
 * matches one of the globs (or there are none but excluding ones) and none that begins with `!`.
 * Losses, damage and changes of processes always pass.
 */
#ifndef CORE_FILTER_H
#define CORE_FILTER_H

#include "core/outlet.h"
#include "core/session.h"

struct filter;

int filter_new(struct session *s, struct outlet out, struct filter **ret);
void filter_free(struct filter *f);
/* The pattern is copied. fnmatch(3) against the event's name and its kind's. 0 or -ENOMEM. */
int filter_add_glob(struct filter *f, const char *pattern);
int filter_add_domain(struct filter *f, uint16_t domain);
int filter_add_thread(struct filter *f, uint32_t tid);
/* Events that did not pass because threads were asked for, and theirs is not known. */
uint64_t filter_threadless(const struct filter *f);
/* Only spans pass, and of them none that is shorter; see spans.h. Before the first event. 0 or -ENOMEM. */
int filter_set_min_duration(struct filter *f, uint64_t ns);
/* No event before this moment will come any more. 0 or the outlet's error. */
int filter_advance(struct filter *f, uint64_t now_ns);
/* So long events may wait here, by the time of the stream. */
uint64_t filter_delay_ns(const struct filter *f);
/* An outlet function: ctx is the filter. An event that is dropped gives its payload back. */
int filter_events(void *ctx, struct ebt_event *ev, size_t n);

#endif
