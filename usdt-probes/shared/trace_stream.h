/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the recorders write of an allocation trace: the packet that begins it, and the events of one
 * domain, through the writer of <ebtrace/memtrace.h>. Where the packets go, when they are flushed
 * and who calls is up to the recorder; one thread at a time uses a stream. Allocates nothing.
 */
#ifndef EBT_TRACE_STREAM_H
#define EBT_TRACE_STREAM_H

#include <stddef.h>
#include <time.h>

#include <ebtrace/memtrace.h>

struct ebt_trace_stream {
	struct ebt_memtrace_writer *codec;
	int64_t *last; /* the last backtrace, outermost first */
	size_t last_frames;
};

uint64_t ebt_trace_clock_us(clockid_t clock);

/* Writes the trace's first packet, of this process: words have so many bits, and each is sampled
 * with a probability. 0 or -errno as ebt_memtrace_write_info(). Calls are serialised by the
 * caller. */
int ebt_trace_begin(struct ebt_memtrace_trace *t, unsigned word_bits, double rate,
		    const char *context);

/* The memory of a stream whose backtraces have at most so many frames; of 0, what has to be zeroed
 * for another ebt_trace_stream_init(). */
size_t ebt_trace_stream_bytes(size_t frames);
/* Makes a stream of zeroed memory. It needs no release. */
void ebt_trace_stream_init(struct ebt_trace_stream *s, void *memory, struct ebt_memtrace_trace *t,
			   uint16_t domain, uint64_t now_us);
/* Writes an event; an ALLOC has its whole backtrace in frame and frames. As
 * ebt_memtrace_write(). */
int ebt_trace_stream_write(struct ebt_trace_stream *s, struct ebt_memtrace_event *e);

#endif
