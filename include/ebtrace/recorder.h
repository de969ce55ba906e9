/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What ebtrace and libebtrace-preload.so agree on. `ebtrace mem record` starts a program with the
 * library preloaded and with EBT_RECORDER_VARIABLE set to "PID:RATE:DIR": the process that records,
 * the probability that a word is sampled, and an existing directory. Other processes, such as
 * children, inherit both and record nothing.
 *
 * Each program that this process runs, one after another by exec(), makes two new files in the
 * directory: N.ctf, a memtrace trace, and N.state, a struct ebt_recorder_state that the library
 * changes while it records; N counts from 0. The code of a frame is the address of its call,
 * distinguished in the bits from EBT_RECORDER_EPOCH_SHIFT on where modules of different times had
 * one address. Its position has the path of the module as file, and as function "0xOFFSET", or
 * "0xOFFSET:BUILDID" with the module's build id in hexadecimal digits; OFFSET is in the file. Code
 * of no module has "" as file and its address as OFFSET.
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
#define EBT_RECORDER_EPOCH_SHIFT 48
#define EBT_RECORDER_CODE_BITS	 54
#define EBT_RECORDER_PROGRAMS	 256 /* the most of one process */

struct ebt_recorder_state {
	uint64_t bytes;	  /* of the trace, without the zeros behind it */
	uint64_t events;  /* sampled allocations and releases */
	uint64_t dropped; /* events that could not be written */
	int32_t err;	  /* the errno of the first that could not; 0: none */
	/* The program has a malloc of its own, which is not interposed: nothing is recorded. */
	uint32_t own_malloc;
};

#ifdef __cplusplus
}
#endif

#endif
