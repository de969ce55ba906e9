/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file that the recorder writes packets to, through a mapping that moves along: the program has
 * no descriptor more than without us, none that it could close and use for another file, and what
 * was written survives its death. The file grows by whole windows, whose blocks are allocated
 * before they are written to, so that a full disk is an error and no SIGBUS; one byte in ten of the
 * file system is left free. The trace of a program that records itself (output_file.h) is no such
 * file: others read it while it grows, and a lock is held on its descriptor.
 */
#ifndef EBT_TRACE_FILE_H
#define EBT_TRACE_FILE_H

#include <ebtrace/recorder.h>
#include <limits.h>
#include <stddef.h>

#include "../shared/file_id.h"

struct ebt_trace_file {
	char path[PATH_MAX];
	struct ebt_file_id id;
	unsigned filters; /* that the process was under when the file was made */
	int err;	  /* the first failure: what follows a gap is no trace */
	uint64_t bytes;	  /* written */
	uint8_t *window;
	uint64_t window_start, window_bytes;
	struct ebt_recorder_state *state; /* of the file beside it */
};

/* Makes the next N.ctf and N.state of a directory. 0 or -errno. */
int ebt_trace_file_make(struct ebt_trace_file *f, const char *dir);
/* Appends a packet. 0 or -errno. */
int ebt_trace_file_write(struct ebt_trace_file *f, const void *packet, size_t bytes);
/* So that at least `bytes` more can be written without a system call. 0 or -errno. */
int ebt_trace_file_reserve(struct ebt_trace_file *f, uint64_t bytes);
/* In a child that was forked, of its parent's file: unmaps it. */
void ebt_trace_file_leave(struct ebt_trace_file *f);
/* Cuts the zeros behind the last packet. */
void ebt_trace_file_end(struct ebt_trace_file *f);

#endif
