/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks of events of any kind: chooses for the BPF programs which events get one, makes stacks of the
 * session of their records (struct ebt_stack_record), and gives each to its event, which is the next
 * one of its thread. The stack of C is unwound as proc/unwind.h has it: it ends before the first address
 * that is in no code, or is not behind a call; unless that is at the program's or the thread's start, it
 * has an outermost frame that says so.
 */
#ifndef SOURCE_EVENT_STACKS_H
#define SOURCE_EVENT_STACKS_H

#include "base/map.h"
#include "bpf/abi.h"
#include "source/code_frames.h"

struct event_stacks;

/* Addresses of a process that are known to be behind a call, or not. Initialised by zeroes. */
struct event_calls {
	struct map known;
	uint64_t read_ns; /* of the mappings that it is of */
};
void event_calls_done(struct event_calls *c);

/* A process. */
struct event_stacks_of {
	struct code_frames *frames;
	struct code_map *map;
	struct event_calls *calls;
	pid_t pid;
};

/* Keeps the session. globs: as filter_add_glob() has them; none: all events. 0 or -ENOMEM. */
int event_stacks_new(struct session *session, const char *const *globs, unsigned count,
		     struct event_stacks **ret);
void event_stacks_free(struct event_stacks *s); /* NULL is allowed */
/* What a record has of a stack; links: NULL: none. It refers to both. */
struct unwind_image event_stacks_image(const struct ebt_stack_memory *m,
				       const struct ebt_stack_links *links);
/* For the BPF programs. Of user events by their kind alone: their names come later. */
const struct ebt_stack_choice *event_stacks_choice(const struct event_stacks *s);
/* Keeps the stack of a record until its event comes. 0 or -ENOMEM. */
int event_stacks_receive(struct event_stacks *s, const struct event_stacks_of *of,
			 const struct ebt_stack_record *rec, size_t payload);
/* Gives an event of a slot its stack, if it has one and is selected. Before its time is changed. */
void event_stacks_give(struct event_stacks *s, uint32_t slot, struct ebt_event *ev);

#endif
