/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the source of events from BPF programs (bpf.h) probes, and how: made once of the options of
 * a run, and read by the source, its attachers and its side of the kernel. Zeroes are the usual.
 */
#ifndef SOURCE_BPF_PLAN_H
#define SOURCE_BPF_PLAN_H

#include "session/process_event.h"
#include "session/traits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What is probed, and what comes of it. */
enum probe_yield {
	PROBE_EVENTS,
	PROBE_TALLIES,	  /* in place of begins, ends and counters */
	PROBE_WATERMARKS, /* only markers that wake the reader of rings */
	PROBE_NOTHING,
};

/* Whether programs are asked to switch their rings on. */
enum ring_request {
	RING_REQUEST_AUTO, /* but none under a seccomp filter, which may kill it */
	RING_REQUEST_ALWAYS,
	RING_REQUEST_NEVER
};

/* The times without a CPU for which the stack of the thread is recorded. */
enum offcpu_stacks { OFFCPU_NO_STACKS, OFFCPU_STACKS_IN_PAUSES, OFFCPU_STACKS };

enum bpf_attach { BPF_ATTACH_AUTO, BPF_ATTACH_MULTI, BPF_ATTACH_PERF };

struct inspect;
struct marker_requests;
struct memory_reader;

struct probe_plan {
	size_t ring_bytes;	      /* power of two >= a page; 0: 16 MiB */
	size_t queue_bytes;	      /* of received events that are not read yet; 0: 64 MiB */
	uint64_t slack_ns;	      /* the largest delay of an event after its ts; 0: 10 ms */
	struct inspect *inspect;      /* the cache of files; outlives the source */
	struct memory_reader *memory; /* outlives the source; NULL: reads without a worker */
	enum bpf_attach attach;	      /* kind of link; AUTO: MULTI if the kernel has it */
	bool hold;		      /* stop children while probes are inserted: see proc/hold.h */
	bool realtime;		      /* the thread that stops them has real-time scheduling */
	bool no_follow;		      /* do not follow children */
	bool everyone;		      /* all processes are traced: no other one runs what they do */
	bool allocs;		      /* attach to markers of sampled allocations */
	bool allocs_only;	      /* and to nothing else */
	bool pages;		      /* watch the pages of address spaces, and nothing else */
	bool offcpu;		      /* record when threads do not run */
	uint64_t offcpu_min_ns;	      /* for less time than this: not recorded */
	enum offcpu_stacks offcpu_stacks; /* with the stack of the thread, */
	uint64_t offcpu_stack_min_ns;	  /* of those that are as long as this */
	bool profile;	    /* stacks are all that is recorded, with the thread's domain */
	bool faults;	    /* and measure their page faults in pauses */
	bool needs_markers; /* fail if the kernel refuses the programs of markers */
	bool stacks;	    /* events get their stacks: */
	const char *const *stack_globs; /* those that these select; none: all */
	unsigned stack_glob_count;
	uint64_t stack_pause_ns; /* and of the ends of pauses as long as this; 0: none */
	uint64_t sample_ns;	 /* samples of threads on a CPU, each for so much time; 0: none */
	bool kernel_stacks;	 /* and with the stack of the kernel, where they interrupt it */
	enum probe_yield yield;
	bool budgeted; /* bpf_source_set_level() will be called, and hits are counted */
	bool coarse;   /* tallies with coarse histograms (base/histogram.h) */
	enum ring_request ring_request;
	/* rings are not read: functions are probed even if a program's own ring is on */
	bool no_ring;
	uint64_t own_ring_ns; /* time for a program to switch its ring on, by its environment */
	struct runtime_version runtime; /* of all runtimes; zeroes: as found in each */
	uint64_t unwanted;		/* kinds that may be missing, bits by enum ebt_kind */
	/* Markers of any program that the user asks for; outlive the source. NULL: none. */
	const struct marker_requests *markers;
	/* May be NULL. Called during poll(); it must not call the source. */
	void (*report)(void *ctx, const struct process_event *e);
	void *ctx;
};

#endif
