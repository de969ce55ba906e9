/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moves events from the sources through merge, join and filter into the sinks, in bounded steps,
 * and keeps the session's totals. It never waits: the caller does, between steps. Sources, sinks
 * and the session are the caller's and must outlive it.
 */
#ifndef CORE_PUMP_H
#define CORE_PUMP_H

#include "core/filter.h"
#include "core/session.h"
#include "core/sink.h"
#include "core/source.h"

struct pump;

int pump_new(struct session *s, struct pump **ret);
void pump_free(struct pump *p);
int pump_add_source(struct pump *p, struct source *s);
int pump_add_sink(struct pump *p, struct sink *k);
/* To be told what to pass on, before the first step. */
struct filter *pump_filter(struct pump *p);
/*
 * Polls the sources (again whenever 1 ms has gone by in a long step) and moves what there is, at
 * most 65536 events. > 0: so many were moved, call again; 0: the end, the sinks may be ended;
 * -EAGAIN: nothing now, or a sink cannot keep up, wait; else the first error of a sink, or of memory.
 */
int pump_step(struct pump *p);
/* The last step took all that could be handed out then: another at once would find little. */
bool pump_drained(const struct pump *p);
/* Detaches the sources and lets them drain; steps then go on to the end. First error or 0. */
int pump_stop(struct pump *p);
/* The first error of a source, 0 if there was none. What it gave before has been passed on. */
int pump_source_error(const struct pump *p);

#endif
