/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Drops rights of a process that we fork to handle data that is not trusted. The process itself
 * calls these functions. False: the right could not be dropped, and the process must end.
 */
#ifndef BASE_WORKER_H
#define BASE_WORKER_H

#include <stdbool.h>
#include <stdint.h>

/* Blocks all signals but those of faults: ebtrace ends the process, not the terminal's user. */
void worker_ignore_signals(void);
/* Moves the descriptors fds[first] to fds[end - 1] to the numbers of their indices; -1: none. Those
 * from `end` on are closed. */
bool worker_keep_descriptors(int *fds, int first, int end);
bool worker_limit(int resource, uint64_t value);
/* Limits the address space to what is in use now plus `bytes`: under a sanitizer the address space
 * in use exceeds any absolute limit. */
bool worker_limit_memory(uint64_t bytes);
/* Keeps its user. Root without capabilities has no privilege that its files do not give. */
bool worker_drop_capabilities(void);

#endif
