/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writers of an allocation trace: which thread has which, and who holds it. In static memory, so that
 * a writer stays valid when its thread has ended; what it writes with is mapped at its first use.
 */
#ifndef EBT_ALLOC_WRITER_H
#define EBT_ALLOC_WRITER_H

#include <stdbool.h>

#include <ebtrace/memtrace.h>

#include "clock.h"
#include "trace_stream.h"

#define EBT_ALLOC_DOMAINS 128
#define EBT_ALLOC_FRAMES  1024 /* of a backtrace */

struct ebt_alloc_writer {
	uint32_t owner; /* tid; 0: free */
	uint32_t held;
	uint32_t trace; /* the trace that `stream` writes; 0: none */
	bool dirty;	/* events wait to be flushed */
	uint64_t last_us;
	uint64_t flushed_us;
	struct ebt_clock clock;
	void *memory;
	struct ebt_trace_stream stream;
	int64_t *next; /* the backtrace of the next alloc */
	int saved_errno;
} __attribute__((aligned(128)));

extern struct ebt_alloc_writer ebt_alloc_writers[EBT_ALLOC_DOMAINS]
	__attribute__((visibility("hidden")));

void ebt_alloc_writers_init(void (*thread_ends)(void));
void ebt_alloc_writers_done(void);
/* Forgets every thread if this is a child that has not done so. Under the lock of start and stop. */
void ebt_alloc_writers_renew(void);

/* True if the calling thread is inside an event; until ebt_alloc_thread_leave() it then is. */
bool ebt_alloc_thread_enter(void);
void ebt_alloc_thread_leave(void);
/* The writer of the calling thread, which has entered: its own, else one that it shares. */
struct ebt_alloc_writer *ebt_alloc_thread_writer(void);
/* The calling thread's own writer, which it gives up; the caller holds it and then frees it. NULL:
 * it has none. */
struct ebt_alloc_writer *ebt_alloc_thread_release(void);

/* False: another thread holds it. */
bool ebt_alloc_try_hold(struct ebt_alloc_writer *w);
/* Waits up to a second; not at all if the calling thread itself holds it, or if its owner has ended
 * while it held it. */
bool ebt_alloc_hold(struct ebt_alloc_writer *w);
void ebt_alloc_unhold(struct ebt_alloc_writer *w);
/* Maps the memory of a held writer, or zeroes it, for its stream. False: there is none. */
bool ebt_alloc_writer_clear(struct ebt_alloc_writer *w);
static inline bool ebt_alloc_writer_is_mapped(const struct ebt_alloc_writer *w)
{
	return __atomic_load_n(&w->memory, __ATOMIC_ACQUIRE);
}
static inline uint16_t ebt_alloc_writer_domain(const struct ebt_alloc_writer *w)
{
	return (uint16_t)(w - ebt_alloc_writers);
}

#endif
