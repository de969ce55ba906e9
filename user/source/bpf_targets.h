/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The traced processes, numbered by slot, and the files of each that have been attached to. Files
 * are opened through /proc/PID, never by the path that the process sees, so other mount
 * namespaces and deleted files work, and only regular files are opened. How a link is made is the
 * owner's business: a callback.
 */
#ifndef SOURCE_BPF_TARGETS_H
#define SOURCE_BPF_TARGETS_H

#include "base/map.h"
#include "source/uprobe.h"

#include <ebtrace/cursor.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum bpf_probe { BPF_PROBE_MARKER, BPF_PROBE_OCAML };

struct bpf_runtime {
	uint32_t slot;
	enum ebt_release release;
	bool used; /* else its place may be taken by another */
};

struct ebt_ocaml_runtime;
struct inspect;
struct bpf_shared;

#define BPF_UNSEEN 256

struct bpf_targets {
	/* Links the sites of a file in `pid` (<= 0: in all processes): a descriptor, or -errno. When
	 * it is closed the probes go, which takes tens of milliseconds and is not waited for. */
	int (*attach)(void *ctx, enum bpf_probe program, int file, pid_t pid,
		      const struct uprobe_site *site, uint32_t sites);
	/* Tells the BPF program what it must know of an OCaml runtime. 0 or -errno. */
	int (*set_runtime)(void *ctx, uint32_t index, const struct ebt_ocaml_runtime *r);
	/* Hits of a shared runtime by processes that are not traced. */
	uint64_t (*foreign)(void *ctx, uint32_t index);
	/* What could have been seen of the process from `since` to `until` was not. May be NULL. */
	void (*unwatched)(void *ctx, uint32_t slot, uint64_t since_ns, uint64_t until_ns);
	void *ctx;
	struct inspect *inspect;
	bool share; /* links of OCaml programs, by all processes */
	bool hold;  /* new processes, while probes are put into them */
	bool watermark_only, no_ring_request;
	bool ring_request_always; /* also of processes under a seccomp filter */
	bool no_ring;		  /* what an OCaml program's ring holds does not matter */
	uint64_t ocaml_after_ns;  /* a process gets so long to switch its own ring on */
	enum ebt_release release; /* of all OCaml runtimes; AUTO: as each says itself */

	struct bpf_target *target; /* by slot; a slot is never used again */
	uint32_t targets;
	/* The last that ended before anybody knew whether their file has something to watch. */
	struct bpf_unseen {
		uint32_t slot;
		uint64_t end_ns;
	} unseen[BPF_UNSEEN];
	uint32_t unseens;
	uint32_t known_files;	     /* when they were last asked about */
	uint32_t first_new;	     /* nothing is pending, held or young before this one */
	uint32_t sites;		     /* attached now */
	struct bpf_runtime *runtime; /* of OCaml; their places are used in turn */
	uint32_t runtimes, next_runtime, last_serial;
	struct bpf_shared *shared; /* of bpf_ocaml.c */
	uint32_t shareds;
	struct map by_pid; /* slots of the processes that are traced still */
};

/* Makes a target of a process that is none yet. Its slot, or -ENOMEM. */
int bpf_targets_add(struct bpf_targets *t, pid_t pid);
/* The slot of a process that is still traced, or -ESRCH. */
int bpf_targets_find(const struct bpf_targets *t, pid_t pid);
/* True when it is asked for the first time since the process began or called exec. */
bool bpf_targets_name(struct bpf_targets *t, uint32_t slot);
uint64_t bpf_targets_since(const struct bpf_targets *t, uint32_t slot); /* when it was added, ns */
pid_t bpf_targets_pid(const struct bpf_targets *t, uint32_t slot);	/* 0: no such slot */
/* Looks for files with markers or an OCaml runtime that are new in the process, and attaches to
 * them. The number of new sites, or -errno. */
int bpf_targets_scan(struct bpf_targets *t, uint32_t slot);
/* A new process, born at `ts` as a child of the one at `parent`: it is to be looked at. */
void bpf_targets_fork(struct bpf_targets *t, uint32_t slot, uint32_t parent, uint64_t ts);
/* The process runs another program since `ts`, or the same one anew: it is to be looked at. */
void bpf_targets_exec(struct bpf_targets *t, uint32_t slot, uint64_t ts, uint64_t dev,
		      uint64_t inode);
/* Looks at those that are to be looked at, and again at those that still load their libraries. */
void bpf_targets_scan_pending(struct bpf_targets *t);
void bpf_targets_scan_all(struct bpf_targets *t);
void bpf_targets_end(struct bpf_targets *t, uint32_t slot); /* detaches: the process is no more */
void bpf_targets_detach(struct bpf_targets *t);		    /* all of them */
void bpf_targets_done(struct bpf_targets *t);

#endif
