/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The session owns what events refer to: processes, with the names of their user events, strings,
 * stacks, and payloads. It is made first, shared by sources and sinks, and freed last. Not
 * thread-safe.
 *
 * A source adds a payload (blob), or a reference to a stack, and the pump drops it once every sink
 * has received the event, so memory depends on the events in flight, not on the length of the run.
 * A sink that keeps the id of a stack or string longer holds it.
 */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include "base/messages.h"
#include "session/budget_state.h"
#include "session/origin.h"
#include "session/processes.h"
#include "session/stacks.h"
#include "session/tally.h"
#include "session/timebase.h"
#include "session/totals.h"
#include <ebtrace/event.h>
#include <stdbool.h>
#include <stddef.h>

struct session;

/* Default of max_stack. */
#define SESSION_MAX_STACK 1024

struct session {
	/* Messages of the run for the user. Set by the caller; zeroes: they are dropped. */
	struct messages messages;
	unsigned origins;	  /* enum origin */
	struct timebase timebase; /* of the times in the output */
	struct moment start;	  /* when the recording that is read began */
	/* When a live run (with --rotate, the output that is written now) began and ended, the end
	 * known before the sinks end. Not known: not a live run. */
	struct moment run_begin, run_end;
	/* Of a live run: which threads had no CPU at this moment has been emitted as open intervals
	 * (EBT_OFFCPU), none of which is later than `emitted`. */
	struct moment open_at, open_emitted;
	uint32_t tracer_tid;  /* of a live run: our own thread */
	struct totals totals; /* of the output that is written now, as sinks need them */
	struct totals past;   /* of those that are whole (--rotate) */
	struct processes processes;
	struct strings *strings;
	struct frames *frames;
	struct stacks *stacks;
	uint32_t max_stack;   /* functions of a stack that formats show beside an event; 0: all */
	uint64_t left_words;  /* of rings, not read for the budget; among the lost ones */
	uint64_t deep_frames; /* in deep backtraces that were read (memtrace_stacks.h) */
	struct budget_state budget;
	struct tally_reader tallies;   /* of numbers that were counted in place of events */
	struct session_tables *tables; /* private */
};

int session_new(struct session **ret);
void session_free(struct session *s);

/* Of the whole run. */
struct totals session_run_totals(const struct session *s);
/* The output that was written is whole, another begins. */
void session_next_output(struct session *s);

/* Copies `bytes` bytes; on success sets ev->arg to the blob and EBT_F_PAYLOAD. 0 or -ENOMEM. */
int session_put_blob(struct session *s, struct ebt_event *ev, const void *data, size_t bytes);
/* As session_put_blob() for those of n > 0 events that have EBT_F_PAYLOAD, which are `count`, and
 * among them the first and the last: their payloads lie in `data`, each at its arg[0], one behind
 * the other, and are copied at once. */
int session_put_blobs(struct session *s, struct ebt_event *ev, size_t n, uint32_t count,
		      const void *data);
/* The payload of an event, its length in *ret_bytes; NULL if it has none. */
const void *session_blob(const struct session *s, const struct ebt_event *ev, size_t *ret_bytes);
/* Memory under all payloads that have not been given back. */
size_t session_blob_bytes(const struct session *s);
/* The event, which has no stack, refers to this one until it is dropped. */
void session_put_stack(struct session *s, struct ebt_event *ev, uint32_t stack);
/* Whether there is any event that has a payload or a stack. */
bool session_has_owned(const struct session *s);
/* Gives back the event's payload and its stack, if it has them, and clears both. */
void session_drop_event(struct session *s, struct ebt_event *ev);
void session_drop_events(struct session *s, struct ebt_event *ev, size_t n);
/* Frees what is not referred to any more, when that pays; called between batches. */
static inline void session_reclaim(struct session *s)
{
	stacks_reclaim(s->stacks);
}

#endif
