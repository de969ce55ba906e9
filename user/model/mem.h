/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The model of mem: of a stream of sampled allocations, by process and backtrace, how many objects
 * and samples were allocated. It counts in whole numbers; what they mean in bytes is estimated when
 * a report is made (mem_amount.h). It keeps nothing of a single event: memory grows with the number
 * of different backtraces, not with the length of the run.
 *
 * Object ids are those of a process. Losses and damage are counted by the session.
 */
#ifndef MODEL_MEM_H
#define MODEL_MEM_H

#include "base/ptrarray.h"
#include "core/session.h"
#include "model/mem_process.h"

/* Readers use all but by_index and last. */
struct mem_model {
	const struct session *session;
	struct mem_process *first; /* those with allocations, in the order of their first events */
	struct mem_process *last;
	PTRARRAY(struct mem_process) by_index;
	struct mem_count alloc;	  /* of all processes; its samples may be of different rates */
	struct moment begin, end; /* of the stream: its first and last event */
};

/* `s` is kept. */
void mem_model_init(struct mem_model *m, const struct session *s);
void mem_model_done(struct mem_model *m);
/* In order of time. 0 or -ENOMEM. */
int mem_model_events(struct mem_model *m, const struct ebt_event *ev, size_t n);
/* As forget() of struct sink_ops. */
void mem_model_forget(struct mem_model *m, uint32_t process);
/* No more events: numbers are whole then. */
void mem_model_end(struct mem_model *m);
/* The time from the begin of the recording to the last event. */
uint64_t mem_model_elapsed_ns(const struct mem_model *m);

#endif
