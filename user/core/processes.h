/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registry of processes: who is traced. An entry is an incarnation of a pid: the process that
 * has the pid from its start to its end. A later process with the same pid is another entry.
 *
 * Inside the tracer an event names its process by the index of the entry, never by the pid. Index
 * 0 stands for "process not known": its entry is always there and has pid 0. Whoever learns of a
 * process first (a record of fork or exec, /proc, a ring file, a capture) enters it with
 * processes_begin() or processes_of(); whoever comes later gets the same index. The start time,
 * where it is known, tells two incarnations apart when the end of the first was not noticed.
 *
 * An entry becomes visible in outputs when a source announces it, before its first event or with
 * its first ring file; outputs list announced processes in that order.
 *
 * The registry does no I/O and knows no source: what it holds is what it was told. Not thread-safe.
 */
#ifndef CORE_PROCESSES_H
#define CORE_PROCESSES_H

#include "base/ptrmap.h"
#include "core/timebase.h"
#include "core/traits.h"

#include <ebtrace/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROCESS_UNKNOWN 0 /* the index that stands for no known process */

/* When a process began: CLOCK_BOOTTIME, ns, in the kernel's ticks (as /proc/PID/stat has it). */
struct process_start {
	uint64_t boot_ns;
	bool known;
};

/* What the kernel reports that a process used, when it ended or at the end of the run. */
struct process_usage {
	uint64_t user_ns, system_ns; /* CPU time within the run */
	uint64_t peak_rss_bytes;     /* since the process began */
	bool known;		     /* the CPU times are */
	bool has_peak_rss;
};

struct process {
	uint32_t index;
	uint32_t pid; /* 0: not known */
	struct process_start start;
	uint32_t ordinal;    /* among the incarnations of its pid, from 0 */
	uint32_t older;	     /* index of the incarnation before it; PROCESS_UNKNOWN: none */
	uint32_t parent_pid; /* 0: not known */
	bool announced;
	bool ended; /* its pid may be another process's */

	/* What sources and reports tell of it; empty: not known yet. */
	char producer[64]; /* "ocaml 5.3", "ebtrace-probes 1.0" */
	char runtime[64];
	char comm[32];
	struct traits traits; /* of its runtime */
	struct process_usage usage;
	struct moment end; /* when its end was noticed */

	PTRMAP(char) user_names;	/* by id; private */
	struct process *next_announced; /* private */
};

/* Fields are private but for the inline functions below. */
struct processes {
	struct process **entry; /* by index */
	uint32_t *pid;		/* likewise: what sinks print of each event */
	uint32_t count, cap;
	struct map by_pid; /* pid → index of the newest incarnation */
	struct process *first_announced, *last_announced;
	uint64_t renames; /* changes of names of user events */
};

int processes_init(struct processes *ps); /* 0 or -ENOMEM */
void processes_done(struct processes *ps);

/* The entry of an index that this registry gave out; valid until processes_done(). */
static inline struct process *processes_at(const struct processes *ps, uint32_t index)
{
	return ps->entry[index];
}
/* Its pid; 0: not known. */
static inline uint32_t processes_pid(const struct processes *ps, uint32_t index)
{
	return ps->pid[index];
}

/*
 * Enters a process that lives, or has just been forked. It is the newest incarnation of its pid if
 * both starts are known and the same, or if one is not known and that incarnation has not ended;
 * else it is a new one, and the incarnation before it has ended. start: NULL if not known. 0 or
 * -ENOMEM; the index of pid 0 is PROCESS_UNKNOWN.
 */
int processes_begin(struct processes *ps, uint32_t pid, const struct process_start *start,
		    uint32_t *ret_index);
/* The newest incarnation of a pid, living or ended; entered if there is none. 0 or -ENOMEM. */
int processes_of(struct processes *ps, uint32_t pid, uint32_t *ret_index);
/* The same; PROCESS_UNKNOWN if there is none. */
uint32_t processes_find(const struct processes *ps, uint32_t pid);
/* The process has ended: from here on its pid may come again. Idempotent. */
void processes_end(struct processes *ps, uint32_t index);

/* Makes the process visible in outputs. Returns its entry. */
struct process *processes_announce(struct processes *ps, uint32_t index);
/* The entry of an announced process, or NULL. */
static inline struct process *processes_announced(const struct processes *ps, uint32_t index)
{
	struct process *p = ps->entry[index];
	return p->announced ? p : NULL;
}
/* The process announced after p (NULL: the first); NULL at the end. */
const struct process *processes_next(const struct processes *ps, const struct process *p);

/* Sets the name of a user event of the process; the name is copied. 0 or -ENOMEM. */
int processes_set_user_name(struct processes *ps, uint32_t index, uint32_t id, const char *name);
const char *processes_user_name(const struct processes *ps, uint32_t index,
				uint32_t id); /* or NULL */
/* The number that the process itself uses for a canonical phase id. */
uint32_t processes_raw_phase(const struct processes *ps, uint32_t index, uint32_t id);

#endif
