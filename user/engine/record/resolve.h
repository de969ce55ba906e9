/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes a trace for users of the traces that libebtrace-preload.so wrote (<ebtrace/recorder.h>):
 * the addresses of frames become functions, files and lines, with the functions that were inlined;
 * frames of C++'s operator new at the inner end go. The traces of programs that a process ran one
 * after another become one, in which everything is released when the next program begins.
 *
 * The traces come from the traced process and are not trusted. A module with another build id than
 * the loaded one has been replaced since: its frames are "module+0xoffset".
 */
#ifndef ENGINE_RECORD_RESOLVE_H
#define ENGINE_RECORD_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/messages.h"
#include "engine/record/programs.h"

struct mem_resolve_result {
	unsigned programs; /* traces that were read */
	uint64_t allocs, collects;
	uint64_t dropped; /* events that the recorder could not write, and why */
	int dropped_err;
	uint64_t damaged; /* parts of the traces */
	bool own_malloc;  /* the last program has an allocator of its own */
};

struct mem_resolve {
	const struct messages *messages;
	int dir_fd;			     /* with the traces */
	const struct mem_programs *programs; /* in it */
	unsigned process;		     /* index; the trace is made of its programs */
	bool remove;	     /* the traces, as soon as they are open: no process writes to them */
	int fd;		     /* the trace to be written */
	const char *context; /* of it */
};

/* 0, -ENODATA: there is no trace; else -errno of reading or writing. */
int mem_resolve(const struct mem_resolve *r, struct mem_resolve_result *ret);

#endif
