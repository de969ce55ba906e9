/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page trace that this process writes: Go's format, through the writer of
 * <ebtrace/pagetrace.h>.
 *
 * A thread is a P of the trace: it gets the lowest free writer at its first event and releases it
 * when it ends, flushed; threads beyond EBT_PAGE_DOMAINS, and those for which there is no memory,
 * share that of P -1. The owner of a writer writes without a lock: it is `busy` meanwhile, and
 * whoever flushes another thread's writer first makes it one of no trace, issues a barrier on all
 * threads, and waits until it is not busy. An event that finds its writer to be of no trace, and
 * all of P -1, hold the writer instead.
 *
 * An event in a signal handler that interrupted one of the same thread is dropped and counted, as
 * is one that waits for a writer for more than a second, so nothing here can block for ever. Memory
 * comes from mmap(), 36 KiB a writer. errno is left alone. A forked child has no trace; the
 * parent's goes on. Start, stop and flush: <ebtrace/probes.h>.
 */
#ifndef EBT_PAGE_TRACE_H
#define EBT_PAGE_TRACE_H

#include <stdbool.h>

#include <ebtrace/pagetrace.h>
#include <ebtrace/probes.h>

#define EBT_PAGE_DOMAINS 128

/* Once, before the other functions; while the process has one thread. After ebt_fork_mark_init()
 * and ebt_clock_choose(). */
void ebt_page_trace_init(void);
/* After this no thread's end calls into a library that may be unmapped. */
void ebt_page_trace_done(void);
/* The trace that the environment names could not start: until another one does, this is the error
 * of ebt_page_trace_stop(). 0: it could. */
void ebt_page_trace_failed(int err);
/* Flushes and releases the calling thread's writer. */
void ebt_page_trace_thread_end(void);

/* Writes one event, if there is a trace. Returns its time; 0: nothing was written, and if there is
 * a trace that has no error, the event is counted as lost. */
uint64_t ebt_page_trace_write(enum ebt_pagetrace_what what, uint64_t addr, uint64_t pages);
/* Counts an event that is not written. */
void ebt_page_trace_lose(void);

#endif
