/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * struct ebt_event: the one type that every part of the project exchanges, by value.
 *
 * The traced program's probe library, the BPF programs and the tracer include this file, so it uses
 * fixed-width integers only and includes no system header when compiled for BPF. Values of enums
 * are explicit, and new ones are appended: captures on disk contain them.
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

/* The id of an event whose number is in no table: EBT_UNKNOWN_ID | the producer's number. */
#define EBT_UNKNOWN_ID 0x10000u

/* Kinds and their arguments are described in events.def. */
enum ebt_kind {
	EBT_KIND_NONE = 0,
#define EBT_KIND_DEF(value, KIND, ...) KIND = value,
#include <ebtrace/events.def>
};
/* All kinds are less than this. */
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

/* An argument of EBT_PAGE_ALLOC and EBT_PAGE_FREE. */
enum ebt_page_cause {
#define EBT_PAGE_CAUSE_DEF(value, CONSTANT, name, help) CONSTANT = value,
#include <ebtrace/events.def>
};

/* An argument of EBT_OFFCPU. */
enum ebt_offcpu_reason {
#define EBT_OFFCPU_REASON_DEF(value, CONSTANT, name, help) CONSTANT = value,
#include <ebtrace/events.def>
};

/* An argument of EBT_SAMPLE. */
enum ebt_sample_end {
#define EBT_SAMPLE_END_DEF(value, CONSTANT, name, help) CONSTANT = value,
#include <ebtrace/events.def>
};

/* struct ebt_event.flags */
enum ebt_event_flag {
	EBT_F_RING = 1 << 0, /* read from a ring */
	EBT_F_BPF = 1 << 1,  /* seen by a BPF program */
	EBT_F_SEQ = 1 << 2,  /* seq is valid */
	EBT_F_LATE = 1 << 3, /* arrived after later events were emitted; ts is raised to theirs */
	EBT_F_HISTORY = 1 << 4,	 /* LOST: overwritten before the tracer attached */
	EBT_F_PAYLOAD = 1 << 5,	 /* arg[0] is a blob of the session, arg[1] its length in bytes */
	EBT_F_CUT = 1 << 6,	 /* only the beginning of the payload was kept */
	EBT_F_FINAL = 1 << 7,	 /* read from a capture, so merged and joined already */
	EBT_F_FIRST = 1 << 8,	 /* the first of its ring file; between source and join only */
	EBT_F_NO_SINCE = 1 << 9, /* LOST: EBT_LOST_SINCE is not known, and 0 */
};

#define EBT_ALLOC_BUCKETS  20
#define EBT_LOST_UNCOUNTED UINT64_MAX

struct ebt_event {
	uint64_t ts;  /* ns, CLOCK_MONOTONIC unless the session says otherwise */
	uint64_t pos; /* word index of the record in its ring; EBT_NO_POS: in no ring */
	union {
		uint32_t pid;	  /* 0: not known; in events of libebtrace */
		uint32_t process; /* inside the tracer: index of the process in its registry */
	};
	uint32_t tid;	 /* 0: not known (the event was read from a ring alone) */
	uint16_t kind;	 /* enum ebt_kind */
	uint16_t domain; /* index of its ring; EBT_NO_DOMAIN: none */
	uint16_t cpu;	 /* EBT_NO_CPU: not known */
	uint16_t flags;	 /* enum ebt_event_flag */
	uint32_t id;	 /* its meaning depends on the kind: events.def */
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
/* When an event of the families memory, pages and sched happened: `size` is by how many µs ts was
 * raised. */
#define EBT_OWN_TS(ev) ((ev)->ts - (ev)->size * 1000ull)
/* A loss from a damaged capture: the process and domain of the missing events are not known. */
#define EBT_LOST_ANYWHERE(ev) \
	((ev)->domain == EBT_NO_DOMAIN && !((ev)->flags & (EBT_F_RING | EBT_F_BPF)))

#endif
