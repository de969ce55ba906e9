/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of the BPF source, shared by the files that it is made of: bpf.c loads, attaches and
 * polls; bpf_records.c takes what comes out of the ring buffer and puts it into the lanes.
 */
#ifndef SOURCE_BPF_SOURCE_H
#define SOURCE_BPF_SOURCE_H

#include "source/bpf.h"
#include "source/bpf_lanes.h"
#include "source/bpf_targets.h"
#include "source/link_keeper.h"

struct bpf_source {
	struct source base;
	struct session *session;
	struct bpf_options opt;
	struct ebtrace_bpf *skel; /* bpf.c alone looks inside */
	struct ring_buffer *rb;
	struct bpf_targets targets;
	struct bpf_lanes lanes;
	struct bpf_counts counts;
	struct link_keeper *keeper;
	uint64_t started_ns;  /* the look under way began then */
	uint32_t known_slot;  /* 1 + that of the last event; 0: none */
	uint64_t taken_ns;    /* time of the last record taken: they come in order of reserve */
	uint64_t complete_ns; /* all that was in the ring buffer at this time has been taken */
	uint64_t rescan_ns;
	uint64_t lost_told, lost_since_ns, control_seen;
	uint64_t until_ns; /* then taking off the probes began; 0: not yet */
	bool stopped;
};

/* A ring_buffer callback: ctx is the source. -ENOBUFS: the queues are full; the rest stays in the
 * kernel, which counts what it drops. */
int bpf_records_take(void *ctx, void *data, size_t size);
/* A process that the kernel follows already, born at `ts` as a child of the one in slot `parent`
 * (UINT32_MAX: not known): it gets a slot, and its links at the next bpf_targets_scan_pending(). ts
 * 0: only when it has called exec. */
void bpf_records_add_child(struct bpf_source *s, pid_t pid, uint32_t parent, uint64_t ts);
/*
 * Events that were dropped and are in no ring leave no other trace than their count: what it has
 * grown by since the last call is told as a loss, whose it is only where one process is traced. 0
 * or -ENOMEM.
 */
int bpf_records_lost(struct bpf_source *s, uint64_t dropped, uint64_t now);
/* Memory under what has been taken and not yet read. */
size_t bpf_records_bytes(const struct bpf_source *s);

#endif
