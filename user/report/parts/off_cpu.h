/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When a thread did not run lately, and why: its intervals without a CPU, so that a stretch of its
 * time can be split into parts. An interval ends with a wait for a CPU, which is all of it if the
 * thread was preempted, and is blocked before. By the kernel's own account the wait may be longer
 * than the thread was off its CPU: what lies between the decision to preempt it and the switch is
 * waiting, too. Intervals come in the order of their ends and do not overlap; one that was recorded
 * in pieces, as it was open, is one. Zeroed memory has none.
 */
#ifndef REPORT_PARTS_OFF_CPU_H
#define REPORT_PARTS_OFF_CPU_H

#include "report/parts/blame_parts.h"
#include "session/offcpu.h"
#include "session/session.h"

struct off_cpu_interval {
	struct offcpu of; /* wait_ns: of a thread that was preempted all of it */
	uint32_t stack;	  /* at its begin; 0: not recorded */
	uint8_t blocked;  /* what the rest is, an enum blame_part */
	bool tracer_ran;  /* the runner is our own thread, */
	bool tracer_woke; /* or the waker */
};

#define OFF_CPU_KEPT (1u << 14) /* intervals; what is before the oldest one is not known then */

struct off_cpu {
	struct stacks *stacks; /* which hold those of intervals; NULL: they are not kept */
	struct off_cpu_interval *at;
	uint32_t first, count, cap;
	uint64_t known_from; /* what was before is not known */
};

/* That of an EBT_OFFCPU. */
void off_cpu_interval_get(const struct session *s, const struct ebt_event *ev,
			  struct off_cpu_interval *ret);
/* 0 or -ENOMEM. */
int off_cpu_add(struct off_cpu *o, const struct off_cpu_interval *i);
/* Drops the intervals that end before this moment. */
void off_cpu_trim(struct off_cpu *o, uint64_t before_ns);
/* Adds the parts of [from, to) to *ret. What is in no interval was on the CPU. The reference of
 * *ret to a stack moves to that of a longer block. */
void off_cpu_split(const struct off_cpu *o, uint64_t from, uint64_t to, struct blame_split *ret);
/* A stretch of a thread's time, of the interval `of`; NULL: it was on a CPU, or the part is not
 * known. A return value other than 0 ends the walk, which returns it. */
typedef int off_cpu_fn(void *ctx, enum blame_part part, const struct off_cpu_interval *of,
		       uint64_t begin_ns, uint64_t end_ns);
/* Calls fn for the stretches of [from, to), in their order and without a gap. */
int off_cpu_walk(const struct off_cpu *o, uint64_t from, uint64_t to, off_cpu_fn *fn, void *ctx);
/* The last interval; NULL: there is none. */
const struct offcpu *off_cpu_last(const struct off_cpu *o);
void off_cpu_done(struct off_cpu *o);

#endif
