/* SPDX-License-Identifier: BSD-2-Clause */
/* An address space, and how its events are made: what spaces.c and check.c share. */
#ifndef SOURCE_PAGES_SPACE_H
#define SOURCE_PAGES_SPACE_H

#include "bpf/abi.h"
#include "session/kinds.h"
#include "session/mappings.h"
#include "source/pages/set.h"

#include <ebtrace/event.h>
#include <stdbool.h>
#include <sys/types.h>

struct memory_reader;

/* A process, embedded in what its source keeps of it. All zero: uses no space. */
struct page_user {
	struct page_space *space;
	struct page_user *next; /* of the same space */
	pid_t pid;
	uint32_t process; /* its index in the registry */
	int dir;	  /* of /proc/PID; < 0: none */
};

struct page_counts {
	uint64_t appeared[KINDS_PAGE_CAUSES]; /* pages allocated without a fault, by cause */
	uint64_t gone[KINDS_PAGE_CAUSES];     /* pages freed without a system call, by cause */
	uint64_t known_faults;		      /* faults of pages that were mapped */
	uint64_t checks, check_ns;	      /* page tables read, and the CPU time of that */
};

/* Where the events of spaces go. */
struct page_output {
	uint32_t page_bytes;
	uint16_t flags;		      /* enum ebt_event_flag of all events */
	bool plain;		      /* see pagemap_read() */
	struct memory_reader *memory; /* outlives it; NULL: reads without a worker */
	/* No event is later, as of the end of a process while probes are removed; 0: no limit. */
	uint64_t until_ns;
	/* Queues an event. 0 or -errno. */
	int (*emit)(void *ctx, const struct ebt_event *ev);
	/* Receives all records that exist now. *dropped: the number of records dropped before, as
	 * `dropped` of records counts them. -EAGAIN: not all were received. It may call
	 * page_user_*(). NULL: there are no records. */
	int (*drain)(void *ctx, uint32_t *dropped);
	/* The named mappings of a process, to be kept: see session/mappings.h. NULL: none are
	 * kept. */
	struct mappings *(*mappings)(void *ctx, uint32_t process);
	void *ctx;
	struct page_counts counts;
};

struct page_run {
	uint64_t first, pages;
};

/* Runs that are kept, as sets must not change while they are read. */
struct page_runs {
	struct page_run *run;
	size_t runs, room;
};

struct page_call {
	uint32_t tid;
	uint32_t dropped; /* see struct ebt_page_record */
	struct page_run run;
};

struct page_space {
	struct page_space *next;
	struct page_user *users;
	uint64_t mm;		   /* 0: no record has named it yet */
	struct page_set mapped;	   /* pages with an ALLOC as their last event */
	struct page_set lazy;	   /* disjoint: given back by MADV_FREE, may be mapped */
	enum ebt_page_cause cause; /* of pages that the first check finds; then 0 */
	uint64_t last_ns;	   /* of its events */
	uint64_t read_ns;	   /* when its page tables were read last, or it began */
	uint64_t due_ns;	   /* of its next check */
	uint64_t period_ns;	   /* from then to the one after it */
	bool urgent;		   /* it is due now */
	bool passed;		   /* by this round of checks */
	struct page_call *call;	   /* system calls that may be removing pages now */
	uint32_t calls, calls_room;
	/* While it is checked: */
	bool held;	   /* it is not freed */
	uint64_t check_ns; /* since then what records have touched is kept */
	bool overrun;	   /* that was too much */
	struct page_run *touched;
	size_t touches, room;
};

/* What events are made of. */
struct page_event {
	struct page_output *out;
	struct page_space *space;
	uint16_t kind, cause;
	uint32_t process, tid;
	uint16_t cpu;
	uint64_t ts;
	uint32_t within_us; /* of what a reading of the page tables finds: as in events.def */
};

/* Its time, not before that of the last event of the space. */
void page_event_at(struct page_event *of, uint64_t ts);
/* A page_run_fn: emits an event of the run. */
int page_event_emit(void *ctx, uint64_t first, uint64_t pages);

int page_runs_add(void *ctx, uint64_t first, uint64_t pages); /* a page_run_fn */
void page_runs_done(struct page_runs *r);

/* A record has touched the range during a check. 0 or -ENOMEM. */
int page_space_touch(struct page_space *s, uint64_t first, uint64_t pages);
/* The record's thread has entered a system call that removes pages; a call that it was in has
 * returned. 0 or -ENOMEM. */
int page_space_enter(struct page_space *s, const struct ebt_page_record *rec, uint64_t first,
		     uint64_t pages);
/* The thread's system call has returned, at ts. 0 or -ENOMEM. */
int page_space_leave(struct page_space *s, uint32_t tid, uint64_t ts);
/* Touches what calls may be removing at the end of a check. The return of a call may be among the
 * records that were dropped since: such a call is forgotten. 0 or -ENOMEM. */
int page_space_touch_calls(struct page_space *s, uint32_t dropped);
#endif
