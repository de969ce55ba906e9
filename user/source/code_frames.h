/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames and stacks in the session of addresses of code in traced processes: an address is found in
 * the mappings of its process, and resolved once for each place in a module's file. What is in no
 * file, as code that was made at run time, has its address for a name. What is in no mapping, to
 * which a register leads that is no frame pointer, is one unknown frame. Modules and their frames
 * are kept for the whole run, so their memory is bounded by the code there is.
 */
#ifndef SOURCE_CODE_FRAMES_H
#define SOURCE_CODE_FRAMES_H

#include "core/session.h"
#include <sys/types.h>

#define CODE_STACK_MAX 128 /* of more addresses the innermost */

struct code_frames;
struct code_module;

/* The executable mappings of a process as they were read last. Initialised by zeroes. */
struct code_map {
	struct code_mapping *mapping; /* by address */
	size_t count, cap;
	uint64_t read_ns; /* 0: never */
	uint64_t cost_ns; /* the time that it took */
};

/* Keeps the session. 0 or -ENOMEM. */
int code_frames_new(struct session *session, struct code_frames **ret);
void code_frames_free(struct code_frames *c); /* NULL is allowed */

/*
 * Reads the mappings of a process, unless that was done less than 100 ms ago, `soon`: 1 ms, or took
 * long. Of one that has ended the last ones stay. Modules are opened now, as they may be gone later.
 */
void code_map_read(struct code_frames *c, struct code_map *map, pid_t pid, bool soon);
void code_map_done(struct code_map *map);

/*
 * The stack of addresses of a process, the innermost first, without the innermost frames that are
 * of libebtrace-probes. It is valid until the next stacks_reclaim() unless it is held. An address
 * that is in no mapping makes them be read again. 0 or -ENOMEM.
 */
int code_frames_stack(struct code_frames *c, struct code_map *map, pid_t pid,
		      const uint64_t *address, size_t count, uint32_t *ret);

#endif
