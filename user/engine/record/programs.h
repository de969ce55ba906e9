/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs that wrote a trace in the directory of a recording (<ebtrace/recorder.h>), grouped
 * by the process that ran them one after another, and how many programs were run without leaving
 * one. What is there comes from traced processes and is not trusted.
 */
#ifndef ENGINE_RECORD_PROGRAMS_H
#define ENGINE_RECORD_PROGRAMS_H

#include <ebtrace/recorder.h>
#include <stdbool.h>

struct mem_programs {
	unsigned count; /* of traces, in the order in which they began */
	struct ebt_recorder_state state[EBT_RECORDER_PROGRAMS];
	unsigned process[EBT_RECORDER_PROGRAMS]; /* of each trace; that of ebtrace's program is 0 */
	unsigned processes;			 /* at least 1 */
	unsigned lost_execs;			 /* programs of process 0 without a trace */
	unsigned lost_children;			 /* those of the others */
	bool cut;				 /* process 0 went on after its last trace */
};

/* has_exited: process 0 did, and no signal ended it. */
void mem_programs_read(int dir_fd, bool has_exited, struct mem_programs *ret);
/* The pid of a process. */
unsigned mem_programs_pid(const struct mem_programs *p, unsigned process);

#endif
