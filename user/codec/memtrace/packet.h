/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One packet of a memtrace trace: its events, decoded from memory that the caller owns. Pure: no
 * I/O, no globals. What one packet leaves to the next of its domain is in a stream.
 *
 * MEMTRACE_PAD bytes behind a packet must be readable; what they hold has no effect.
 */
#ifndef CODEC_MEMTRACE_PACKET_H
#define CODEC_MEMTRACE_PACKET_H

#include "codec/memtrace/head.h"
#include "codec/memtrace/locations.h"

#define MEMTRACE_PAD 64

/* A bucket more than the format has: it follows each bucket with an unknown next one. */
#define MEMTRACE_LOST_BUCKET MEMTRACE_BUCKETS

struct memtrace_bucket {
	int64_t code;
	uint64_t next; /* epoch << 32 | the bucket that followed this one last */
};

/* The bucket that follows one; MEMTRACE_LOST_BUCKET if it was set in another epoch. */
static inline uint32_t memtrace_next_bucket(const struct memtrace_bucket *b, uint32_t epoch)
{
	return b->next >> 32 == epoch ? (uint32_t)b->next : MEMTRACE_LOST_BUCKET;
}

#define MEMTRACE_NO_DEPTH UINT32_MAX

/* A domain's packets. */
struct memtrace_stream {
	uint64_t last_us;
	uint32_t depth; /* of the last backtrace; MEMTRACE_NO_DEPTH: unknown because of damage */
	struct memtrace_bucket *buckets; /* MEMTRACE_BUCKETS + 1; NULL before the first backtrace */
	uint32_t epoch;
	struct memtrace_files files;
};

/* The codes of a batch's backtraces. The memory moves only while `used` is 0. */
struct memtrace_frames {
	int64_t *codes;
	size_t used, cap;
};

struct memtrace_packet {
	struct memtrace_head head;
	const uint8_t *at, *end; /* the events that are not decoded yet */
	uint64_t next_id;
	struct memtrace_stream *stream;
	struct memtrace_locations *locations;
	struct memtrace_frames *frames;
	bool skip_backtraces;
	bool only_locations;  /* no events are returned */
	bool is_whole;	      /* but for the times of its events: the clock stepped back */
	uint64_t clock_us;    /* private: up to there it had not; 0: not known yet */
	uint64_t raised;      /* events with a time raised to that of the event before */
	const char *expected; /* of the error of memtrace_packet_events() */
};

void memtrace_stream_done(struct memtrace_stream *s);
/* A part of its events was not read. */
void memtrace_stream_forget(struct memtrace_stream *s);

/*
 * Decodes up to cap events. Returns their number; 0 at the packet's end, or before it if the frames
 * of earlier events leave no room; -EBADMSG with `expected` at packet->at; -ENOMEM. Events before
 * an error were returned.
 */
ssize_t memtrace_packet_events(struct memtrace_packet *packet, struct ebt_memtrace_event *ev,
			       size_t cap);

#endif
