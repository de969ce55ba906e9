/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Passes the events that the user selected by name, kind, domain, thread and duration. An event
 * passes if it matches one of the globs (or all of them exclude) and none that begins with `!`.
 * Losses, damage and changes of processes always pass.
 */
#ifndef STREAM_FILTER_H
#define STREAM_FILTER_H

#include "session/session.h"
#include "stream/event_handler.h"

struct filter;

int filter_new(struct session *s, struct event_handler out, struct filter **ret);
void filter_free(struct filter *f);
/* The pattern is copied. fnmatch(3) against the event's name and its kind's. 0 or -ENOMEM. */
int filter_add_glob(struct filter *f, const char *pattern);
/* Adds a pattern of another option, which selects no events here: only filter_unknown_glob() may
 * return it. The pattern is copied. option: what precedes it in a message, "--stack="; the
 * caller's. 0 or -ENOMEM. */
int filter_note_glob(struct filter *f, const char *option, const char *pattern);
int filter_add_domain(struct filter *f, uint16_t domain);
int filter_add_thread(struct filter *f, uint32_t tid);
/* True if the globs select the event. */
bool filter_names(struct filter *f, const struct ebt_event *ev);
/* True if the globs can select an event of this kind: one with an id below `ids`, or one without a
 * name. */
bool filter_can_select(struct filter *f, uint16_t kind, uint32_t ids);
/* The pattern with this number that matched no event, though there were events, and that is the
 * name or kind of none that a runtime has; NULL: no such pattern. *ret_option: "-e ", or that of
 * filter_note_glob(). */
const char *filter_unknown_glob(const struct filter *f, size_t i, const char **ret_option);
size_t filter_globs(const struct filter *f); /* their number */
/* Events that did not pass because threads were selected and theirs is not known. */
uint64_t filter_threadless(const struct filter *f);
/* Only spans pass, and none that is shorter (stream/spans.h), nor an interval that is one event
 * (EBT_OFFCPU, EBT_PAUSE). Before the first event. 0 or -ENOMEM. */
int filter_set_min_duration(struct filter *f, uint64_t ns);
/* Phases of any name, and intervals without a CPU of any length, pass: pauses are made of them
 * (report/stat/model/blame.h). Before the first event. */
void filter_keep_for_pauses(struct filter *f);
/* No event before this moment will follow. 0 or the error of the event handler. */
int filter_advance(struct filter *f, uint64_t now_ns);
/* The longest time, by that of the stream, that events wait here. */
uint64_t filter_delay_ns(const struct filter *f);
/* An event handler: ctx is the filter. The payload of a dropped event is released. */
int filter_events(void *ctx, struct ebt_event *ev, size_t n);
/* Releases the state of a process. Its last event must have passed. */
void filter_forget(struct filter *f, uint32_t process);

#endif
