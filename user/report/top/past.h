/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What top keeps of a process beside the numbers of stat: its counts at the last two frames, from
 * which rates come, a history of its figures, its last pauses, where it allocates, and where it
 * belongs. Of a fixed size for each process that lives.
 */
#ifndef REPORT_TOP_PAST_H
#define REPORT_TOP_PAST_H

#include "base/ptrarray.h"
#include "report/parts/numbers.h"
#include "report/stat/model/blame.h"
#include "report/stat/model/process.h"

/* Where it belongs; the host's answer (struct top_host). */
struct top_where {
	char container[64], unit[64]; /* "": none, or not known */
	uint32_t parent;	      /* 0: not known */
};

/* Counts at a frame; zeroes, at the begin of the process: none yet. */
struct top_marks {
	uint64_t at_ns, gc_ns, elapsed_ns, words;
};

/* The figures with a history; lost: of the time between two frames. */
enum top_figure { TOP_F_GC, TOP_F_PAUSE, TOP_F_ALLOC, TOP_F_HEAP, TOP_F_LOST, TOP_FIGURES };
#define TOP_HISTORY 64 /* frames */
struct top_history {
	float at[TOP_FIGURES][TOP_HISTORY]; /* a ring: (frames - 1) % TOP_HISTORY is the last */
	uint64_t frames;		    /* that there ever were */
};
/* The value of `ago` frames before the last; there are as many as `frames`, up to TOP_HISTORY. */
static inline float top_history_at(const struct top_history *h, enum top_figure f, unsigned ago)
{
	return h->at[f][(h->frames - 1 - ago) % TOP_HISTORY];
}

#define TOP_PAUSES 8
/* A pause with the two largest parts that it was made of, and the longest cause. */
struct top_pause {
	uint64_t end_ns, ns;
	uint32_t row; /* phases_row() */
	uint32_t tid; /* 0: not known */
	uint16_t domain;
	uint8_t part[2];	      /* enum blame_part */
	uint64_t part_ns[2];	      /* 0: there is none */
	char cause[BLAME_COMM_BYTES]; /* the thread that ran, or woke it; "": none is known */
	uint16_t waited_for;	      /* another domain; EBT_NO_DOMAIN: none */
};

#define TOP_SITES 8
/* Where objects are allocated: the innermost function of the stacks of samples. */
struct top_site {
	uint32_t frame; /* of session/frames, held; 0: none */
	uint64_t samples;
};

struct top_past {
	uint32_t number; /* of its process among the model's */
	struct top_marks last, before;
	struct top_history history;
	struct top_pause pause[TOP_PAUSES]; /* a ring */
	uint64_t pauses;
	uint64_t lost;	       /* losses at the last frame */
	struct top_site *site; /* TOP_SITES; NULL: no sample */
	uint64_t samples;
	struct top_where where;
	unsigned where_age; /* frames since that was read; 0: it has not been */
};

/*
 * By index of the registry, and of processes that were released: those of which the model has
 * numbers still. Zeroed memory: nothing.
 */
struct top_pasts {
	PTRARRAY(struct top_past) by_process;
	struct top_past **kept;
	uint32_t kept_count, kept_cap;
};

void top_pasts_done(struct top_pasts *ps, struct session *s);
/* The process is released; its past is kept, as that of a process of the model's with this
 * number. 0 or -ENOMEM. */
int top_pasts_release(struct top_pasts *ps, uint32_t process, uint32_t number);
/* It is of no process of the model any more. */
void top_pasts_forget(struct top_pasts *ps, struct session *s, uint32_t process);
/* Of those that are kept, forgets the ones that are of no process of the model's list. */
void top_pasts_prune(struct top_pasts *ps, struct session *s, const struct stat_process *first);
/* Of a process of the model; NULL: there is none. */
struct top_past *top_pasts_of(const struct top_pasts *ps, const struct stat_process *p);
/* NULL: no memory. */
struct top_past *top_pasts_make(struct top_pasts *ps, uint32_t process);

/* A pause has ended. */
void top_past_pause(struct top_past *p, const struct blame_pause *pause);
/* An object was sampled; 0 or -ENOMEM. */
int top_past_alloc(struct top_past *p, struct session *s, const struct ebt_event *ev);

#endif
