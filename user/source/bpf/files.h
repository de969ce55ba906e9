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
#include "proc/maps.h"
#include "source/bpf/attachers.h"
#include "source/bpf/links.h"

struct attachment {
	const struct attacher *by; /* NULL: none */
	void *state;
	pid_t pid;
	int file; /* < 0: closed */
	struct bpf_link link;
	struct attach_plan plan;   /* of `link`, made ahead; no `site`: none */
	struct bpf_shared *shared; /* NULL: a link of its own */
	bool watched;		   /* probed by the shared link */
	uint32_t cuts;		   /* of the shared link, when it began */
	uint32_t heir;		   /* of its own link: as of struct link_of */
	bool lean;		   /* its own link is */
	bool left_alone;	   /* as of the last update: the process records by itself */
	int err;		   /* of an attempt that failed; see attachment_may_retry() */
	uint64_t unshared_ns;	   /* a shared link probed it until then; 0: none did */
	uint64_t read_ns;	   /* when the mappings were read that it began with */
};

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
	/* The program's mapping at the last scan, without a path; inode 0: there was none. */
	struct maps_entry program;
	bool has_ring; /* the process had a ring file mapped at the last scan */
	bool reported; /* that not all files are inspected */
	bool reported_lease;
};

struct bpf_scan {
	uint32_t slot;
	pid_t pid;
	uint64_t since_ns;     /* the process's program has been known since then */
	uint64_t found_ns;     /* its hits of shared links count since then; 0: since its begin */
	uint64_t read_ns;      /* when its mappings were read; 0: they were not */
	uint64_t begun_ns;     /* now; files that lost their probes are not watched since then */
	uint64_t unwatched_ns; /* what is found now was not watched since then; 0: no matter */
	/* The parent's, of which it has copies; NULL: it runs a program of its own. */
	const struct bpf_files *inherited;
	uint64_t held_ns; /* it has been stopped since then; 0: it is not */

	/* results */
	int sites;    /* new ones, or -errno if there are none: why the last file that failed did */
	bool in_ring; /* events that were missed are in the process's ring, and nowhere else */
	/* Events that are seen from now on were missed in this time; 0: none were. */
	uint64_t missed_ns, missed_until_ns;
};

void bpf_files_init(struct bpf_files *f);
/* True if the mappings are another program's than those of the last scan. */
bool bpf_files_replaced(const struct bpf_files *f, const struct maps_list *maps);
/* Attaches to what is new among the mappings (MAPS_TRACED), and updates what is there. */
void bpf_files_scan(struct bpf_scanner *by, struct bpf_files *f, const struct maps_list *maps,
		    struct bpf_scan *scan);
/* Attaches to and detaches from what is there, as time and the attachers have it. */
void bpf_files_update(struct bpf_scanner *by, struct bpf_files *f, struct bpf_scan *scan);
/* True if the next scan attaches to a file again: it could not, or the file's probes are gone. */
bool bpf_files_want_scan(const struct bpf_files *f);
/* Ends what has lost its probes, as the process was killed that held them: the next scan attaches
 * again. True if events are missing for that. */
bool bpf_files_check(struct bpf_scanner *by, struct bpf_files *f);
/* The process has called exec at ts: what depends on its program goes. */
void bpf_files_exec(struct bpf_scanner *by, struct bpf_files *f, uint64_t ts);
/* True if the process has probes, other than shared ones that were there before born_ns. */
bool bpf_files_probed(const struct bpf_scanner *by, const struct bpf_files *f, uint64_t born_ns);
/* Whether something is to be probed in a program's file, other than by a shared link that was there
 * before born_ns: 1 or 0, or -ENOENT if the file was not inspected. */
int bpf_scanner_would_probe(const struct bpf_scanner *by, uint64_t dev, uint64_t inode,
			    uint64_t born_ns);
/* Since when the process has not been watched because every attempt to probe one of its files
 * failed; since_ns where that is the time of the first scan; 0: no attempt failed. */
uint64_t bpf_files_failed(const struct bpf_scanner *by, const struct bpf_files *f,
			  uint64_t since_ns);
void bpf_files_end(struct bpf_scanner *by, struct bpf_files *f); /* detaches from all of them */

#endif
