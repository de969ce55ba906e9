/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What ebtrace and libebtrace-preload.so agree on. `ebtrace mem record` starts a program with the
 * library as the first of LD_PRELOAD and with EBT_RECORDER_VARIABLE set to
 * "PID:START:NAMESPACE:FILTERS:RATE:FLAGS:DIR":
 *   PID        the process that records; 0: the one that reads this
 *   START      when that began, field 22 of /proc/PID/stat
 *   NAMESPACE  the inode of its namespace of pids: its number alone may be that of another process
 *   FILTERS    seccomp filters that ebtrace is under itself
 *   RATE       the probability that a word of 8 bytes is sampled
 *   FLAGS      EBT_RECORDER_CHILDREN: what its children run is recorded, too;
 *              EBT_RECORDER_IS_CHILD: the process is not the one that ebtrace started
 *   DIR        an existing directory
 * The library takes both out of the environment before the program begins, so that neither it nor
 * its children see them, and puts them into that of a program that is to be recorded next.
 *
 * Each recorded program makes two new files in the directory; N counts from 0. N.ctf is a memtrace
 * trace. Sizes are in bytes, so its words have 8 bits. RATE / 8 of them are sampled, or all if RATE
 * is 1. N.state is a struct ebt_recorder_state that the library changes while it records. The code
 * of a frame is the address of its call, distinguished in the bits from EBT_RECORDER_EPOCH_SHIFT on
 * where modules of different times had one address. Its position has the path of the module as
 * file, and as function "0xOFFSET", or "0xOFFSET:BUILDID" with the module's build id in hexadecimal
 * digits; OFFSET is in the file. Code of no module has "" as file and its address as OFFSET.
 *
 * The trace may have zeros behind its end. It is complete up to the last packet at any time, also
 * if the program is killed.
 */
#ifndef EBTRACE_RECORDER_H
#define EBTRACE_RECORDER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EBT_RECORDER_VARIABLE	 "EBTRACE_MEM_RECORD"
#define EBT_RECORDER_CHILDREN	 1u
#define EBT_RECORDER_IS_CHILD	 2u
#define EBT_RECORDER_EPOCH_SHIFT 48
#define EBT_RECORDER_CODE_BITS	 54
#define EBT_RECORDER_PROGRAMS	 1024 /* the most of one run */

struct ebt_recorder_state {
	uint64_t bytes;	  /* of the trace, without the zeros behind it */
	uint64_t events;  /* sampled allocations and releases */
	uint64_t dropped; /* events that could not be written */
	int32_t err;	  /* the errno of the first that could not; 0: none */
	/* The program has a malloc of its own, which is not interposed: nothing is recorded. */
	uint32_t own_malloc;
	uint64_t start; /* of the process, field 22 of /proc/PID/stat */
	uint32_t pid;
	uint32_t is_child;
	/* Programs that the process ran next by exec(), and those that its children ran; a recorded
	 * one has a state of its own. */
	uint32_t execs;
	uint32_t children;
	uint32_t ended; /* the program ended by itself, and all is written */
};

#ifdef __cplusplus
}
#endif

#endif
