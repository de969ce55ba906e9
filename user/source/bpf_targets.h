/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The traced processes, numbered by slot, and the files of each that have been attached to. Files
 * are opened through /proc/PID, never by the path that the process sees, so other mount
 * namespaces and deleted files work, and only regular files are opened. How a link is made is the
 * owner's business: two callbacks.
 */
#ifndef SOURCE_BPF_TARGETS_H
#define SOURCE_BPF_TARGETS_H

#include "source/uprobe.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct bpf_targets {
	/* Links the sites of the file at `path` in `pid`: 0 and *ret_link, or -errno. */
	int (*attach)(void *ctx, const char *path, pid_t pid, const struct uprobe_site *site,
		      uint32_t sites, void **ret_link);
	void (*detach)(void *ctx, void *link);
	void *ctx;
	bool watermark_only, no_ring_request;

	struct bpf_target *target; /* by slot; a slot is never used again */
	uint32_t targets;
	uint32_t sites; /* attached now */
};

/* Makes a target of a process that is none yet. Its slot, or -ENOMEM. */
int bpf_targets_add(struct bpf_targets *t, pid_t pid);
/* The slot of a process that is still traced, or -ESRCH. */
int bpf_targets_find(const struct bpf_targets *t, pid_t pid);
pid_t bpf_targets_pid(const struct bpf_targets *t, uint32_t slot); /* 0: no such slot */
/* Looks for files with markers that are new in the process, and attaches to them. The number of
 * new markers, or -errno. */
int bpf_targets_scan(struct bpf_targets *t, uint32_t slot);
void bpf_targets_scan_all(struct bpf_targets *t);
void bpf_targets_end(struct bpf_targets *t, uint32_t slot); /* detaches: the process is no more */
void bpf_targets_detach(struct bpf_targets *t);		    /* all of them */
void bpf_targets_done(struct bpf_targets *t);

#endif
