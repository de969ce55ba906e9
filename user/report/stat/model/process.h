/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processes that a report has numbers of, by their index in the registry: when each began and
 * ended, what is known of it, and its numbers. Its lanes are the business of others (lane.h,
 * sets.h).
 *
 * A process begins when it was forked or executed, or its recording began; one that was not seen to
 * begin was there when the run began.
 */
#ifndef REPORT_STAT_MODEL_PROCESS_H
#define REPORT_STAT_MODEL_PROCESS_H

#include "base/map.h"
#include "report/parts/numbers.h"
#include "report/stat/model/stream.h"

struct stat_class;
struct stat_lane;
struct stat_process_mutator;

/* The share of a process in the lines of --interval. */
struct stat_counted {
	uint64_t minors, majors, words;
};

struct stat_process {
	uint32_t process; /* index in the registry, until it is released */
	uint32_t pid;
	uint32_t number;		  /* of all that there ever were */
	struct stat_process *prev, *next; /* in order of appearance */
	char comm[32], producer[64];	  /* "": not known */
	bool is_final;			  /* its numbers are */

	/* Newest first; once it is final domains by number, then threads by tid. */
	struct stat_lane *lanes;
	uint32_t lane_count;
	struct stat_class *classes[2][2]; /* of sets.c: by is_thread, in_ring; NULL: none */

	bool heap_is_by_domain; /* as of struct traits_language */
	bool recording;		/* its domains have time */
	bool begun;		/* its begin was seen */
	uint64_t begin_ns, last_ns;
	struct moment end;			   /* known: it has ended */
	uint64_t recorded_from_ns;		   /* the last ring_start, or its begin */
	uint64_t unwatched_since_ns, unwatched_ns; /* the last time without probes, until then */
	uint64_t wall_ns;			   /* once it has ended */
	uint64_t heap_sum;			   /* last values of all lanes */
	uint64_t heap_ns;			   /* of the last value that came in a tally */
	uint32_t majors_open, compactions_open;	   /* domains that take part now */
	uint64_t longest_ns; /* of the pauses that have ended since a reader cleared it */
	struct stat_numbers numbers;
	struct stat_process_mutator *mutator; /* as of a lane */

	bool is_changed; /* of progress.c */
	struct stat_process *next_changed;
	struct stat_counted counted;
};

/* Fields are private but for first, listed and count. */
struct stat_processes {
	const struct stat_stream *stream;
	bool coarse; /* the histograms of pauses are */
	struct stat_process *first, *last;
	uint32_t listed; /* from first on */
	uint32_t count;	 /* that there ever were */
	PTRARRAY(struct stat_process) by_index;
	struct map births; /* pid → when it was forked or executed, of those that live */
};

/* Frees the processes, but not their lanes. */
void stat_processes_done(struct stat_processes *ps);
/* Of those that are not released; NULL: there is none yet. */
static inline struct stat_process *stat_processes_find(const struct stat_processes *ps,
						       uint32_t process)
{
	return ptrarray_get(&ps->by_index, process);
}
/* The process of an event, made at its first one. NULL: no memory. */
struct stat_process *stat_processes_make(struct stat_processes *ps, const struct ebt_event *ev);
/*
 * A process was forked, or executed its first program. Of a pid that came before, another life
 * begins: both are added up. 0 or -ENOMEM.
 */
int stat_processes_birth(struct stat_processes *ps, uint32_t pid, uint64_t now_ns);
/* The process that had the pid has ended. */
void stat_processes_dead(struct stat_processes *ps, uint32_t pid);
/* A process has ended, or has executed another program, with which recording begins anew. */
void stat_processes_change(struct stat_processes *ps, struct stat_process *p, uint64_t now_ns,
			   enum ebt_process_change change);
/* Its process, also a new one, was not watched from since_ns to the event. NULL: no memory. */
struct stat_process *stat_processes_unwatched(struct stat_processes *ps, const struct ebt_event *ev,
					      uint64_t since_ns);

/* The registry is about to release the process: its index will be another's. */
void stat_processes_release(struct stat_processes *ps, struct stat_process *p);
/* Frees a process that was released, but not its lanes. */
void stat_processes_remove(struct stat_processes *ps, struct stat_process *p);

/* Copies what the registry knows of the process, which it has not released. */
void stat_process_know(struct stat_process *p, const struct session *s);
/* Its end as of a moment, which is `now` if it has not ended; of an unknown moment its last event.
 * It is not released. */
uint64_t stat_process_end(const struct stat_process *p, const struct session *s, struct moment now);

#endif
