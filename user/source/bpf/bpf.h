/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The source of events from BPF programs at the markers of running processes, with thread and CPU.
 * It attaches to each file with markers that a process maps, as its caller reads it, follows
 * children and exec, and removes all probes at its end, also when it is killed: other processes
 * hold the links (link_keeper.h). A program whose runtime can be probed at its functions is probed
 * there while its own ring is off. Needs CAP_BPF and CAP_PERFMON, or root.
 *
 * Lane 0 has the events of threads without a ring, EBT_PROCESS events and EBT_LOST; each domain of
 * each process has a lane of its own. An event does not wake the reader: call source_poll() by a
 * timer of about 1 ms, and when the descriptor of bpf_source_fd() is readable.
 */
#ifndef SOURCE_BPF_BPF_H
#define SOURCE_BPF_BPF_H

#include "runtime/marker_requests.h"
#include "session/session.h"
#include "source/bpf/kernel.h"
#include "source/bpf/plan.h"
#include "source/bpf/reason.h"
#include "source/bpf/traced.h"
#include "stream/source.h"

#include <ebtrace/cursor.h>
#include <stdbool.h>
#include <sys/types.h>

struct maps_list;

struct bpf_counts {
	uint64_t dropped_in_ring;  /* lost from the BPF ring buffer, but present in a ring */
	uint64_t dropped;	   /* lost, and in no ring; also emitted as EBT_LOST */
	uint64_t dropped_stacks;   /* of events, which may be there without */
	uint64_t samples;	   /* taken, also those that were dropped */
	uint64_t other_samples;	   /* of threads that are not traced, and of idle CPUs */
	uint64_t events;	   /* received */
	uint32_t sites;		   /* attached now, in all processes */
	uint32_t alloc_sites;	   /* of sampled allocations, attached so far */
	uint32_t unprepared_sites; /* of these, where nothing is known of when objects end */
	bool multi;		   /* uprobe_multi links, else perf-event links */
	struct page_counts pages;
};

/*
 * Loads the programs. `s` must outlive the source. 0, else -errno and `reason` (BPF_REASON_BYTES)
 * is one line for the user.
 */
int bpf_source_new(struct session *s, const struct probe_plan *opt, struct source **ret,
		   char *reason);
/* A process that has not begun yet: stacks of it will have the names of code that it had mapped. */
void bpf_source_record_code(struct source *s, pid_t pid);
/* Traces a process from now on, before its mappings are read. born_ns: it was born in the run, or
 * has called exec, unwatched; 0: before. 0 or -errno. */
int bpf_source_trace(struct source *s, pid_t pid, uint64_t born_ns, char *reason);
/* Attaches to what a process that is traced had mapped at read_ns (MAPS_TRACED). The number of
 * markers attached (0: none there yet), of threads of which pages are watched, or -errno: it is not
 * traced any more. */
int bpf_source_attach(struct source *s, pid_t pid, const struct maps_list *maps, uint64_t read_ns,
		      char *reason);
/* Attaches to what is new there, and lets go of the process if it was held for that. The number of
 * new markers (0 also if it is not traced), or -errno. */
int bpf_source_scan(struct source *s, pid_t pid, const struct maps_list *maps, uint64_t read_ns);
/* At read_ns the process had mapped what it had at its last scan. */
void bpf_source_unchanged(struct source *s, pid_t pid, uint64_t read_ns);
/* The run was asked to end: symbols that take long are given up. */
void bpf_source_hurry(struct source *s);
/* Why a feature that the options ask for is missing; NULL: it is there, or not asked for. */
const struct bpf_refusal *bpf_source_refusal(struct source *s, enum bpf_feature f);
/* A kind of probes that an attached process would need and that is missing, each once: why, and
 * which. NULL: none any more. */
const struct bpf_refusal *bpf_source_missed(struct source *s, enum bpf_feature *ret);
/* As attach_usdt_unfound(), of all probed processes. */
const struct marker_request *bpf_source_unfound(struct source *s, unsigned *at,
						enum marker_end *ret_end);
/* Emits the intervals in which threads do not run and that are open; the rest of each follows as an
 * interval of its own. 0 or -errno. */
int bpf_source_flush_offcpu(struct source *s);
/* What is before that time is not counted in maps, and not sampled. 0 until then. */
void bpf_source_begin_run(struct source *s, uint64_t ns);
/* Makes tallies (session/tally.h) of what has been counted up to now. By itself it does that each
 * second. 0 or -errno. */
int bpf_source_count(struct source *s);
/* What is recorded from now on, where the plan is `budgeted`. */
void bpf_source_set_level(struct source *s, enum ebt_level level);
/* Hits of the probes so far. */
struct ebt_hits bpf_source_hits(struct source *s);
int bpf_source_fd(struct source *s); /* readable when source_poll() should be called at once */
/* Every event up to this time (CLOCK_MONOTONIC, ns) that was not dropped has been received. */
uint64_t bpf_source_complete_ns(struct source *s);
void bpf_source_counts(struct source *s, struct bpf_counts *ret);

#endif
