/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where records were dropped, brings the table of traced processes and the kernel's map of them
 * together again; it is apart from either, and from the source, as it alone reads both. The records
 * of forks, exec and exits share the ring buffer with the events; when one is dropped the kernel's
 * map still has the processes that live. So children that no record named are added, processes that
 * are not there any more have ended, and slots that no record will name are free again. Children
 * for which no slot was left are not traced: that is a loss.
 */
#ifndef SOURCE_BPF_RECOVER_H
#define SOURCE_BPF_RECOVER_H

#include "source/bpf/kernel.h"
#include "source/bpf/losses.h"
#include "source/bpf/traced.h"

/* Fields are private. */
struct bpf_recover {
	uint64_t control, children; /* dropped, and without a slot, as of the last call */
	uint64_t since_ns;	    /* of the last call */
	uint64_t search_ns;	    /* when slots are searched next; 0: none is missing */
};

/* Nothing was dropped before begin_ns. */
void bpf_recover_init(struct bpf_recover *r, uint64_t begin_ns);
/* Call it at each poll that has received all records. 0 or -ENOMEM. */
int bpf_recover(struct bpf_recover *r, struct bpf_kernel *k, struct bpf_traced *t,
		struct bpf_losses *losses, uint64_t now_ns);
/*
 * Ends the processes that had ended when they were added to the kernel's map: no record of their
 * exit will come, and another process could get their pid. Call it after a scan of all processes.
 */
void bpf_recover_late(struct bpf_kernel *k, struct bpf_traced *t, uint64_t now_ns);

#endif
