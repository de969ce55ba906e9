/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes events of the records of sampled allocations and of a heap's pages of one process
 * (bpf/abi.h).
 *
 * Our own markers number objects, and report samples. Their rate follows from the first sample that
 * OpenTelemetry's marker reports, too, with its weight in bytes. If a program has only
 * OpenTelemetry's markers, objects are addresses: each allocation gets its own number, as addresses
 * are reused. Each sample has a weight of its own, in bytes, and becomes one sample for each word
 * of its weight; the trace's parameters report this. A rest of less than a word is carried to the
 * next sample.
 *
 * exec() releases all objects of a program, and no record reports them. The objects of the next
 * program are numbered behind them.
 */
#ifndef SOURCE_BPF_ALLOC_PROCESS_H
#define SOURCE_BPF_ALLOC_PROCESS_H

#include "bpf/abi.h"
#include "source/stacks/c_stack.h"

/* Initialised by zeroes. */
struct alloc_process {
	struct code_map code;
	struct c_stack_calls calls;
	struct map objects; /* numbers of live ones, by the program's number or by address */
	uint64_t last_object;
	uint64_t first_object; /* that of our markers' object 0 */
	uint64_t rest_bytes;   /* carried to the next sample */
	/* The last record of an ALLOC and of an OTEL_WEIGHT, until the rate is known. */
	uint32_t alloc_tid, weight_tid; /* 0: none */
	uint64_t samples, weight;
};

/* How many events a record makes at most. */
#define ALLOC_EVENTS_MAX 2

struct alloc_context {
	struct session *session;
	struct code_frames *frames;
	uint32_t process; /* its index in the registry */
	pid_t pid;
};

void alloc_process_done(struct alloc_process *a);
/*
 * Fills in the events of a record, which are zeroed but for what all events have; their stacks are
 * the session's, to be dropped with them. payload: its bytes. Returns their number, also 0, or
 * -ENOMEM.
 */
int alloc_process_receive(struct alloc_process *a, const struct alloc_context *of,
			  const struct ebt_alloc_record *rec, size_t payload,
			  struct ebt_event ev[ALLOC_EVENTS_MAX]);
/*
 * The process runs another program. The objects of the old one, ascending, in memory that the
 * caller frees. Their number or -ENOMEM.
 */
ssize_t alloc_process_exec(struct alloc_process *a, uint64_t **ret);

#endif
