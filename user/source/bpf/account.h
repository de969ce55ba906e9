/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel accounts of threads, as records bring it (bpf/abi.h), as the arguments of events. */
#ifndef SOURCE_BPF_ACCOUNT_H
#define SOURCE_BPF_ACCOUNT_H

#include "bpf/abi.h"
#include "session/session.h"

/* Makes an interval without a CPU the arguments of an EBT_OFFCPU. 0 or -ENOMEM. */
int bpf_account_offcpu(struct session *s, struct ebt_event *ev,
		       const struct ebt_offcpu_record *rec);
/* Makes the struct ebt_usage of a pause, if the payload is one, the arguments of an EBT_END.
 * *lacks: it has been said that the kernel does not count all. 0 or -ENOMEM. */
int bpf_account_pause(struct session *s, struct ebt_event *ev, const void *payload, size_t bytes,
		      bool *lacks);

#endif
