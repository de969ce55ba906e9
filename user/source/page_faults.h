/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a BPF program at the end of each page fault of chosen processes, by perf events of their
 * threads: nobody else pays for it. Threads and children that come later inherit them.
 */
#ifndef SOURCE_PAGE_FAULTS_H
#define SOURCE_PAGE_FAULTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* All zero: nothing. Fields are private. */
struct page_faults {
	int *fd;
	uint32_t fds, room;
};

/* program: a descriptor of the program. children: they inherit the events, not threads alone. The
 * number of threads, -ESRCH, or -errno: those that have events keep them. */
int page_faults_attach(struct page_faults *f, int program, pid_t pid, bool children);
void page_faults_detach(struct page_faults *f);

#endif
