/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registry of traced processes. An entry is an incarnation of a pid: the process that has the
 * pid from its start to its end. A later process with the same pid is another entry.
 *
 * Inside the tracer an event names its process by the index of the entry, never by the pid. Index
 * 0 means "process not known": its entry always exists and has pid 0. The first source that learns
 * of a process (from a record of fork or exec, /proc, a ring file, a capture) enters it with
 * processes_begin() or processes_of(); later calls return the same index. The start time, where it
 * is known, distinguishes two incarnations if the end of the first was not noticed.
 *
 * An entry becomes visible in outputs when a source announces it, before its first event or with
 * its first ring file; outputs list announced processes in that order.
 *
 * An entry lives as long as its process lives or it has references. A source that may still
 * return events of the process holds one with processes_ref(): it has the ring open, or traces the
 * process. An entry without references is gone when its process has ended: the pump takes it out of
 * the queue of gone processes, calls forget() of all stages and sinks once its last event has
 * passed, and releases it. Its index and its lanes are reused. Only the process that was announced
 * first stays: outputs have its pid and name at their head.
 *
 * A lane is one ordered stream of events of a process: those of a domain, those of a thread outside
 * of any domain, or those outside of any domain without a known thread. Lanes have dense ids, so
 * that a stage or sink keeps its state of each in an array (base/ptrarray.h); on forget() it drops
 * the state of the process's lanes, which processes_first_lane() and processes_next_lane() list.
 *
 * The registry does no I/O and knows no source: callers enter all that it holds. Not thread-safe.
 */
#ifndef SESSION_PROCESSES_H
#define SESSION_PROCESSES_H

#include "base/map.h"
#include "session/alloc_trace.h"
#include "session/mappings.h"
#include "session/strings.h"
#include "session/timebase.h"
#include "session/traits.h"

#include <ebtrace/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct process_lane {
	uint32_t process; /* index in the registry */
	uint32_t tid;	  /* of a thread outside of any domain; else 0 */
	uint32_t next;	  /* lane of the same process, added before it; 0: none */
	uint16_t domain;  /* EBT_NO_DOMAIN: the thread, or the process outside of its domains */
};
struct process_lanes {
	struct process_lane *at; /* by id */
	uint32_t count, cap;	 /* ids up to count have been assigned */
	uint32_t spare;		 /* list of the released */
};

#define PROCESS_TICK_NS 10000000u /* resolution of the kernel's times of starts and of files */
#define PROCESS_UNKNOWN 0	  /* index of the entry for "process not known" */

/* When a process began: CLOCK_BOOTTIME, ns, in the kernel's ticks (as /proc/PID/stat has it). */
struct process_start {
	uint64_t boot_ns;
	bool known;
};

/* What the kernel reports that a process used, when it ended or at the end of the run. */
struct process_usage {
	uint64_t user_ns, system_ns; /* CPU time within the run */
	uint64_t peak_rss_bytes;     /* since the process began, without its ring */
	bool known;		     /* the CPU times are */
	bool has_peak_rss;
	uint64_t ring_bytes; /* that its largest ring takes of its memory */
};

struct process {
	uint32_t index;
	uint32_t pid; /* 0: not known */
	struct process_start start;
	uint64_t lived_boot_ns; /* a moment of its life, CLOCK_BOOTTIME; 0: not known */
	uint64_t ended_boot_ns; /* a moment behind its end, CLOCK_BOOTTIME; 0: not known */
	uint32_t number;	/* of all entries that there ever were; grows with age */
	bool plain;		/* no other process of the run is known to have had its pid */
	uint32_t older;		/* index of the incarnation before it; PROCESS_UNKNOWN: none */
	uint32_t newer;		/* of the incarnation after it; PROCESS_UNKNOWN: none; private */
	uint32_t parent_pid;	/* 0: not known */
	bool announced;
	bool ended; /* its pid may be another process's */
	/* Its program began when the run watched already: what is missing before its first event is
	 * lost, and not of the time before the trace. */
	bool begun_in_run;
	/* What the engine keeps of it while it runs and is traced; NULL: it is not. The
	 * engine's. */
	struct traced_process *traced;
	/* What source/bpf/bpf keeps of it while it traces it; NULL: it does not. The source's. */
	struct bpf_process *in_bpf;
	struct runtime_version in_program; /* of its runtime; zeroes: not known */

	/* Set by sources, shown by reports; empty: not known yet. */
	char producer[64]; /* "ebtrace-probes 1.0" */
	char runtime[64];
	char comm[32];
	struct traits traits; /* of its runtime */
	struct process_usage usage;
	struct moment end; /* when its end was noticed */
	/* [lone_from_ns, lone_until_ns): the process was single-threaded; empty: not known. */
	uint64_t lone_from_ns, lone_until_ns;
	/* By how much its CLOCK_MONOTONIC, which its ring has, is ahead of the tracer's. */
	int64_t clock_ahead_ns;
	bool clock_known;
	uint32_t page_bytes; /* of its page_alloc, page_free, page_scavenge; 0: not known */
	struct alloc_trace alloc_trace;
	struct mappings mappings; /* named ones, if its pages are traced */

	uint32_t refs;
	uint32_t *lane; /* by domain + 1, the first: of none; 0: not assigned */
	uint32_t lanes;
	struct map thread_lanes; /* tid → lane, of threads outside of any domain; private */
	uint32_t first_lane;	 /* private */
	struct map user_names;	 /* id → string; private */
	uint8_t *meanings;	 /* of user events, by id; NULL: none has one; private */
	bool queued;		 /* among those that are gone; private */
	struct process *prev_announced, *next_announced; /* private */
};

static inline void process_set_clock(struct process *p, int64_t ahead_ns)
{
	p->clock_ahead_ns = ahead_ns;
	p->clock_known = true;
}

/* What a process was, when no more is kept of it. */
struct process_kind {
	char producer[64];
	struct traits traits;
};

/* Fields are private but for the inline functions below. */
struct processes {
	struct process **entry; /* by index */
	uint32_t *pid;		/* by index, apart: sinks print the pid of each event */
	uint32_t count, cap;
	struct map by_pid; /* pid → index of the newest incarnation */
	struct process *first_announced, *last_announced;
	struct strings *strings; /* of the names of user events */
	uint32_t *spare;	 /* indices to be used again */
	uint32_t spares;
	uint32_t *gone; /* a queue: gone[gone_first ..) */
	uint32_t gone_first, gone_count, gone_cap;
	bool held;
	bool any_lone; /* of some process it is known when its main thread was its only one */
	struct process_lanes *lanes;
	uint32_t numbers, released;
	struct process_kind *kind; /* of processes that were released, each once */
	uint32_t kinds;
};

/* The strings, which must outlive the registry, hold the names of user events; NULL: none is ever
 * set. 0 or -ENOMEM. */
int processes_init(struct processes *ps, struct strings *strings);
void processes_done(struct processes *ps);

/* The entry of an index that this registry gave out; NULL: it was released. */
static inline struct process *processes_at(const struct processes *ps, uint32_t index)
{
	return ps->entry[index];
}
/* The pid of the process with this index; 0: not known. */
static inline uint32_t processes_pid(const struct processes *ps, uint32_t index)
{
	return ps->pid[index];
}

/*
 * Enters a process that lives, or has just been forked. It is the newest incarnation of its pid if
 * both starts are known and the same, or if its start is no later than a moment at which that
 * incarnation lived, or if neither can be known and that incarnation has not ended; else it is a
 * new one, and the incarnation before it has ended. start: NULL if not known. 0 or -ENOMEM; the
 * index of pid 0 is PROCESS_UNKNOWN.
 */
int processes_begin(struct processes *ps, uint32_t pid, const struct process_start *start,
		    uint32_t *ret_index);
/* The newest incarnation of a pid, living or ended; entered if there is none. 0 or -ENOMEM. */
int processes_of(struct processes *ps, uint32_t pid, uint32_t *ret_index);
/*
 * The incarnation of a pid that lived at a moment, CLOCK_BOOTTIME, or up to PROCESS_TICK_NS before
 * it, for callers that do not know its start: the newest that had not begun later, and not ended
 * before; entered if there is none. 0 or -ENOMEM.
 */
int processes_lived(struct processes *ps, uint32_t pid, uint64_t boot_ns, uint32_t *ret_index);
/* As processes_of(); PROCESS_UNKNOWN if there is none. */
uint32_t processes_find(const struct processes *ps, uint32_t pid);
/* The process has ended: from here on its pid may come again. Idempotent. */
void processes_end(struct processes *ps, uint32_t index);
/* As processes_end(); boot_ns: a moment, CLOCK_BOOTTIME, at which the process had ended. */
void processes_ended(struct processes *ps, uint32_t index, uint64_t boot_ns);
/* As processes_end(), unless the process is referred to: the holder will report its end. */
void processes_end_unused(struct processes *ps, uint32_t index);

/* Refers to a process, for as long as it may have events. Each takes a processes_unref(). */
void processes_ref(const struct processes *ps, uint32_t index);
void processes_unref(struct processes *ps, uint32_t index);
/* Processes in the queue of those that are gone; 0 while they are held. */
static inline uint32_t processes_gone(const struct processes *ps)
{
	return ps->held ? 0 : ps->gone_count;
}
/* held: true: no process is released until it is false again: a process that has ended may have
 * left a ring that could not be opened yet. */
static inline void processes_hold(struct processes *ps, bool held)
{
	ps->held = held;
}
/* Takes the first process out of the queue of those that are gone, which must not be empty.
 * PROCESS_UNKNOWN: it is referred to again, or was announced first. */
uint32_t processes_take_gone(struct processes *ps);
/* Frees the entry; its index and its lanes are reused. The caller has removed all uses of them. */
void processes_release(struct processes *ps, uint32_t index);

/*
 * The dense id of a lane, from 1, assigned at the first call: of a domain, or of the process
 * outside of its domains (EBT_NO_DOMAIN). 0: no memory.
 */
uint32_t processes_add_lane(const struct processes *ps, uint32_t index, uint16_t domain);
/* The id of that lane; 0: not assigned yet. */
static inline uint32_t process_known_lane(const struct process *p, uint16_t domain)
{
	uint16_t at = (uint16_t)(domain + 1);
	return at < p->lanes ? p->lane[at] : 0;
}
static inline uint32_t processes_known_lane(const struct processes *ps, uint32_t index,
					    uint16_t domain)
{
	return process_known_lane(ps->entry[index], domain);
}
static inline uint32_t processes_lane(const struct processes *ps, uint32_t index, uint16_t domain)
{
	uint32_t lane = processes_known_lane(ps, index, domain);
	return lane ? lane : processes_add_lane(ps, index, domain);
}
/* The id of the lane of a thread outside of any domain, assigned at the first call; tid 0:
 * processes_lane() of EBT_NO_DOMAIN. 0: no memory. */
uint32_t processes_thread_lane(const struct processes *ps, uint32_t index, uint32_t tid);
/* The lane of an event: its domain's, or its thread's where it has no domain. 0: no memory. */
static inline uint32_t processes_lane_of(const struct processes *ps, const struct ebt_event *ev)
{
	return ev->domain == EBT_NO_DOMAIN ? processes_thread_lane(ps, ev->process, ev->tid)
					   : processes_lane(ps, ev->process, ev->domain);
}
/* What an assigned lane is. Valid until the next lane is assigned. */
static inline const struct process_lane *processes_lane_at(const struct processes *ps,
							   uint32_t lane)
{
	return &ps->lanes->at[lane];
}
/* The lanes of a process, the newest first; 0: no more. */
static inline uint32_t processes_first_lane(const struct processes *ps, uint32_t index)
{
	return ps->entry[index]->first_lane;
}
static inline uint32_t processes_next_lane(const struct processes *ps, uint32_t lane)
{
	return ps->lanes->at[lane].next;
}

/* The peak of memory as the kernel has it: it contains the pages of the ring, which without us
 * would not be there. */
static inline void process_set_peak_rss(struct process *p, uint64_t bytes)
{
	uint64_t ring = p->usage.ring_bytes;
	p->usage.peak_rss_bytes = bytes > ring ? bytes - ring : 0;
	p->usage.has_peak_rss = true;
}

/* Makes the process visible in outputs. Returns its entry. */
struct process *processes_announce(struct processes *ps, uint32_t index);
/* The entry of an announced process, or NULL. */
static inline struct process *processes_announced(const struct processes *ps, uint32_t index)
{
	struct process *p = ps->entry[index];
	return p && p->announced ? p : NULL;
}
/* The process announced after p (NULL: the first); NULL at the end. */
const struct process *processes_next(const struct processes *ps, const struct process *p);

/* The kind of a process that was announced, released ones too, from *at (first 0) on; false: no
 * more. One kind may come more than once. */
bool processes_next_kind(const struct processes *ps, size_t *at, struct process_kind *ret);

/* Sets the name of a user event of the process; the name is interned. 0 or -ENOMEM. */
int processes_set_user_name(struct processes *ps, uint32_t index, uint32_t id, const char *name);
/* The name as an interned string, held by the registry until it changes; 0: not known. */
uint32_t processes_user_string(const struct processes *ps, uint32_t index, uint32_t id);
/* The name as text, or NULL. */
const char *processes_user_name(const struct processes *ps, uint32_t index, uint32_t id);
/* The number of user events of a ring: their ids are less. */
#define PROCESS_USER_IDS 8192
/* Which event of a known library has that name: an enum eio_event; 0: none. Of ids of a ring. */
static inline uint32_t processes_user_meaning(const struct processes *ps, uint32_t index,
					      uint32_t id)
{
	const uint8_t *meanings = ps->entry[index]->meanings;
	return meanings && id < PROCESS_USER_IDS ? meanings[id] : 0;
}
/* The number that the process itself uses for a canonical phase id. */
uint32_t processes_raw_phase(const struct processes *ps, uint32_t index, uint32_t id);

/* From from_ns on the main thread of the process is its only one. */
void processes_lone(struct processes *ps, uint32_t index, uint64_t from_ns);
/* From from_ns on this is not so, or not known. An earlier end of that interval stays. */
void processes_not_lone(struct processes *ps, uint32_t index, uint64_t from_ns);
/* processes_not_lone() of all processes. */
void processes_none_lone(struct processes *ps, uint64_t from_ns);
/* The only thread that the process has at a moment; 0: not known. */
static inline uint32_t processes_lone_thread(const struct processes *ps, uint32_t index,
					     uint64_t ts)
{
	const struct process *p = ps->entry[index];
	return p && ts >= p->lone_from_ns && ts < p->lone_until_ns ? p->pid : 0;
}

#endif
