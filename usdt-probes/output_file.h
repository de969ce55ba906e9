/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file of a trace: opened for this process alone, locked as memtrace locks it, truncated, and
 * appended to by any number of threads, one at a time, so that a killed program leaves no hole.
 *
 * The file belongs to the process that opened it. A forked child never writes to it, not even if a
 * signal handler forks in the middle of a write; nor does anything write to the descriptor once the
 * program has closed it. After the first error nothing more is written, and the file is cut to what
 * comes before it.
 *
 * A FIFO, a pipe, a socket, a device that is no terminal, and whatever is behind a name of a
 * descriptor of the process (/dev/stdout, /dev/stderr, /dev/fd/N, /proc/self/fd/N) is a stream:
 * neither locked nor truncated nor cut, and written to without a position. A reader that has gone
 * is an error, and no SIGPIPE; so is one that reads nothing for 10 s, for which the writing thread
 * waits with its signals blocked.
 */
#ifndef EBT_OUTPUT_FILE_H
#define EBT_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/file_id.h"

/* The state word. */
enum ebt_trace_state {
	EBT_TRACE_NONE = 0, /* also in a child */
	EBT_TRACE_OPEN = 1, /* the file may be written */
	EBT_TRACE_ON = 2,   /* this or above: events are recorded */
};

/* `state` and `fd` are set before the first use: a word of the page that a child has zeroed
 * (fork_mark.h), and -1. */
struct ebt_output_file {
	uint32_t *state;
	int fd;
	bool is_stream;
	struct ebt_file_id id;
	uint32_t writing; /* a lock: trace_lock.h */
	uint64_t bytes;	  /* that are written, whole */
	int err;
};

/*
 * Opens the file; it is created with mode 0600. 0; -EALREADY: this process has one; -EAGAIN:
 * another process has locked it; -EINVAL: neither a regular file nor a stream; -ELOOP: a symbolic
 * link; -ENXIO: a FIFO without a reader; -errno. Calls of open and close are serialised by the
 * caller.
 */
int ebt_output_file_open(struct ebt_output_file *f, const char *path);
/* Appends; thread-safe. 0 or the first error of the file. */
int ebt_output_file_write(struct ebt_output_file *f, const void *bytes, size_t size);
/* Closes the file. 0 or its first error. */
int ebt_output_file_close(struct ebt_output_file *f);
/* In a forked child: closes the descriptor that it has of its parent's file. */
void ebt_output_file_forget(struct ebt_output_file *f);

/* True if this process has it open. */
static inline bool ebt_output_file_is_open(const struct ebt_output_file *f)
{
	return __atomic_load_n(f->state, __ATOMIC_ACQUIRE) != EBT_TRACE_NONE;
}

#endif
