/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Links of kind uprobe_multi: one link for all sites of a file in one process, so that attaching
 * and detaching hundreds of sites takes milliseconds (perf-event links are one a site, and are
 * removed one by one). Made by the system call, since libbpf 1.1 does not support them.
 */
#ifndef SOURCE_BPF_UPROBE_H
#define SOURCE_BPF_UPROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Seconds to remove a perf-event link: the kernel waits for each. Measured on Linux 6.1. */
#define UPROBE_PERF_LINK_S 0.07

/* A program for such links must have this expected attach type before it is loaded. */
#define UPROBE_MULTI_ATTACH_TYPE 48

struct uprobe_site {
	uint64_t offset;    /* of the instruction in the file */
	uint64_t semaphore; /* offset in the file; 0: none */
	uint64_t cookie;
};

/*
 * True if this kernel has such links, their pid filter is correct (the first kernels with them
 * filtered by thread), and this process is permitted to make them.
 */
bool uprobe_multi_works(void);

/* What a hit of an empty program costs, ns: measured in this process, for some milliseconds. 0: it
 * cannot be, as there are no such links. */
double uprobe_price_ns(void);

/* Loads an empty program, without libbpf, and closes it: 0, or -errno: no program can be loaded. */
int uprobe_try_load(void);

/* Up to this number, sites are linked without the use of the heap. */
#define UPROBE_FEW 64

/* Links the program to the sites in process `pid` (<= 0: in all that map the file). Returns the
 * link's descriptor, which detaches when it is closed, or -errno. A process that may be killed must
 * neither call this nor close the descriptor: see link_keeper.h. */
int uprobe_multi_attach(int prog_fd, const char *path, pid_t pid, const struct uprobe_site *site,
			uint32_t sites);

#endif
