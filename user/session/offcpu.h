/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An EBT_OFFCPU event, unpacked: an interval in which a thread did not run. Numbers are 64 bits
 * wide where time is counted: none of them saturates.
 */
#ifndef SESSION_OFFCPU_H
#define SESSION_OFFCPU_H

#include "session/event_args.h"

#define OFFCPU_NO_SYSCALL (-1)

struct offcpu {
	uint64_t begin_ns, end_ns;
	uint64_t wait_ns; /* at its end the thread could run, at most as long as the interval */
	uint64_t run_delay_ns;
	enum ebt_offcpu_reason reason; /* or what a later version writes */
	int32_t syscall;
	uint32_t waker, runner; /* 0: none, or not known */
	uint16_t runner_cpu;	/* EBT_NO_CPU: no runner, or not known */
	char waker_comm[EVENT_ARGS_TEXT_BYTES], runner_comm[EVENT_ARGS_TEXT_BYTES];
	bool interrupt;		  /* it was woken in one, while waker ran */
	bool open;		  /* it has not ended */
	enum ebt_sample_end ends; /* of the event's stack, if it has one */
};

/* Writes it as the arguments of an EBT_OFFCPU. The caller has set ev->ts to end_ns. 0 or
 * -ENOMEM. */
int offcpu_put(struct session *s, struct ebt_event *ev, const struct offcpu *o);
/* Reads the arguments of an EBT_OFFCPU. A late event gives its own times, before its ts was
 * raised. */
void offcpu_get(const struct session *s, const struct ebt_event *ev, struct offcpu *ret);

#endif
