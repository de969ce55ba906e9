/* SPDX-License-Identifier: BSD-2-Clause */
/* Records the sampled allocations of running processes, by their markers. */
#ifndef CMD_MEM_RUNNING_H
#define CMD_MEM_RUNNING_H

#include "cmd/opts.h"

/* The options name processes and an output. Returns the exit status. */
int mem_running(struct opts *o);

#endif
