/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The BPF programs in the kernel: loads them, links them to sites, and reads and writes their maps.
 * All that ebtrace asks of libbpf is here.
 */
#ifndef SOURCE_BPF_KERNEL_H
#define SOURCE_BPF_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/messages.h"
#include "bpf/abi.h"
#include "source/bpf/attacher.h"
#include "source/bpf/reason.h"

struct bpf_kernel;
struct link_spec;

/* What the programs do. Each feature has programs of its own, and a kernel that refuses them, or a
 * user without the right to load them, lacks that feature alone. */
enum bpf_feature {
	BPF_CHILDREN,	    /* report forks, exec and exits of traced processes */
	BPF_MARKERS,	    /* events of USDT markers */
	BPF_RUNTIME_EVENTS, /* events of functions of runtimes */
	BPF_ALLOCS,	    /* markers of sampled allocations */
	BPF_RUNTIME_ALLOCS, /* allocations of programs without such markers, by their runtime */
	BPF_USDT,	    /* markers of any program that the user asks for */
	BPF_STACKS,	    /* events get their stacks */
	BPF_PAGES,	    /* changes of pages, by faults and system calls */
	BPF_PAGE_SIZES, /* faults of huge pages count as such, and the zero page does not count */
	BPF_BLAME,	/* intervals in which threads do not run */
	BPF_FAULTS,	/* the time of page faults; needs BPF_BLAME */
	BPF_SAMPLES,	/* of threads on a CPU, by a timer */
	BPF_MAPPINGS,	/* report code that any process maps; else it is found later */
	BPF_FEATURES
};

/* Sets of features. */
#define BPF_FEATURE(f) (1u << (f))
#define BPF_PROBE_FEATURES                                                                      \
	(BPF_FEATURE(BPF_MARKERS) | BPF_FEATURE(BPF_RUNTIME_EVENTS) | BPF_FEATURE(BPF_ALLOCS) | \
	 BPF_FEATURE(BPF_RUNTIME_ALLOCS) | BPF_FEATURE(BPF_USDT))
/* The feature of the program of a kind of probe. */
enum bpf_feature bpf_feature_of(enum bpf_probe probe);

struct probe_plan;

struct bpf_kernel_options {
	const struct probe_plan *plan;	       /* kept */
	bool multi;			       /* uprobe_multi links, else perf-event links */
	unsigned features;		       /* that are wanted */
	uint32_t rooms;			       /* for stacks of threads that do not run */
	const struct ebt_stack_choice *stacks; /* with BPF_STACKS: which events get one. Kept */
	const struct messages *messages;       /* kept */
	/* Receives a record; < 0: no more of them now. */
	int (*receive)(void *ctx, const void *record, size_t bytes);
	void *ctx;
};

/* Whether we may load programs of this kind at all. */
bool bpf_kernel_allows(void);
/*
 * Loads and attaches what is wanted, as far as the kernel allows. Forks the keeper of the links
 * (link_keeper.h), so call it early. 0, also if every feature is refused, or -errno.
 */
int bpf_kernel_new(const struct bpf_kernel_options *opt, struct bpf_kernel **ret);
void bpf_kernel_free(struct bpf_kernel *k); /* NULL is allowed */

/* The features that are there; those that are wanted but refused have a refusal. */
unsigned bpf_kernel_features(const struct bpf_kernel *k);
/* NULL: it is there, or not wanted. */
const struct bpf_refusal *bpf_kernel_refusal(const struct bpf_kernel *k, enum bpf_feature f);

/* The capabilities that a feature needs, a bit each. */
uint64_t bpf_feature_needs(enum bpf_feature f);

/* The map of notices of execs (struct ebt_exec_notice), a page; 0: execs are not
 * reported. */
int bpf_kernel_exec_notices(const struct bpf_kernel *k);

/* Descriptors of the maps in which events are counted. */
struct bpf_count_maps {
	int lanes, pages, processes;
};
struct bpf_count_maps bpf_kernel_count_maps(const struct bpf_kernel *k);
/* What is before that time is neither counted nor sampled; 0 until then. */
void bpf_kernel_begin_run(struct bpf_kernel *k, uint64_t ns);
/* Probes were missing: lanes are cut at their next event. */
void bpf_kernel_count_gap(struct bpf_kernel *k);

/* The programs of perf events of BPF_FAULTS, BPF_PAGES or BPF_SAMPLES, which has an end alone:
 * their descriptors; < 0: none. */
void bpf_kernel_event_programs(const struct bpf_kernel *k, enum bpf_feature f, int *ret_begin,
			       int *ret_end);

/* What the program of samples has counted. */
struct ebt_sample_counts bpf_kernel_sample_counts(const struct bpf_kernel *k);

/* Walks over all threads, with BPF_BLAME. Begin: with those of traced processes that are not known
 * yet; flush: makes a record of each interval that is open. 0 or -errno. */
int bpf_kernel_begin_offcpu(struct bpf_kernel *k);
int bpf_kernel_flush_offcpu(struct bpf_kernel *k);
/* Records no more intervals. */
void bpf_kernel_stop_offcpu(struct bpf_kernel *k);

int bpf_kernel_fd(const struct bpf_kernel *k); /* readable when a record that wakes us is there */
/* As bpf_channel_read(). */
int bpf_kernel_read(struct bpf_kernel *k, bool wait);
struct ebt_dropped bpf_kernel_dropped(const struct bpf_kernel *k);
/* What is recorded from now on. */
void bpf_kernel_set_level(struct bpf_kernel *k, enum ebt_level level);
/* Hits of the probes by CPU, EBT_HITS_CPUS of them, which go on changing. */
const struct ebt_hits *bpf_kernel_hits(const struct bpf_kernel *k);

/* Makes a link, by the program of spec->probe (enum bpf_probe): a descriptor, or -errno. */
int bpf_kernel_attach(struct bpf_kernel *k, const struct link_spec *spec);
/* Waits until no link is left, whether or not its descriptor was closed. */
void bpf_kernel_stop_links(struct bpf_kernel *k);
void bpf_kernel_detach(struct bpf_kernel *k); /* processes are not traced any more */

/* Stores a value in a map, for all CPUs if the map has one for each; NULL: removes it. 0 or
 * -errno. */
int bpf_kernel_set(struct bpf_kernel *k, enum bpf_table table, uint64_t key, const void *value);
/* Copies a value, of a map that has one for all CPUs. 0; -ENOENT: there is none; -errno. */
int bpf_kernel_get(const struct bpf_kernel *k, enum bpf_table table, uint64_t key, void *ret);
/* Hits of a shared runtime by processes that are not traced. */
uint64_t bpf_kernel_foreign(struct bpf_kernel *k, uint32_t key);

/* The traced processes. Add: 0, -EEXIST (a fork has added it), -errno. */
int bpf_kernel_add(struct bpf_kernel *k, pid_t pid, uint32_t slot);
void bpf_kernel_remove(struct bpf_kernel *k, pid_t pid);
bool bpf_kernel_find(const struct bpf_kernel *k, pid_t pid, uint32_t *ret_slot);
/* The pid after *pid, in no order; 0: the first. False at the end. */
bool bpf_kernel_next(const struct bpf_kernel *k, uint32_t *pid);
/* Removes a slot from the queue of those for children. False: it is empty. */
bool bpf_kernel_pop_slot(struct bpf_kernel *k, uint32_t *ret_slot);
bool bpf_kernel_sees_exits(const struct bpf_kernel *k); /* it removes those that end */
/* Adds a slot to that queue. 0 or -errno. */
int bpf_kernel_push_slot(struct bpf_kernel *k, uint32_t slot);

#endif
