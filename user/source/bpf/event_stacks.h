/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks of events of any kind: chooses for the BPF programs which events get one, makes stacks of
 * the session of their records (struct ebt_stack_record), and gives each to its event, which is the
 * next one of its thread.
 */
#ifndef SOURCE_BPF_EVENT_STACKS_H
#define SOURCE_BPF_EVENT_STACKS_H

#include "bpf/abi.h"
#include "source/stacks/c_stack.h"

struct event_stacks;

/* Keeps the session. globs: as filter_add_glob() has them; none: all events. pause_ns: also the
 * ends of pauses that last at least this long; 0: of none. 0 or -ENOMEM. */
int event_stacks_new(struct session *session, const char *const *globs, unsigned count,
		     uint64_t pause_ns, struct event_stacks **ret);
void event_stacks_free(struct event_stacks *s); /* NULL is allowed */
/* For the BPF programs; NULL: of NULL. Of user events by their kind alone: their names come
 * later. */
const struct ebt_stack_choice *event_stacks_choice(const struct event_stacks *s);
/* Keeps the stack of a record until its event comes. 0, -ENOMEM, or -EAGAIN: a lookup was put off,
 * and the record is to be received again. */
int event_stacks_receive(struct event_stacks *s, const struct c_stack_of *of,
			 const struct ebt_stack_record *rec, size_t payload);
/* Gives an event of a slot its stack, if it has one and is selected. Before its time is changed. */
void event_stacks_give(struct event_stacks *s, uint32_t slot, struct ebt_event *ev);

#endif
