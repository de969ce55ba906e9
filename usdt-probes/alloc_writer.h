/* SPDX-License-Identifier: BSD-2-Clause */
/* A writer of an allocation trace. What it writes with is mapped at its first use. */
#ifndef EBT_ALLOC_WRITER_H
#define EBT_ALLOC_WRITER_H

#include <stdbool.h>

#include <ebtrace/memtrace.h>

#include "clock.h"
#include "shared/trace_stream.h"
#include "writers.h"

#define EBT_ALLOC_DOMAINS 128
#define EBT_ALLOC_FRAMES  1024 /* of a backtrace */

struct ebt_alloc_writer {
	struct ebt_writer base;
	bool dirty; /* events wait to be flushed */
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
