/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moves events from the sources through merge, join and filter into the sinks, in bounded steps,
 * and counts the session's totals. It never waits: the caller does, between steps. Sources, sinks
 * and the session are the caller's and must outlive it.
 */
#ifndef STREAM_PUMP_H
#define STREAM_PUMP_H

#include "session/session.h"
#include "stream/filter.h"
#include "stream/sink.h"
#include "stream/source.h"

struct pump;

int pump_new(struct session *s, struct pump **ret);
void pump_free(struct pump *p);
int pump_add_source(struct pump *p, struct source *s);
int pump_add_sink(struct pump *p, struct sink *k);
/* To be set before the first step. */
struct filter *pump_filter(struct pump *p);
/* The sources are recordings: their time is that of their events, not that of the clock. Before the
 * first step. */
void pump_replay(struct pump *p);
/*
 * Polls the sources (again after each 1 ms of a long step) and moves their events, at most 65536.
 * > 0: number of events moved, call again; 0: the end, the sinks may be ended; -EAGAIN: no event
 * yet, or a sink cannot keep up: wait; else the first error of a sink, or -ENOMEM.
 */
int pump_step(struct pump *p);
/* The last step moved every event that was ready: another one at once would find few. */
bool pump_drained(const struct pump *p);
/* Detaches the sources; further steps drain them to the end. First error or 0. */
int pump_stop(struct pump *p);
/* The first error of a source, 0 if there was none. Its events before it were delivered. */
int pump_source_error(const struct pump *p);

#endif
