/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What pauses were made of: each pause (phases.h) is split into the time on a CPU, waiting for one,
 * blocked by reason, and waiting for another domain; parts add up to the pause. It needs intervals
 * without a CPU (EBT_OFFCPU) and the thread of a pause, or what the kernel counted in it
 * (pause_counts.h): a pause without a voluntary switch was on a CPU, or waited for one. Where both
 * lack, the part is not known.
 *
 * A domain waits for another one in phases that are barriers: all participants begin the phase when
 * they arrive, and none leaves it before the last has. So the last one to begin it was waited for,
 * from the begin of each other's phase to its own; what is behind that is the waiting domain's own
 * time. What the last one did meanwhile is split, too: a domain that had no CPU is told from one that
 * was long in its own code. A section of arrivals ends when the first participant leaves.
 *
 * Pauses of which an end was not seen, and those that a loss cut, are not split. Those that began before
 * the run are not in the sums. Nor are those of which
 * the begin was not seen, or what lies inside of them, as far as that turns out in time (pauses.h).
 */
#ifndef REPORT_STAT_MODEL_BLAME_H
#define REPORT_STAT_MODEL_BLAME_H

#include "report/parts/blame_parts.h"
#include "report/parts/ids.h"
#include "report/parts/phases.h"
#include "session/pause_counts.h"

/* Another domain that was waited for; the longest such wait of a pause. */
struct blame_culprit {
	uint64_t ns; /* 0: none */
	uint16_t domain;
	uint32_t tid;		  /* 0: not known */
	struct blame_split split; /* of its time while it was waited for */
};
struct blame_pause {
	uint32_t pid, tid; /* tid 0: not known */
	uint16_t domain;
	uint32_t process;    /* its index */
	uint32_t phase, row; /* the outermost phase, and its phases_row() */
	uint64_t begin_ns, end_ns;
	uint64_t ns;	/* its length (pause_clock.h): at most end_ns - begin_ns */
	uint32_t stack; /* where it began; 0: not recorded */
	struct blame_split split;
	struct blame_culprit culprit;
	bool has_counts;
	struct pause_counts counts;
};
struct longest_pauses {
	struct stacks *stacks;
	struct blame_pause *at; /* a heap, the shortest of them first */
	uint32_t count, max;
};
struct blame_sum {
	uint64_t pauses, pause_ns;
	uint64_t ns[BLAME_PARTS];
	/* Of the pauses of which the kernel's counts are known. */
	uint64_t counted, never_blocked;
	struct pause_counts counts;
};
/* Who ran while pauses waited for a CPU, by the name of the thread. */
struct blame_runner {
	char comm[BLAME_COMM_BYTES]; /* with a NUL; empty: none */
	bool is_tracer;		     /* as of struct blame_cause: not one of the same name */
	uint64_t ns;		     /* at least: of each pause its longest wait counts */
};
#define BLAME_RUNNERS 32 /* of more names those of the least time are forgotten */
struct blame_sums {
	struct blame_runner runners[BLAME_RUNNERS];
	struct blame_sum total, of_row[PHASES + 1]; /* PHASES: unknown ones */
	struct longest_pauses longest;
};
/* In the order of their ends, each with a reference to its stack. Zeroed memory holds none. */
struct held_pauses {
	struct blame_pause *at;
	uint32_t count, cap;
};

struct blame;

/* longest: so many pauses are kept. The session is kept. 0 or -ENOMEM. */
int blame_new(const struct session *s, uint32_t longest, struct blame **ret);
void blame_free(struct blame *b); /* NULL is allowed */
/* Calls fn for each pause, when blame_events() is given its end. */
typedef void blame_on_pause(void *ctx, const struct blame_pause *p);
void blame_watch(struct blame *b, blame_on_pause *fn, void *ctx);
/* In order of time. 0 or -ENOMEM. */
int blame_events(struct blame *b, const struct ebt_event *ev, size_t n);
/* As forget() of struct sink_ops. 0 or -ENOMEM. */
int blame_forget(struct blame *b, uint32_t process);

/* All pauses, and those of a row (PHASES: unknown ones), also those that might yet turn out to be parts of
 * one whose begin was not seen: read at the end. */
const struct blame_sum *blame_total(struct blame *b);
const struct blame_sum *blame_of_row(struct blame *b, uint32_t row);
/* Who ran the most while pauses waited for a CPU; NULL: nobody is known. */
const struct blame_runner *blame_runner(struct blame *b);
/* The longest pauses, the longest first. Sorts them; valid until the next event. */
const struct blame_pause *blame_longest(struct blame *b, uint32_t *ret_count);
/*
 * The longest pause that is open at a moment, split up to it; false: none is. Whether its thread has a CPU is
 * not known behind its last event or switch, and the last moment of which open intervals were emitted.
 */
bool blame_open(struct blame *b, uint64_t now_ns, struct blame_pause *ret);
/* Whether there was any interval without a CPU. */
bool blame_is_known(const struct blame *b);

#endif
