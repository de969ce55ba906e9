/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Puts right what dropped records leave behind. The records of forks, exec and exits share the ring
 * buffer with the events; when one is dropped the kernel's map of traced processes still knows who
 * lives. So children that no record named are added, processes that are not there any more have
 * ended, and slots of processes of which no record arrived at all are free again. Children for
 * which no slot was left are not followed by the kernel: that is a loss.
 */
#ifndef SOURCE_BPF_RECOVER_H
#define SOURCE_BPF_RECOVER_H

#include "source/bpf/kernel.h"
#include "source/bpf/records.h"

/* All zero at first. */
struct bpf_recover {
	uint64_t control, children; /* dropped and not followed, as of the last call */
	uint64_t since_ns;	    /* of the last call */
	uint64_t search_ns;	    /* when slots are searched next; 0: none is missing */
};

/* Call it at each poll that has received all records. 0 or -ENOMEM. */
int bpf_recover(struct bpf_recover *r, struct bpf_kernel *k, struct bpf_records *in);
/*
 * Ends the processes that had ended when they were added to the kernel's map: no record of their exit
 * will come, and another process could get their pid. Call it after a scan of all processes.
 */
void bpf_recover_late(struct bpf_kernel *k, struct bpf_records *in);

#endif
