/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/offcpu.h"

#include <string.h>

/* By their place in events.def. */
enum { WAIT, RUN_DELAY, SYSCALL, WAKER, RUNNER, OPEN, INTERRUPT, RUNNER_CPU, ENDS, WORDS };
enum { WAKER_COMM, RUNNER_COMM };

int offcpu_put(struct session *s, struct ebt_event *ev, const struct offcpu *o)
{
	bool has_cpu = (o->runner || *o->runner_comm) && o->runner_cpu != EBT_NO_CPU;
	struct event_args_payload p = {.word = {
					       [WAIT] = o->wait_ns,
					       [RUN_DELAY] = o->run_delay_ns,
					       [SYSCALL] = (uint64_t)(o->syscall + 1ll),
					       [WAKER] = o->waker,
					       [RUNNER] = o->runner,
					       [OPEN] = o->open,
					       [INTERRUPT] = o->interrupt,
					       [RUNNER_CPU] = has_cpu ? o->runner_cpu + 1ull : 0,
					       [ENDS] = o->ends,
				       }};
	memcpy(p.text[WAKER_COMM], o->waker_comm, EVENT_ARGS_TEXT_BYTES);
	memcpy(p.text[RUNNER_COMM], o->runner_comm, EVENT_ARGS_TEXT_BYTES);
	ev->pos = o->end_ns - o->begin_ns;
	ev->id = o->reason;
	return session_put_blob(s, ev, &p, EVENT_ARGS_BYTES(WORDS));
}

void offcpu_get(const struct session *s, const struct ebt_event *ev, struct offcpu *ret)
{
	struct event_args_payload p;
	event_args_payload(s, ev, &p);
	uint64_t cpu = p.word[RUNNER_CPU];
	uint64_t end_ns = EBT_OWN_TS(ev), duration_ns = ev->pos < end_ns ? ev->pos : end_ns;
	*ret = (struct offcpu){
		.begin_ns = end_ns - duration_ns,
		.end_ns = end_ns,
		.wait_ns = p.word[WAIT] < duration_ns ? p.word[WAIT] : duration_ns,
		.run_delay_ns = p.word[RUN_DELAY],
		.reason = (enum ebt_offcpu_reason)ev->id,
		.syscall = (int32_t)(uint32_t)(p.word[SYSCALL] - 1),
		.waker = (uint32_t)p.word[WAKER],
		.runner = (uint32_t)p.word[RUNNER],
		.runner_cpu = cpu && cpu <= EBT_NO_CPU ? (uint16_t)(cpu - 1) : EBT_NO_CPU,
		.open = p.word[OPEN],
		.ends = p.word[ENDS] < KINDS_SAMPLE_ENDS ? (enum ebt_sample_end)p.word[ENDS]
							 : EBT_SAMPLE_UNREAD,
		.interrupt = p.word[INTERRUPT],
	};
	memcpy(ret->waker_comm, p.text[WAKER_COMM], EVENT_ARGS_TEXT_BYTES);
	memcpy(ret->runner_comm, p.text[RUNNER_COMM], EVENT_ARGS_TEXT_BYTES);
	ret->waker_comm[EVENT_ARGS_TEXT_BYTES - 1] = ret->runner_comm[EVENT_ARGS_TEXT_BYTES - 1] =
		0;
}
