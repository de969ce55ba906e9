/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The attachers: a row of a table for each kind of probe. An attacher recognises a mapped file,
 * plans the sites, and decides when they are attached; the links, slots and counters belong to the
 * BPF source (files.h, traced.h).
 */
#ifndef SOURCE_BPF_ATTACHER_H
#define SOURCE_BPF_ATTACHER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/messages.h"
#include "proc/maps.h"
#include "runtime/inspect.h"
#include "session/marker_values.h"
#include "source/bpf/known_notes.h"
#include "source/bpf/site_callers.h"
#include "source/bpf/uprobe.h"
#include "source/bpf/usdt_specs.h"

enum bpf_probe {
	BPF_PROBE_MARKER,
	BPF_PROBE_RUNTIME,
	BPF_PROBE_ALLOC,
	BPF_PROBE_RUNTIME_ALLOC,
	BPF_PROBE_USDT,
	BPF_PROBES,
	BPF_PROBE_NONE = BPF_PROBES, /* of an attacher that attaches nothing */
};

/* Maps of the BPF programs, and what each holds (bpf/abi.h) by which key. */
enum bpf_table {
	BPF_TABLE_RUNTIMES,	  /* struct ebt_ocaml_runtime, by the runtime's key */
	BPF_TABLE_FOREIGN,	  /* for each CPU a u64, by the key of a shared runtime */
	BPF_TABLE_HANDOVER,	  /* EBT_HANDOVER, by the key modulo EBT_HANDOVERS */
	BPF_TABLE_ALLOC_FILES,	  /* struct ebt_alloc_file, by the file's key */
	BPF_TABLE_RUNTIME_ALLOCS, /* struct ebt_ocaml_allocs, by the runtime's key */
	BPF_TABLE_DOMAINS,	  /* struct ebt_ocaml_domain, by that << 32 | the domain's number */
	BPF_TABLE_USDT_SPECS,	  /* struct ebt_usdt_spec, by its key */
	BPF_TABLE_SAMPLED,	  /* struct ebt_ocaml_runtime, by the slot of the process */
	BPF_TABLE_KERNEL_STACKS,  /* EBT_KERNEL_FRAMES addresses, by the number of the stack */
	BPF_TABLES
};

struct memory_reader;

#define ATTACH_REPORTED 16

/* The options of a run, and the kernel functions that attachers need. */
struct probe_plan;

struct attach_env {
	/* As bpf_kernel_set(). */
	int (*set)(void *ctx, enum bpf_table table, uint64_t key, const void *value);
	/* Of a runtime with probed allocations: reports what no sample represents. */
	void (*report_rest)(void *ctx, uint32_t key);
	void *ctx;
	const struct messages *messages;
	const struct probe_plan *plan; /* the source's */
	uint32_t last_key;	       /* of a runtime, and of a file's sites of allocations */
	bool share; /* use one link for all processes that run a file, where possible */
	/* Called before a file is shared: false if a process that is not traced runs it, and so
	 * would pay for the probes. NULL: that does not matter. */
	bool (*is_ours)(void *ctx, uint64_t dev, uint64_t inode);
	bool shares_unasked; /* it does not matter, but for an attacher that is exclusive */
	/* Events that a process's own ring has, too, are left out of links of its own: see
	 * attacher.set_lean. */
	bool lean;
	bool stacks;		   /* events get their stacks */
	uint32_t alloc_sites;	   /* of them that were planned so far */
	uint32_t unprepared_sites; /* of these, in programs without such markers */
	unsigned absent;	   /* programs that are not loaded, a bit for each enum bpf_probe */
	unsigned missed;	   /* of these, the ones that some process would have needed */
	/* The files that were reported last as not probed, by hash_file(). */
	uint64_t reported[ATTACH_REPORTED];
	unsigned reports;
	struct known_notes notes;    /* of files that were attached to */
	struct usdt_specs specs;     /* of the user's markers */
	struct site_callers callers; /* of their sites */
	/* The requests for them by whole names: those that were asked for so, and what patterns
	 * match, which is added. NULL: there are none. */
	struct marker_requests *usdt_names;
	bool usdt_found[2 * MARKER_REQUESTS]; /* of those of the plan, by request and end */
};

struct attach_process {
	uint32_t slot;
	pid_t pid;
	uint64_t since_ns; /* its program is known since then */
	uint32_t before;   /* files of the process that the same attacher matched before */
	/* also if they were of a program that it ran then, or were left and found anew */
	bool again;
	bool begins; /* it is stopped, as it has just called exec */
};

struct attach_file {
	int fd; /* open until the first plan(); for an attacher that `changes`, until end() */
	const struct maps_entry *map;
	const struct runtime_file *what;
	bool is_program; /* which the process runs: only those that run it have it mapped */
};

struct attach_plan {
	struct uprobe_site *site; /* to be freed */
	uint32_t sites;
	uint32_t key; /* for unplan() */
};

enum attach_when {
	ATTACH_NOW,
	ATTACH_LATER,
	ATTACH_NOT, /* the process records these events itself */
};

struct attacher {
	const char *name;
	enum bpf_probe program;
	bool in_rings;	/* events missed here are in the process's ring, if it has one */
	bool samples;	/* the process samples for its listeners: before them nothing is missed */
	bool exclusive; /* a process that is not traced pays for nothing */
	/* Where all processes are traced, one that passes a shared link is traced from then on: the
	 * BPF program sees to that. */
	bool adopts;
	bool changes; /* the result of update() may change: the file is kept open for plan() */
	bool (*match)(const struct runtime_file *what);
	/* Makes the state for the functions below. 0 or -errno. */
	int (*begin)(struct attach_env *env, const struct attach_process *process,
		     const struct attach_file *file, void **ret_state);
	enum attach_when (*update)(void *state, uint64_t now_ns);
	/* True if one link may serve all processes that run the file. NULL: never. */
	bool (*is_shareable)(const void *state);
	/* 0, also with no sites, or -errno. */
	int (*plan)(void *state, bool shared, struct attach_plan *ret);
	/* Whether plan() leaves out what a ring of the process has, too. NULL: nothing is. */
	void (*set_lean)(void *state, bool lean);
	void (*unplan)(struct attach_env *env, uint32_t key); /* before a link goes; may be NULL */
	/* The process has called exec: false if the file needs another plan. */
	bool (*survives_exec)(void *state);
	void (*end)(void *state);
};

/* Whether it was said of the file that it is not probed: one line is enough for all its processes.
 * From then on it was. */
bool attacher_has_reported(struct attach_env *env, const struct maps_entry *map);
/* The same of one kind of report. */
bool attacher_has_reported_of(struct attach_env *env, const struct maps_entry *map,
			      const char *what);
/* From now on hits of a shared link in processes that are not traced are counted. key: that of the
 * link's plan. 0 or -errno. */
int attacher_count_foreign(struct attach_env *env, uint32_t key);

#endif
