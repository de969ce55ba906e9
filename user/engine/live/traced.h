/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which processes are traced: those that the user named, their children, and those that are found
 * to belong to them. It notices when they end, reads what they have mapped, once for all that want
 * to know, and counts what they use of the machine. The record of a traced process belongs to its
 * entry in the registry, and to its life: when its end is noticed the record and its descriptor go.
 *
 *   records of BPF programs --\                                    /--> readers of rings
 *   the user, lists of /proc --> traced_report() -- one record --> +---> probes
 *   new ring files, pidfds ---/   scans: MAPPED, ENDED     a process \--> -a, the next scan
 *
 * Whoever learns of something first reports it (session/process_event.h); a report of what is known
 * changes nothing. Subscribers get BORN and ENDED once for each process.
 *
 * The mappings of a process are read when it is new or has called exec, at growing distances while
 * it loads its libraries, and whenever its address space has another size or that is asked for.
 */
#ifndef ENGINE_LIVE_TRACED_H
#define ENGINE_LIVE_TRACED_H

#include <stdbool.h>
#include <sys/types.h>

#include "engine/context.h"
#include "engine/live/traced_usage.h"
#include "engine/loop.h"
#include "session/process_event.h"
#include "session/session.h"

struct traced;

/* When the mappings of a process are read. */
struct traced_reads {
	uint64_t since_ns;  /* it is new, or has called exec */
	uint64_t rests_ns;  /* until then none is needed, unless it is asked for */
	uint64_t due_ns;    /* the next early read; UINT64_MAX: none */
	unsigned early;	    /* early reads so far */
	uint64_t last_ns;   /* 0: never since then */
	bool again;	    /* once it is due, whatever its size is */
	uint64_t barred_ns; /* since then a file of it cannot be opened yet; 0: each could be */
	/* it has a ring mapped that is not its own, as children have for a moment */
	bool has_others;
	uint64_t vm_bytes; /* its size then */
	uint64_t sized_ns; /* when that was read last */
	uint32_t threads;  /* 0: not known */
	bool listed;	   /* its children have been, since it is probed */
	bool asked;	   /* they have been, ever */
	int size_fd;	   /* of process_open_size(); < 0: none */
};

struct traced_process {
	pid_t pid;
	uint32_t process; /* its index in the registry */
	struct traced_usage usage;
	/* The reader's of its ring files: */
	struct known_ring *rings; /* that it has mapped, as long as it runs */
	bool has_ring, told_mixed, told_many, told_unexplained;
	uint64_t opened_ns; /* a ring of the program that it ran then was found; 0: none */
	bool needs_ring;    /* one that is there has what no other source has seen */
	uint64_t unread_ns; /* its ring has been left out since then; 0: it has not */
	int reported_error; /* of its ring, that has been reported */
	struct runtime_version runtime; /* zeroes: not known yet */
	/* None was found in what it has mapped; or in its parent, whose program it runs. */
	bool has_none, inherits_none;
	/* The prober's: */
	bool awaits; /* BPF programs report it: what it has mapped is to be attached to */
	bool probed; /* that has been done */
	/* private: */
	struct traced *traced;
	struct traced_reads reads;
	struct loop_fd watch; /* its pidfd */
	bool has_ended;	      /* it has reported that */
};

/* 0 or -errno. The loop is used until traced_free(). */
int traced_new(const struct engine *e, struct loop *l, struct traced **ret);
void traced_free(struct traced *t);

#define TRACED_SUBSCRIBERS 4
/* Calls fn for each event from now on, behind those that subscribed before. Its maps are
 * MAPS_TRACED. Not 0: the others do not get it, and it is the result of the report, or ends the
 * scan. */
void traced_subscribe(struct traced *t, int (*fn)(void *ctx, const struct process_event *e),
		      void *ctx);
/*
 * A process that is reported as born is traced from now on; one that is traced stays as it is. What
 * it has mapped is read at the next scan, also without a descriptor for it if BPF programs see it
 * already. 0, -errno, or the result of a subscriber; -ESRCH: it has ended.
 */
int traced_report(struct traced *t, const struct process_event *e);

/* NULL: it does not run, or is not traced. Valid until its end is noticed. */
struct traced_process *traced_find(const struct traced *t, pid_t pid);
/*
 * Sends a signal to the process that has an index of the registry, if it has this number there,
 * too: to that incarnation and no other, by its pidfd. 0 or -errno; -ESRCH: it has ended, or is not
 * traced any more.
 */
int traced_signal(const struct processes *ps, uint32_t process, uint32_t number, int signal);
/* True if it is read in a while, and has nothing until then that is not seen otherwise. */
bool traced_rests(const struct traced_process *p);
/* True if the process runs, as the kernel has it. */
bool traced_runs(const struct traced_process *p);

/* Each fork of a process that is probed is reported: such processes are asked for
 * their children once. */
void traced_forks_are_reported(struct traced *t);
/*
 * Reads what has changed of each process that runs, takes in its children if the options say so,
 * and notices which have ended. Processes that are added meanwhile are read, too. 0, or the first
 * other result of a subscriber, or -errno.
 */
int traced_scan(struct traced *t);
/* Takes in children of many processes that were born since the last call, as a scan does: it costs
 * little, however many there are. 0 or -errno, or the result of a subscriber. */
int traced_scan_births(struct traced *t);
/* Only what is due before the next scan: traced_due_ns() is the earliest time (UINT64_MAX:
 * nothing). */
int traced_scan_due(struct traced *t);
uint64_t traced_due_ns(const struct traced *t);
/* Reads the mappings of a process at once. 0, or the result of a subscriber. */
int traced_read(struct traced_process *p);
/* A file that the process has mapped cannot be opened yet: its mappings are read again in a while,
 * the longer that lasts the later. */
void traced_read_later(struct traced *t, pid_t pid);
/* True if children may have been left out of a scan, for want of descriptors. */
bool traced_is_starved(const struct traced *t);
/* Calls fn for each process that runs, as the last scan found them. */
void traced_each(struct traced *t, void (*fn)(struct traced_process *p, void *ctx), void *ctx);
unsigned traced_running(const struct traced *t);
unsigned traced_ended(const struct traced *t); /* of all that were ever traced */

/* Scans write what the processes have used to their entries now and then, so that the numbers of
 * one that has ended are no older than a moment. The run begins here: nothing has been used. */
void traced_begin_usage(struct traced *t);
/* The last time of those that live at the end of the run. */
void traced_end_usage(struct traced *t);
/* Something new is read of a process: now, and often for a while, as it may end soon. */
void traced_read_usage(struct traced *t, struct traced_process *p);

#endif
