/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes one event of the two records that a ring and a BPF program hold of it, and turns jumps of
 * the ordinal into losses. What is told apart by (process, domain, pos, ts) comes out once, with the
 * ring's payload and BPF's thread, CPU and stack. Of producers that count their events a hole is
 * known exactly, so their rings' own EBT_LOST are replaced by one in front of the event behind the
 * hole. An event of a hole that turns up late is delivered and taken off the session's count.
 * A process may run another program: its ordinals begin anew behind an EBT_PROCESS that says that
 * its program has ended, and with another ring file (EBT_F_FIRST).
 *
 * Events that went through a join before (EBT_F_FINAL) pass as they are.
 *
 * Input must be sorted as merge.h promises; output is sorted by time.
 */
#ifndef CORE_JOIN_H
#define CORE_JOIN_H

#include "core/outlet.h"
#include "core/session.h"

struct join;

int join_new(struct session *s, struct outlet out, struct join **ret);
void join_free(struct join *j);
/* Takes a batch and hands on what is certain, in the same memory. 0, -ENOMEM or the outlet's error. */
int join_events(struct join *j, struct ebt_event *ev, size_t n);
/* Hands on the event that was held for its partner. Call it when merge has nothing to give. */
int join_flush(struct join *j);
/* Drops what is known of the rings of a process of which nothing more comes. */
void join_forget(struct join *j, uint32_t process);

#endif
