/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The packets of a Perfetto trace: one sequence of them, in which a name is written once and then
 * referred to by number. The output holds whole packets at every moment, so wherever it is flushed,
 * the bytes written are a trace. It knows nothing of processes and domains: the caller defines what
 * a track is.
 *
 * Numbers of names only grow. When there are too many names to keep, all are dropped and written
 * anew, with new numbers: a kept number is checked by packets_know() before it is used again.
 */
#ifndef FORMAT_PERFETTO_PACKET_H
#define FORMAT_PERFETTO_PACKET_H

#include "base/buf.h"
#include "base/ptrmap.h"
#include "session/session.h"

#define PACKETS_NAMES 16384 /* kept at a time */

/* TrackEvent.Type */
enum packet_type {
	PACKET_SLICE_BEGIN = 1,
	PACKET_SLICE_END = 2,
	PACKET_INSTANT = 3,
	PACKET_COUNTER = 4,
};

/* CounterDescriptor.Unit, and some that it has no number for */
enum packet_unit {
	PACKET_NO_COUNTER = -1,
	PACKET_NO_UNIT = 0,
	PACKET_BYTES = 3,
	PACKET_WORDS = 100,
	PACKET_PAGES = 101,
};

/* What an event can be annotated with: names and numbers in one list. */
#define PACKET_NOTES(X)                   \
	X(VALUE, value)                   \
	X(VALUES, values)                 \
	X(DATA, data)                     \
	X(TEXT, text)                     \
	X(TRUNCATED, truncated)           \
	X(LATE, late)                     \
	X(TID, tid)                       \
	X(CPU, cpu)                       \
	X(CUT, cut)                       \
	X(EVENTS, events)                 \
	X(WORDS, words)                   \
	X(HISTORY, history)               \
	X(OFFSET, offset)                 \
	X(DOMAIN, domain)                 \
	X(CHILD, child)                   \
	X(LOST_EVENTS, lost_events)       \
	X(LOST_WORDS, lost_words)         \
	X(HISTORY_EVENTS, history_events) \
	X(HISTORY_WORDS, history_words)   \
	X(DAMAGED, damaged)               \
	X(STACK, stack)

enum packet_note {
	PACKET_NOTE_NONE,
#define X(note, name) PACKET_NOTE_##note,
	PACKET_NOTES(X)
#undef X
		PACKET_NOTES_END, /* and above: assigned by packets_intern_note() */
};

/* The uuid of a track, and what packets of its events without notes have between the time and the
 * name: they are copied whole. */
struct packet_uuid {
	uint64_t value;
	uint8_t len;
	char common[23];
};

void packet_uuid_set(struct packet_uuid *ret, uint64_t value);

struct packet_track {
	uint64_t uuid, parent;	  /* parent 0: none */
	const char *name;	  /* NULL: none but its process' */
	uint32_t pid;		  /* not 0: the track of this process */
	const char *process;	  /* its name, or NULL */
	enum packet_unit counter; /* PACKET_NO_COUNTER: slices and instants */
	int32_t rank;		  /* among the tracks of its parent */
	bool separate;		  /* never one with another of its name; its own name may change */
};

/* Profiling.StackUnwindError */
enum packet_unwind {
	PACKET_UNWIND_UNKNOWN = 0,
	PACKET_UNWIND_WHOLE = 1,
	PACKET_UNWIND_MEMORY = 2,
	PACKET_UNWIND_INFO = 3,
};

struct packet_sample {
	uint32_t pid, tid, cpu;
	bool has_cpu, in_kernel;
	uint32_t stack;
	enum packet_unwind unwind;
};

struct packets {
	struct buf out; /* whole packets */
	struct buf one; /* the packet in the making, in memory */
	size_t packet, event;
	PTRMAP(struct name) names; /* by the hash of the text */
	size_t name_count;
	uint32_t first_iid, next_iid;
};

/* Writes to fd, which stays the caller's. 0 or -ENOMEM. */
int packets_init(struct packets *p, int fd);
void packets_done(struct packets *p);
/* The first packet. `ts`: a moment to name the clock with if the session knows none. */
void packets_put_header(struct packets *p, const struct session *s, uint64_t ts);
/* The number of a name, which is written if it is new. Never 0; without memory out.err is set. */
uint32_t packets_intern(struct packets *p, const char *name);
/* The number of a note of any name: one of PACKET_NOTES, or a new one, which is written. Never 0.
 * Not between packets_begin() and packets_end(). */
uint32_t packets_intern_note(struct packets *p, const char *name);
void packets_put_track(struct packets *p, const struct packet_track *t);

/* Whether a number was assigned since the names were last dropped, so that it still has a
 * meaning. */
static inline bool packets_know(const struct packets *p, uint32_t iid)
{
	return iid >= p->first_iid;
}

/* packets_know() for a number that packets_intern_note() returned; 0 is no number. */
static inline bool packets_know_note(const struct packets *p, uint32_t note)
{
	return note && (note < PACKET_NOTES_END || packets_know(p, note - PACKET_NOTES_END));
}

/* Opens a packet with an InternedData, which the caller fills in p->one, and closes it. */
void packets_begin_interned(struct packets *p);
void packets_end_interned(struct packets *p);

/* An event without notes; `value` is the name's number, or the value of a counter. */
void packets_put_event(struct packets *p, enum packet_type type, uint64_t ts,
		       const struct packet_uuid *track, uint64_t value);
/* Opens the same event for notes; packets_end() closes it. */
void packets_begin(struct packets *p, enum packet_type type, uint64_t ts,
		   const struct packet_uuid *track, uint64_t value);
/* `note` is an enum packet_note, or a number of packets_intern_note(). */
void packets_note_u64(struct packets *p, uint32_t note, uint64_t v);
/* By its name, which need not be one of PACKET_NOTES. Slow: for what is written once. */
void packets_note_named(struct packets *p, const char *name, uint64_t v);
void packets_note_i64(struct packets *p, uint32_t note, int64_t v);
/* An address, shown in hexadecimal digits. */
void packets_note_address(struct packets *p, uint32_t note, uint64_t v);
void packets_note_true(struct packets *p, uint32_t note);
void packets_note_text(struct packets *p, uint32_t note, const char *text);
/* A stack by its number, of a Callstack and of the text of a note. */
void packets_note_stack(struct packets *p, uint32_t iid);
/* PerfSample; the stack is a number of a Callstack, 0: there is none. */
void packets_put_sample(struct packets *p, uint64_t ts, const struct packet_sample *s);
/* An arrow with a number, unique in the trace, begins at the event, or ends there. */
void packets_flow_begin(struct packets *p, uint64_t flow);
void packets_flow_end(struct packets *p, uint64_t flow);
/* As text if it is text, and as hexadecimal digits. */
void packets_note_bytes(struct packets *p, const void *data, size_t len);
/* An array of words of the machine. */
void packets_note_words(struct packets *p, uint32_t note, const void *words, size_t bytes);
void packets_end(struct packets *p);

#endif
