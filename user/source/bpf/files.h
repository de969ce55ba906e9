/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files that one process maps as code, and the probes in them. Files are opened through
 * /proc/PID, never by the path that the process sees, so other mount namespaces and deleted files
 * work, and only regular files are opened. A file is asked about once, however often the process is
 * scanned; what one process may cost is bounded.
 */
#ifndef SOURCE_BPF_FILES_H
#define SOURCE_BPF_FILES_H

#include "base/map.h"
#include "source/bpf/attachment.h"

/* What is common to all processes of a run. */
struct bpf_scanner {
	struct bpf_links links;
	struct attach_env env;
	struct inspect *inspect;
};

struct bpf_file;

struct bpf_files {
	struct bpf_file *file;
	uint32_t files, room;
	uint32_t attached[ATTACHERS]; /* files that each attacher has begun with */
	bool ever[ATTACHERS];	      /* also before the last exec */
	struct map index;	      /* of them, by device and inode */
	struct inspect_budget budget;
	bool has_ring; /* the process had a ring file mapped at the last scan */
	bool reported; /* that not everything is looked into */
	bool reported_lease;
};

struct bpf_scan {
	uint32_t slot;
	pid_t pid;
	uint64_t since_ns;     /* the process's program has been known since then */
	uint64_t begun_ns;     /* now; files whose probes were gone are not watched since then */
	uint64_t unwatched_ns; /* what is found now was not watched since then; 0: no matter */

	/* results */
	uint32_t mappings; /* 0: the process has just ended */
	int sites;    /* new ones, or -errno if there are none: why the last file that failed did */
	bool in_ring; /* events that were missed are in the process's ring, and nowhere else */
	uint64_t
		missed_ns; /* events that are seen from now on were missed since then; 0: none were */
};

void bpf_files_init(struct bpf_files *f);
/* Reads the mappings, attaches to what is new, and updates what is there. 0, or -errno if the
 * mappings cannot be read. */
int bpf_files_scan(struct bpf_scanner *by, struct bpf_files *f, struct bpf_scan *scan);
/* Ends what has lost its probes, as the process was killed that held them: the next scan attaches
 * again. True if events are missing for that. */
bool bpf_files_check(struct bpf_scanner *by, struct bpf_files *f);
/* The process has called exec: what depends on its program goes. */
void bpf_files_exec(struct bpf_scanner *by, struct bpf_files *f);
/* True if the process has probes, other than shared ones that were there before born_ns. */
bool bpf_files_probed(const struct bpf_scanner *by, const struct bpf_files *f, uint64_t born_ns);
/* Whether something is to be probed in a program's file, other than by a shared link that was there
 * before born_ns: 1 or 0, or -ENOENT if nobody has looked into it. */
int bpf_scanner_would_probe(const struct bpf_scanner *by, uint64_t dev, uint64_t inode,
			    uint64_t born_ns);
/* Since when the process has not been watched because every attempt to probe one of its files
 * failed; since_ns where that is the time of the first scan; 0: no attempt failed. */
uint64_t bpf_files_failed(const struct bpf_scanner *by, const struct bpf_files *f,
			  uint64_t since_ns);
void bpf_files_end(struct bpf_scanner *by, struct bpf_files *f); /* detaches from all of them */

#endif
