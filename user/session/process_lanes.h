/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of lanes: assigns dense ids, from 1, and keeps of each which process it belongs to and
 * which domain or thread it is. The lanes of a process form a list, so they are released together;
 * a released id is assigned again. Which domain or thread has which lane is the process's own
 * (session/processes.h), through which everybody else uses this table. Not thread-safe.
 */
#ifndef SESSION_PROCESS_LANES_H
#define SESSION_PROCESS_LANES_H

#include <stdint.h>

struct process_lane {
	uint32_t process; /* index in the registry */
	uint32_t tid;	  /* of a thread outside of any domain; else 0 */
	uint32_t next;	  /* lane of the same process, added before it; 0: none */
	uint16_t domain;  /* EBT_NO_DOMAIN: the thread, or the process outside of its domains */
};

struct process_lanes {
	struct process_lane *at; /* by id */
	uint32_t count, cap;	 /* ids up to count have been assigned */
	uint32_t spare;		 /* list of the released */
};

void process_lanes_done(struct process_lanes *t);
/* Adds a lane, a copy of *lane, before lane->next. Its id; 0: no memory. */
uint32_t process_lanes_add(struct process_lanes *t, const struct process_lane *lane);
/* Releases the lane and those behind it in its list. 0 does nothing. */
void process_lanes_release(struct process_lanes *t, uint32_t first);

#endif
