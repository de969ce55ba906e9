/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a process gives up that we fork to handle what is not trusted: each function is for the
 * process itself. False: it is impossible, and the process must end.
 */
#ifndef BASE_WORKER_H
#define BASE_WORKER_H

#include <stdbool.h>
#include <stdint.h>

/* Its end is for ebtrace to see, not for the terminal's user to cause. */
void worker_ignore_signals(void);
/* Moves the descriptors fds[first] to fds[end - 1] to the numbers of their indices; -1: none. Those
 * from `end` on are closed. */
bool worker_keep_descriptors(int *fds, int first, int end);
bool worker_limit(int resource, uint64_t value);
/* So many bytes of address space more than it has: under a sanitizer that is more than any limit of
 * its own. */
bool worker_limit_memory(uint64_t bytes);
/* Keeps its user. Root without capabilities has no privilege that its files do not give. */
bool worker_drop_capabilities(void);

#endif
