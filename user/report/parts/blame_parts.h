/* SPDX-License-Identifier: BSD-2-Clause */
/* What a stretch of a thread's time went into. */
#ifndef REPORT_PARTS_BLAME_PARTS_H
#define REPORT_PARTS_BLAME_PARTS_H

#include "session/pause_counts.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * X(CONSTANT, key, text): key of JSON and of arguments; text of reports. Parts are disjoint, and
 * add up to the stretch.
 */
#define BLAME_PARTS_LIST(X)                                       \
	X(BLAME_CPU, cpu, "on CPU")                               \
	X(BLAME_FAULT_CPU, page_fault_cpu, "on CPU: page faults") \
	X(BLAME_WAIT, run_queue, "waiting for a CPU")             \
	X(BLAME_DOMAIN, domain, "waiting for another domain")     \
	X(BLAME_FUTEX, futex, "blocked: futex")                   \
	X(BLAME_IO, io, "blocked: input, output")                 \
	X(BLAME_MEMORY, memory, "blocked: memory calls")          \
	X(BLAME_SLEEP, sleep, "blocked: sleep")                   \
	X(BLAME_CALL, other_call, "blocked: other calls")         \
	X(BLAME_FAULT, page_fault, "blocked: page faults")        \
	X(BLAME_STOPPED, stopped, "stopped")                      \
	X(BLAME_UNKNOWN, unknown, "not known")

enum blame_part {
#define X(CONSTANT, key, text) CONSTANT,
	BLAME_PARTS_LIST(X)
#undef X
		BLAME_PARTS /* their number */
};

/* Static; NULL beyond the last. */
const char *blame_part_key(unsigned part);
const char *blame_part_text(unsigned part);
/* The part of a thread that is blocked in a system call of the machine, by its number. */
enum blame_part blame_part_of_call(long number);
/* The part of a thread that is blocked, by its enum ebt_offcpu_reason and its system call. */
enum blame_part blame_part_of_block(uint32_t reason, int32_t syscall);
/* The name of a system call that may block for long; NULL: any other. Static. */
const char *blame_call_name(long number);

#define BLAME_COMM_BYTES 16
#define BLAME_NO_CALL	 (-1) /* as OFFCPU_NO_SYSCALL */

/* One stretch without a CPU. */
struct blame_cause {
	enum blame_part part;
	uint64_t ns;	 /* 0: there is none */
	int32_t syscall; /* BLAME_NO_CALL: none */
	/* With BLAME_WAIT the thread that ran in its place; else the thread that woke it, unless an
	 * interrupt did. tid 0: none, or not known. */
	uint32_t tid;
	uint16_t cpu;		     /* on which it ran in its place; EBT_NO_CPU: not known */
	char comm[BLAME_COMM_BYTES]; /* with a NUL */
	bool is_tracer;		     /* that thread is our own */
};

/* A stretch by parts. */
struct blame_split {
	uint64_t ns[BLAME_PARTS];
	struct blame_cause longest; /* without a CPU */
	uint64_t block_ns;	    /* the longest block; 0: there is none */
	uint32_t block_stack;	    /* of that, with a reference; 0: none is known */
};

/*
 * The kernel's counts of the whole pause are the truth where intervals are not known, or lack some
 * of the wait for a CPU. They hold what a thread did while it waited for another domain, too: as
 * much of the wait for a CPU may have been there, and the rest was not. The time of page faults is
 * split off the time on a CPU, if it was measured.
 */
void blame_split_correct(struct blame_split *s, const struct pause_counts *u);

#endif
