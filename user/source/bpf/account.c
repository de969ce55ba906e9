// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/account.h"

#include "base/log.h"
#include "session/offcpu.h"
#include "session/pause_usage.h"

#include <string.h>

int bpf_account_offcpu(struct session *s, struct ebt_event *ev, const struct ebt_offcpu_record *rec)
{
	struct offcpu o = {
		.begin_ns = rec->from < rec->ts ? rec->from : rec->ts,
		.end_ns = rec->ts,
		.run_delay_ns = rec->run_delay,
		.reason = (enum ebt_offcpu_reason)rec->head.site,
		.syscall = rec->syscall,
		.waker = rec->waker,
		.runner = rec->runner,
		.runner_cpu = rec->runner_cpu,
		.interrupt = rec->interrupt,
		.open = rec->open,
	};
	if (rec->woken && rec->woken < rec->ts)
		o.wait_ns = rec->ts - (rec->woken > o.begin_ns ? rec->woken : o.begin_ns);
	memcpy(o.waker_comm, rec->waker_comm, sizeof(o.waker_comm));
	memcpy(o.runner_comm, rec->runner_comm, sizeof(o.runner_comm));
	return offcpu_put(s, ev, &o);
}

_Static_assert(EBT_USAGE_UNKNOWN == PAUSE_UNKNOWN, "both say so in the same way");

int bpf_account_pause(struct session *s, struct ebt_event *ev, const void *payload, size_t bytes,
		      bool *lacks)
{
	struct ebt_usage u;
	if (ev->kind != EBT_END || bytes < sizeof(u))
		return 0;
	memcpy(&u, payload, sizeof(u));
	if (u.run_delay == EBT_USAGE_UNKNOWN && !*lacks) {
		messages_at(&s->messages, LOG_NORMAL,
			    "this kernel does not count how long a thread waits for a CPU "
			    "(CONFIG_SCHED_INFO): pauses are shown without");
		*lacks = true;
	}
	return pause_usage_put(s, ev,
			       &(struct pause_usage){{
				       [PAUSE_RUN_DELAY] = u.run_delay,
				       [PAUSE_VOLUNTARY] = u.voluntary,
				       [PAUSE_INVOLUNTARY] = u.involuntary,
				       [PAUSE_MINOR_FAULTS] = u.minor_faults,
				       [PAUSE_MAJOR_FAULTS] = u.major_faults,
				       [PAUSE_MIGRATIONS] = u.migrations,
				       [PAUSE_FAULT_NS] = u.fault_ns,
			       }});
}
