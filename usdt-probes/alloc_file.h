/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file of an allocation trace: opened for this process alone, locked as memtrace locks it,
 * truncated, and appended to by any number of threads. Each write has its own place in the file, so
 * writers do not wait for each other.
 *
 * The file belongs to the process that opened it. A forked child never writes to it, not even if a
 * signal handler forks in the middle of a write; nor does anything write to the descriptor once the
 * program has closed it. After the first error nothing more is written, and the file is cut to what
 * comes before it.
 */
#ifndef EBT_ALLOC_FILE_H
#define EBT_ALLOC_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* The word EBT_FORK_TRACE_STATE of fork_mark.h. */
enum ebt_trace_state {
	EBT_TRACE_NONE = 0, /* also in a child */
	EBT_TRACE_OPEN = 1, /* the file may be written */
	EBT_TRACE_ON = 2,   /* events are recorded: alloc_trace.h */
};

/*
 * Opens the file; it is created with mode 0600 and must be a regular file, not a symbolic link. 0;
 * -EALREADY: this process has one; -EAGAIN: another process has locked it; -EINVAL: not regular;
 * -errno. Calls of open and close are serialised by the caller.
 */
int ebt_alloc_file_open(const char *path);
/* Appends; thread-safe. 0 or the first error of the file. */
int ebt_alloc_file_write(const void *bytes, size_t size);
/* Closes the file. 0 or its first error. */
int ebt_alloc_file_close(void);
/* True if this process has it open. */
bool ebt_alloc_file_is_open(void);
/* In a forked child: closes the descriptor that it has of its parent's file. */
void ebt_alloc_file_forget(void);

#endif
