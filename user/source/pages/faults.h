/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a BPF program at the end of each page fault of chosen processes, and one where the kernel
 * begins to handle it, by perf events of their threads: no program runs for others. Threads and
 * children that come later inherit them.
 */
#ifndef SOURCE_PAGES_FAULTS_H
#define SOURCE_PAGES_FAULTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Zero but for the first: nothing is attached. */
struct page_faults {
	int begin, end; /* descriptors of the programs; begin < 0: none */
	bool children;	/* they inherit the events, not threads alone */
	/* Private. */
	int *fd;
	uint32_t fds, room;
};

/* The number of threads, -ESRCH, or -errno: those that have events keep them. */
int page_faults_attach(struct page_faults *f, pid_t pid);
void page_faults_detach(struct page_faults *f);

#endif
