/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes one event of the two records that a ring and a BPF program hold of it, and turns jumps of
 * the ordinal into losses. Records equal in (process, domain, pos, ts) are one event; it is emitted
 * once, with the ring's payload and BPF's thread, CPU and stack. Where the producer counts its
 * events, the size of a hole is exact, so the ring's own EBT_LOST is replaced by one before the
 * first event behind the hole; one that has an ordinal, up to which all is lost, is emitted at
 * once. A late event of a hole is emitted and subtracted from the session's count of lost events.
 * When a process runs another program, its ordinals restart: behind the EBT_PROCESS that ends the
 * old program, and at the first event of another ring file (EBT_F_FIRST).
 *
 * Events that a join has emitted before (EBT_F_FINAL) pass unchanged. A run of events that need no
 * change passes without a copy.
 *
 * Input must be sorted as merge.h promises; output is sorted by time.
 */
#ifndef STREAM_JOIN_H
#define STREAM_JOIN_H

#include "session/session.h"
#include "stream/event_handler.h"

struct join;

int join_new(struct session *s, struct event_handler out, struct join **ret);
void join_free(struct join *j);
/* Emits the settled events of a batch, in the same memory. 0, -ENOMEM or the error of the event
 * handler. */
int join_events(struct join *j, struct ebt_event *ev, size_t n);
/* Emits the event that was held for its partner. Call it when merge has no event. */
int join_flush(struct join *j);
/* Drops what is known of the rings of a process. No event of it may follow. */
void join_forget(struct join *j, uint32_t process);

#endif
