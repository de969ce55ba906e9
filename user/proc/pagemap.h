/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which pages of a process are mapped to memory, as the kernel's page tables have it: by
 * PAGEMAP_SCAN (Linux 6.7), which costs what is mapped; before it by /proc/PID/pagemap, 8 bytes a
 * page of those mappings that have any according to smaps. What is read was true at some time
 * during the call. The page of zeroes, which is mapped where memory was read before it was first
 * written, is not memory and left out.
 *
 * Needs the right to ptrace the process. A process is identified by a descriptor of its directory
 * in /proc, which never becomes another's. Not thread-safe.
 */
#ifndef PROC_PAGEMAP_H
#define PROC_PAGEMAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct pagemap_run {
	uint64_t addr, bytes;
	bool file;    /* of a file, or shared; else anonymous */
	bool huge;    /* in a huge page */
	bool swapped; /* in the swap area; else in memory */
};

/* A descriptor of /proc/PID, of the process that has the pid now; -ESRCH: none, or it has ended;
 * -errno. The caller closes it. */
int pagemap_open(pid_t pid);
/*
 * Calls fn for the runs of an address space, by ascending address, until it returns non-zero, which
 * is then returned. `to` is exclusive. plain: read it as before Linux 6.7. 0; -ESRCH: the process
 * has no memory any more; -EACCES, -EPERM: no right to read it; -errno.
 */
int pagemap_read(int dir, uint64_t from, uint64_t to, bool plain,
		 int (*fn)(void *ctx, const struct pagemap_run *run), void *ctx);

#define PAGEMAP_END (1ull << 56) /* above all addresses of programs */

#endif
