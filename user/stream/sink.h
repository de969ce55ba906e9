/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What consumes events, in time order: a format or a report. A sink keeps its first write error
 * inside and returns it from then on. Payloads and names are looked up in the session, and a
 * payload is valid only during events(). end() writes what closes the format and returns 0 or the
 * first error, once; free() may come without it.
 *
 * Events come in batches. The session's totals are those of the whole batch, except that losses are
 * never ahead: an EBT_LOST is the first of its batch.
 */
#ifndef STREAM_SINK_H
#define STREAM_SINK_H

#include "base/buf.h"
#include <ebtrace/event.h>
#include <stdbool.h>
#include <stddef.h>

struct sink;

/* Output that a format hands over at once: each hand-over may wake the thread that writes, which
 * costs as much as some hundred events. */
#define SINK_BUFFER_BYTES (256u << 10)
/* Output that may wait for a slow disk or reader, of one sink. */
#define SINK_BEHIND_BYTES (16u << 20)

struct sink_ops {
	int (*events)(struct sink *k, const struct ebt_event *ev, size_t n);
	/* No event before this moment will come any more (UINT64_MAX: none at all). NULL: does not
	 * matter. */
	int (*advance)(struct sink *k, uint64_t horizon_ns);
	/* The time by CLOCK_MONOTONIC, every few milliseconds also under full load. It changes
	 * nothing that is computed of events. NULL: does not matter. */
	int (*tick)(struct sink *k, uint64_t now_ns);
	/* The process has ended, its last event has passed, and its index will mean another one:
	 * what is kept of it is to be dropped. It is in the registry during the call. NULL: nothing
	 * is. */
	int (*forget)(struct sink *k, uint32_t process);
	/* Everything up to now must be visible to a reader of the output. NULL: nothing to do. */
	int (*flush)(struct sink *k);
	/* False: events() may have to wait for the output; do something else first. NULL:
	 * always. */
	bool (*ready)(struct sink *k);
	/* See sink_bytes(). NULL: the bytes of `out`. */
	uint64_t (*bytes)(struct sink *k);
	/* The run was refused before it began: end() is to write no totals. NULL: it writes
	 * them. */
	void (*cancel)(struct sink *k);
	int (*end)(struct sink *k);
	void (*free)(struct sink *k);
};

struct sink {
	const struct sink_ops *ops;
	const struct buf *out; /* NULL: it writes none of its own */
	size_t batch_max;      /* events of one call of events(), at most; 0: any number */
	/* Set by the sink: a live run is to emit the intervals that are open now (EBT_OFFCPU),
	 * which it clears. */
	bool wants_open;
};

static inline int sink_events(struct sink *k, const struct ebt_event *ev, size_t n)
{
	return k->ops->events(k, ev, n);
}
static inline int sink_advance(struct sink *k, uint64_t horizon_ns)
{
	return k->ops->advance ? k->ops->advance(k, horizon_ns) : 0;
}
static inline int sink_tick(struct sink *k, uint64_t now_ns)
{
	return k->ops->tick ? k->ops->tick(k, now_ns) : 0;
}
static inline int sink_forget(struct sink *k, uint32_t process)
{
	return k->ops->forget ? k->ops->forget(k, process) : 0;
}
static inline int sink_flush(struct sink *k)
{
	return k->ops->flush ? k->ops->flush(k) : 0;
}
static inline bool sink_ready(struct sink *k)
{
	return !k->ops->ready || k->ops->ready(k);
}
static inline void sink_cancel(struct sink *k)
{
	if (k->ops->cancel)
		k->ops->cancel(k);
}
static inline int sink_end(struct sink *k)
{
	return k->ops->end(k);
}
/* Bytes of its output so far, without those of an event or a block that is still open. */
static inline uint64_t sink_bytes(struct sink *k)
{
	if (k->ops->bytes)
		return k->ops->bytes(k);
	return k->out ? k->out->passed + k->out->len : 0;
}
/* Bytes that its output had not accepted when it was given up; 0: it was not. */
static inline uint64_t sink_given_up(const struct sink *k)
{
	return k->out ? buf_given_up(k->out) : 0;
}
static inline void sink_free(struct sink *k)
{
	if (k)
		k->ops->free(k);
}

#endif
