/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The allocation trace that this process writes: memtrace's format, through the writer of
 * <ebtrace/memtrace.h>.
 *
 * A thread is a domain of the trace: it gets the lowest free writer at its first event and releases
 * it when it ends, flushed; threads beyond EBT_ALLOC_DOMAINS share one. Whoever holds a writer
 * holds it for one event. An event in a signal handler that interrupted one of the same thread is
 * dropped and counted, as is one that waits for a writer for more than a second, so nothing here
 * can block for ever. Packets are written when they are full, when their thread ends, at the end,
 * and about once a second while any thread has events.
 *
 * Memory comes from mmap(): about 1 MiB a domain. errno is left alone. A forked child has no trace;
 * the parent's goes on.
 *
 * An object's number is above 0, and never used again in this process.
 */
#ifndef EBT_ALLOC_TRACE_H
#define EBT_ALLOC_TRACE_H

#include <stdbool.h>

#include <ebtrace/memtrace.h>

#include "alloc_writer.h"

struct ebt_alloc_config {
	const char *path;
	const char *context; /* what the trace is called; NULL: "" */
	double rate;
	/* As in struct ebt_memtrace_trace. Called by any thread, inside any event, with a writer
	 * held: it must not wait for a lock. NULL: no position is known. */
	size_t (*locations)(void *ctx, int64_t code, const struct ebt_memtrace_location **ret);
	void *ctx;
};

/* Once, before the other functions; while the process has one thread. After ebt_fork_mark_init()
 * and ebt_clock_choose(). */
void ebt_alloc_trace_init(void);
/* After this no thread's end calls into a library that may be unmapped. */
void ebt_alloc_trace_done(void);

/* Opens the file (see ebt_output_file_open() for errors) and starts; the strings of `config` are
 * copied. Also -EMSGSIZE: context and names fit no packet, and -EBUSY: another thread is
 * at it. Not for signal handlers. */
int ebt_alloc_trace_start(const struct ebt_alloc_config *config);
/* Flushes all writers and closes the file. 0, or the first error of the file; -EINVAL: no trace,
 * for which it makes no system call; -EBUSY. Not for signal handlers. */
int ebt_alloc_trace_stop(void);
/* Flushes all writers, as before an exec(). */
void ebt_alloc_trace_flush(void);
/* Flushes and releases the calling thread's writer. */
void ebt_alloc_trace_thread_end(void);
/* True if a trace is being written. */
bool ebt_alloc_tracing(void);
/* Its rate; 0: there is none. */
double ebt_alloc_trace_rate(void);
/* Events that were dropped. */
uint64_t ebt_alloc_trace_lost(void);
/* A number for an object that is not in a trace. */
uint64_t ebt_alloc_number(void);

/*
 * One event: enter, which returns NULL if there is no trace, or if the event is dropped; one of
 * alloc, promote and collect; leave.
 */
struct ebt_alloc_writer *ebt_alloc_enter(void);
void ebt_alloc_leave(struct ebt_alloc_writer *w);
/* Where the caller puts the codes of the backtrace, outermost first: EBT_ALLOC_FRAMES of them. A
 * code is not 0. */
int64_t *ebt_alloc_frames(struct ebt_alloc_writer *w);
/* Returns the object's number. `words` are without a header. */
uint64_t ebt_alloc_write(struct ebt_alloc_writer *w, uint64_t words, uint64_t samples,
			 enum ebt_alloc_source source, size_t frames);
/* what: EBT_MEMTRACE_PROMOTE or _COLLECT. An object of before this trace is ignored. */
void ebt_alloc_write_change(struct ebt_alloc_writer *w, enum ebt_memtrace_what what, uint64_t obj);

#endif
