/* SPDX-License-Identifier: BSD-2-Clause */
/* Identifies the calling process by its pid, start time and pid namespace: a pid alone may also be
 * that of a process in another namespace. */
#ifndef EBT_IDENTITY_H
#define EBT_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

struct ebt_identity {
	uint32_t pid;
	uint64_t start;	     /* field 22 of /proc/PID/stat */
	uint64_t name_space; /* the inode of that of pids */
};

/* False: /proc does not have it. */
bool ebt_identity_read(struct ebt_identity *ret);

#endif
