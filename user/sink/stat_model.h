/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The numbers behind the report of stat.h, and how events become them; the writers (stat_text.c,
 * stat_json.c) only read them. Private to sink/stat*.c.
 *
 * Moments of a live run that lie before its begin are moved up to it, so that no time before it
 * counts.
 */
#ifndef SINK_STAT_MODEL_H
#define SINK_STAT_MODEL_H

#include "base/histogram.h"
#include "base/map.h"
#include "base/ptrmap.h"
#include "core/session.h"
#include "core/tracks.h"
#include "sink/stat_phases.h"

struct stat_phase {
	uint64_t begun;	   /* begins that were seen */
	uint64_t count;	   /* spans with both ends, neither of them late */
	uint64_t cut;	   /* others */
	uint64_t total_ns; /* inside of it, nested ones of its own kind once */
	uint64_t self_ns;  /* without the phases inside */
	uint64_t max_ns;   /* of those of `count` */
};

/* LATE: both ends were seen, but the time of one is not its own. */
enum stat_cut { STAT_CUT_START, STAT_CUT_LOSS, STAT_CUT_END, STAT_CUT_LATE, STAT_CUTS };

struct stat_pauses {
	struct histogram whole;
	uint64_t cut[STAT_CUTS];
	uint64_t cut_max_ns; /* the longest part of a cut one that was seen */
};

/* What a release may not tell is not there: `seen` is false then. */
struct stat_words {
	bool seen;
	uint64_t words;
};

struct stat_loss {
	uint64_t events, words;
	uint64_t history_events, history_words; /* overwritten before anybody read */
	uint64_t uncounted, history_uncounted;	/* losses of an unknown number of events */
	uint64_t unwatched, unwatched_ns;	/* probes were not in place */
};

/* A thread of a domain that gave way to another one inside a pause: a finaliser may. */
struct stat_waiting {
	uint32_t tid, stopping; /* 0, 0: a free place */
	uint64_t spent_ns;
};
#define STAT_WAITING 8

struct stat_list {
	struct stat_lane *first;
};

/* A domain's ring, or a thread without one. */
struct stat_lane {
	struct stat_process *process;
	struct stat_lane *next;

	/* Of stat_sleep.c. While it sleeps, what is told of its time below is not up to date. */
	struct stat_class *class;
	struct stat_list *list; /* NULL: nothing that concerns many concerns it */
	struct stat_lane *list_prev, *list_next;
	struct stat_set *set;  /* it sleeps in */
	bool kept, is_changed; /* of stat_lines.c */
	struct stat_lane *next_changed;
	uint64_t turns, set_elapsed_ns, set_uncovered_ns; /* of the set when it fell asleep */

	uint32_t number; /* of the domain; else the tid */
	bool is_thread;
	bool in_ring;
	bool live;    /* its time runs */
	bool stopped; /* its time ended with the recording, not with the domain */
	uint64_t since_ns, last_ns;
	uint64_t until_ns;   /* end of the last use that is over */
	uint64_t elapsed_ns; /* of uses that are over */
	uint64_t gc_ns, uncovered_ns, pauses;
	uint64_t minors;	 /* begins of `minor` */
	uint64_t pause_ns;	 /* begin of the pause that is open, or of what goes on of it */
	uint64_t pause_spent_ns; /* before its thread gave way */
	uint32_t stopping;	 /* open phases of the thread that stop the mutator */
	uint32_t tid;		 /* of the last event; 0: not known */
	struct stat_waiting *waiting; /* STAT_WAITING threads, or NULL */
	uint32_t open_spans;
	uint64_t late[TRACK_DEPTH / 64]; /* by depth: the begin of the open span came late */
	uint64_t lost_until_ns;
	struct stat_loss lost;
	uint64_t heap_words, pool_words, large_words; /* last values */
	uint64_t heap_counted;			      /* its part of the process's heap_sum */

	/* Since when an end may come whose begin was not seen. */
	bool unsure;
	bool unsure_cut; /* it came */
	enum stat_cut unsure_cause;
	uint64_t unsure_ns, unsure_gc_ns;
	uint64_t unsure_inner_ns; /* since then spent in spans that have ended */
	uint64_t *held;		  /* pauses since then */
	uint32_t held_count, held_cap;

	uint16_t open[STAT_PHASES + 1];
};

/* Lanes that sleep (stat_sleep.h). */
struct stat_set {
	struct stat_lane all; /* stands for all of them */
	struct stat_list idle, open;
	uint32_t count;
	uint64_t turns;		 /* counts what concerned them all */
	uint64_t opened, closed; /* the last of these that began or ended their time */
};

/* Lanes of a process that the same things concern. */
struct stat_class {
	struct stat_model *model;
	struct stat_process *process;
	struct stat_everyone *everyone;
	struct stat_class *next_awake;
	struct stat_list busy;
	struct stat_set sets[2]; /* those that live and those that have stopped, in either order */
	bool sleeps;
	uint64_t turns, uncovered_ns; /* of everyone when it fell asleep */
};

/* Stands for the live lanes of all processes. */
struct stat_everyone {
	struct stat_lane all;
	struct stat_class *awake;
	uint64_t turns;
};

/* What a process brings to the lines of --interval. */
struct stat_counted {
	uint64_t minors, majors, words;
};

/* What all lanes and processes that are kept bring, a moment taken for 0 (stat_lines.h). */
struct stat_sums {
	uint64_t live, elapsed_ns;
	uint64_t stopping, gc_ns;
	struct stat_counted counted;
	bool has_words;
};

struct stat_process {
	uint32_t process, pid;
	struct stat_process *next;
	struct stat_lane *lanes; /* as they came; in the end domains by number, then threads */
	PTRMAP(struct stat_lane) by_number; /* of a thread: 1 << 32 | its number */
	uint32_t lane_count;
	struct stat_class *classes[2][2]; /* by is_thread, in_ring; NULL: it has none of these */
	uint64_t heap_sum;		  /* last values of all lanes */
	uint64_t lane_minors;		  /* of the lane that has the most */
	bool is_changed;
	struct stat_process *next_changed;
	struct stat_counted counted;
	const struct process *about;
	bool heap_is_by_domain, minor_is_shared; /* as of struct traits_language */
	bool recording;
	uint64_t begin_ns, last_ns;
	bool begun;				   /* within the run: it was seen, or told, when */
	struct moment end;			   /* known: it has ended */
	uint64_t recorded_from_ns;		   /* the last ring_start, or its begin */
	uint64_t unwatched_since_ns, unwatched_ns; /* the last time without probes, until then */

	/* Below: what a total of processes has, too. */
	uint64_t wall_ns, elapsed_ns, gc_ns, uncovered_ns; /* at the end */
	struct process_usage usage;
	struct stat_pauses pauses;
	struct stat_phase phases[STAT_PHASES + 1];
	uint64_t minors; /* of a total */
	uint64_t majors, compactions;
	uint32_t majors_open, compactions_open; /* domains that take part just now */
	struct stat_words minor_bytes, minor_words, promoted_bytes, promoted_words;
	struct stat_words major_words, heap, heap_max;
	struct stat_loss lost;
	uint64_t unmatched, late, damaged;
};

struct stat_model {
	const struct session *session;
	struct tracks *tracks;
	struct stat_process *processes, *last_process; /* in order of appearance */
	PTRMAP(struct stat_process) by_process;
	struct map births; /* pid → when it was forked or executed, of those that live */
	struct stat_sums sums;
	struct stat_lane *changed; /* since the last line */
	struct stat_process *changed_processes;
	struct stat_everyone everyone[2]; /* that no ring holds, that rings hold */
	uint32_t process_count;
	uint64_t now_ns;
	struct moment first; /* time of the first event */
	bool late;	     /* the event that is being pushed came late */
	bool closing;	     /* what is cut is cut by an end, not by a loss */
	struct histogram
		*interval; /* of the pauses that have ended since it was cleared; NULL: none */
};

int stat_model_init(struct stat_model *m, const struct session *s);
void stat_model_done(struct stat_model *m);
/* In order of time. 0 or -ENOMEM. */
int stat_model_push(struct stat_model *m, const struct ebt_event *ev);
/* No more events: ends what is open. 0 or -ENOMEM. */
int stat_model_end(struct stat_model *m);
/* Finds what the session knows about the process. */
void stat_model_know(const struct stat_model *m, struct stat_process *p);
/* Adds a process that has ended to a total. 0 or -ENOMEM. */
int stat_model_add(struct stat_process *total, const struct stat_process *p);

/*
 * Collections of a process. OCaml's minor collections are those of the domain that has seen the
 * most, or the minor_global_roots, which one domain does for all: all domains take part in each.
 * Other programs without these have their `minor` spans. A major one is a major_gc_stw that
 * all domains are in together; a program with neither that nor slices has its `major` spans.
 */
uint64_t stat_minors(const struct stat_process *p);
uint64_t stat_majors(const struct stat_process *p);
uint64_t stat_forced_majors(const struct stat_process *p);
/* Words allocated in the minor heaps, promoted; 5.5 counts words, releases before it bytes. */
struct stat_words stat_minor_words(const struct stat_process *p);
struct stat_words stat_promoted_words(const struct stat_process *p);
/* part of whole in percent, never more than 100; 0 of nothing. */
double stat_percent(uint64_t part, uint64_t whole);

#endif
