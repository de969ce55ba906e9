/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What happens to a process of a live run, as one type of event, whichever reporter is first: the
 * records of BPF programs, a list of /proc, a pidfd, a new ring file, the user. Reporters report
 * what they know, in any order and more than once; engine/live/traced.h makes one process of it and
 * passes it on to its subscribers.
 */
#ifndef SESSION_PROCESS_EVENT_H
#define SESSION_PROCESS_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "session/traits.h"

enum process_event_kind {
	PROCESS_BORN,	/* it runs; ts: it may have run unwatched since then; 0: not known */
	PROCESS_EXECED, /* it runs another program since ts */
	/* Reported: it may have mapped something. Published: what it had mapped at ts. */
	PROCESS_MAPPED,	      /* as reported, ts: code of a file, at that moment; 0: it may have */
	PROCESS_RING_STARTED, /* at ts */
	/* Its ring alone has what it does from ts on; 0: what it did before its probes were
	 * there. */
	PROCESS_RING_NEEDED,
	PROCESS_EXITED, /* the next scan notices its end */
	PROCESS_ENDED,	/* published when its record goes */
	PROCESS_EVENTS
};

struct traced_process;
struct maps_list;

/* What is not known is 0. */
struct process_event {
	enum process_event_kind kind;
	pid_t pid;
	uint64_t ts;  /* CLOCK_MONOTONIC, ns */
	bool by_bpf;  /* BPF programs report it: they see the process already, or to its end */
	bool named;   /* PROCESS_BORN: by the user */
	bool is_old;  /* PROCESS_BORN: it was there before the run */
	bool covered; /* PROCESS_BORN: all that its parent has mapped is probed in it already */
	struct runtime_version runtime; /* PROCESS_EXECED: in its program */
	bool keeps_ring; /* PROCESS_EXECED: a ring that it makes by itself stays when it ends */
	pid_t parent;	 /* PROCESS_BORN */
	/* Its name, 15 bytes at most: of PROCESS_EXECED that of the new program, of PROCESS_BORN,
	 * where the registry has its start, that which it has of its parent. NULL: not known. */
	const char *comm;
	/* Of published events: */
	struct traced_process *process; /* NULL: it is not traced, or there is no record of it */
	const struct maps_list *maps;	/* PROCESS_MAPPED; NULL: as they were at the last time */
};

#endif
