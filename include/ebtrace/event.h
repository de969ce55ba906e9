/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one type that crosses every border of the project: a struct ebt_event, by value.
 *
 * It is included by the traced program's probe library, by the BPF programs and by the tracer, so
 * it uses fixed-width integers only and includes no system header when compiled for BPF. Values of
 * enums are explicit and only ever appended to: captures on disk hold them.
 */
#ifndef EBTRACE_EVENT_H
#define EBTRACE_EVENT_H

#ifndef __bpf__
#include <stdint.h>
#endif

/* "Not known" in the fields of struct ebt_event. */
#define EBT_NO_POS    UINT64_MAX
#define EBT_NO_CPU    UINT16_MAX
#define EBT_NO_DOMAIN UINT16_MAX

/* An id that no table knows: EBT_UNKNOWN_ID | the producer's number. */
#define EBT_UNKNOWN_ID 0x10000u

/* Kinds and their arguments are described in events.def. */
enum ebt_kind {
	EBT_KIND_NONE = 0,
#define EBT_KIND_DEF(value, KIND, ...) KIND = value,
#include <ebtrace/events.def>
};
/* Every kind is below. */
#define EBT_KINDS 64

/* The id of EBT_PROCESS. */
enum ebt_process_change {
#define EBT_PROCESS_CHANGE_DEF(value, CONSTANT, name) CONSTANT = value,
#include <ebtrace/events.def>
};

/* An argument of EBT_ALLOC. */
enum ebt_alloc_source {
#define EBT_ALLOC_SOURCE_DEF(value, CONSTANT, name) CONSTANT = value,
#include <ebtrace/events.def>
};

/* struct ebt_event.flags */
enum ebt_event_flag {
	EBT_F_RING = 1 << 0,	/* read from a ring */
	EBT_F_BPF = 1 << 1,	/* seen by a BPF program */
	EBT_F_SEQ = 1 << 2,	/* seq is valid */
	EBT_F_LATE = 1 << 3,	/* came after its time had been passed on; ts is moved up to then */
	EBT_F_HISTORY = 1 << 4, /* LOST: overwritten before the tracer attached */
	EBT_F_PAYLOAD = 1 << 5, /* arg[0] is a blob of the session, arg[1] its length in bytes */
	EBT_F_CUT = 1 << 6,	/* the payload was longer than what was kept */
	EBT_F_FINAL = 1 << 7,	/* merged and joined before: read from a capture */
	EBT_F_FIRST = 1 << 8,	/* of its ring file; between source and join only */
	EBT_F_NO_SINCE = 1 << 9, /* LOST: EBT_LOST_SINCE is not known, and 0 */
};

#define EBT_ALLOC_BUCKETS  20
#define EBT_LOST_UNCOUNTED UINT64_MAX

struct ebt_event {
	uint64_t ts;  /* ns, CLOCK_MONOTONIC unless the session says otherwise */
	uint64_t pos; /* word index of the record in its ring; EBT_NO_POS if it was in none */
	union {
		uint32_t pid;	  /* 0: not known; what libebtrace delivers */
		uint32_t process; /* inside the tracer: index of the process in its registry */
	};
	uint32_t tid;	 /* 0: not known (an event that was read from a ring alone) */
	uint16_t kind;	 /* enum ebt_kind */
	uint16_t domain; /* index of its ring; EBT_NO_DOMAIN: none */
	uint16_t cpu;	 /* EBT_NO_CPU: not known */
	uint16_t flags;	 /* enum ebt_event_flag */
	uint32_t id;	 /* as events.def says of each kind */
	uint32_t stack;	 /* id in the session's stack table; 0: none */
	uint32_t seq;	 /* ordinal of the event in its ring, modulo 2^32; with EBT_F_SEQ */
	uint32_t size;	 /* words of its record in the ring, 0: not known */
	union {
		uint64_t arg[2]; /* likewise */
		int64_t sarg[2];
	};
};

/* When the last event before the hole happened, ns: EBT_LOST uses pos for it, since a loss has no
 * position of its own. 0 with EBT_F_NO_SINCE: no event before the hole was seen. */
#define EBT_LOST_SINCE(ev) ((ev)->pos)
/* Missing from a damaged capture: whose they were, of which process and domain, is not known. */
#define EBT_LOST_ANYWHERE(ev) \
	((ev)->domain == EBT_NO_DOMAIN && !((ev)->flags & (EBT_F_RING | EBT_F_BPF)))

#endif
