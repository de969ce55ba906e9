/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Links of kind uprobe_multi: one link for all sites of a file in one process, so that attaching
 * and detaching hundreds of sites takes milliseconds (a perf-event link takes 100 ms a site to
 * detach). Made by the system call itself: libbpf 1.1 does not know them.
 */
#ifndef SOURCE_UPROBE_H
#define SOURCE_UPROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A program for such links must have this expected attach type before it is loaded. */
#define UPROBE_MULTI_ATTACH_TYPE 48

struct uprobe_site {
	uint64_t offset;    /* of the instruction in the file */
	uint64_t semaphore; /* offset in the file; 0: none */
	uint64_t cookie;
};

/*
 * True if this kernel has such links and their pid filter is right (the first kernels that had
 * them filtered by thread), and this process may make them.
 */
bool uprobe_multi_works(void);

/* Links the program to the sites in the process `pid`, or, <= 0, in all that map the file. The
 * link's descriptor, which detaches when it is closed, or -errno. Not for a process that may be
 * killed meanwhile, nor may such a one close it: see link_keeper.h. */
int uprobe_multi_attach(int prog_fd, const char *path, pid_t pid, const struct uprobe_site *site,
			uint32_t sites);

#endif
