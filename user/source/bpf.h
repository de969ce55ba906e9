/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events seen by BPF programs at the markers of running processes, with their thread and CPU. It
 * attaches to each file with markers that a process maps, follows children, exec and new
 * libraries, and detaches without a trace, also when it is killed: other processes hold the probes
 * (link_keeper.h). An OCaml 5 program whose own ring is off is probed at its runtime's functions.
 * Needs CAP_BPF and CAP_PERFMON, or root.
 *
 * Lane 0 has the events of threads without a ring, EBT_PROCESS events and EBT_LOST; each domain of
 * each process has a lane of its own. Nothing wakes the reader for an event: call source_poll() by
 * a timer of about 1 ms, and when the descriptor of bpf_source_fd() is readable.
 */
#ifndef SOURCE_BPF_H
#define SOURCE_BPF_H

#include "core/session.h"
#include "core/source.h"
#include "source/bpf_records.h"

#include <ebtrace/cursor.h>
#include <stdbool.h>
#include <sys/types.h>

enum bpf_attach { BPF_ATTACH_AUTO, BPF_ATTACH_MULTI, BPF_ATTACH_PERF };

struct inspect;

struct bpf_options {
	size_t ring_bytes;	  /* power of two >= a page; 0: 16 MiB */
	size_t queue_bytes;	  /* of events taken and not yet read; 0: 64 MiB */
	uint64_t slack_ns;	  /* an event may reach us so much later than its time; 0: 10 ms */
	struct inspect *inspect;  /* what is known of files: outlives the source */
	enum bpf_attach attach;	  /* kind of link; AUTO: MULTI where the kernel has it */
	bool hold;		  /* children, while probes are put into them: see proc/hold.h */
	bool no_follow;		  /* leave children alone */
	bool watermark_only;	  /* no events: only the signs that rings fill */
	bool no_ring_request;	  /* do not switch rings on */
	bool ring_request_always; /* also of programs that a seccomp filter may kill for it */
	bool no_ring; /* nobody reads rings: OCaml programs are probed also while theirs is on */
	uint64_t ocaml_after_ns;  /* OCaml programs get so long to switch their own ring on */
	enum ebt_release release; /* of OCaml programs; AUTO: as each says itself */
	/* May be NULL. Called during poll(); it must not call the source. */
	void (*changed)(void *ctx, pid_t pid, enum bpf_change change);
	void *ctx;
};

struct bpf_counts {
	uint64_t dropped_in_ring; /* had no room in the BPF ring buffer, but are in a ring */
	uint64_t dropped;	  /* had no room, and are in no ring; reported as EBT_LOST too */
	uint64_t events;	  /* received */
	uint32_t sites;		  /* attached now, in all processes */
	bool multi;		  /* uprobe_multi links, else perf-event links */
};

#define BPF_REASON_BYTES 256

/*
 * Loads the programs. `s` must outlive the source. 0, else -errno and `reason` (BPF_REASON_BYTES)
 * is one line for the user.
 */
int bpf_source_new(struct session *s, const struct bpf_options *opt, struct source **ret,
		   char *reason);
/* Attaches to a process. The number of markers attached (0: none there yet), else -errno. */
int bpf_source_attach(struct source *s, pid_t pid, char *reason);
int bpf_source_fd(struct source *s); /* readable when poll() should be called at once */
/* All that happened up to this time (CLOCK_MONOTONIC, ns) and was not dropped has been taken. */
uint64_t bpf_source_complete_ns(struct source *s);
void bpf_source_counts(struct source *s, struct bpf_counts *ret);

#endif
