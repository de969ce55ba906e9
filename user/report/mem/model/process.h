/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the model of mem (mem.h) counts of a process: the samples of its allocations, by stack. The
 * rows are dense; a table from the session's stack ids to them makes a count a load and two
 * additions. Each row holds its stack.
 */
#ifndef REPORT_MEM_MODEL_PROCESS_H
#define REPORT_MEM_MODEL_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "report/mem/model/filter.h"
#include "report/mem/model/objects.h"
#include "session/session.h"

#define MEM_EXACT_SAMPLES 50
#define MEM_SUM_PARTS	  2
/* What events that were not recorded mean for an amount. */
enum mem_doubt { MEM_ALL_RECORDED, MEM_AT_LEAST, MEM_ANY };
/* How a process was sampled. */
struct mem_scale {
	double rate; /* the chance of a word, above 0, at most 1; 0: not known */
	double word_bytes;
	bool weighted;	/* a sample represents one word at any rate */
	bool by_object; /* the samples of an object were taken as one */
	double each;	/* number of samples that are taken as one, at the same place; 0: 1 */
	enum mem_doubt doubt;
};
/* The words that a sample represents. */
static inline double mem_scale_words(const struct mem_scale *s)
{
	return s->weighted ? 1 : 1 / s->rate;
}
/* The words from one sample that is taken to the next. */
static inline double mem_scale_between(const struct mem_scale *s)
{
	return (s->each > 1 ? s->each : 1) / s->rate;
}
static inline double mem_scale_bytes(const struct mem_scale *s, uint64_t samples)
{
	return (double)samples * mem_scale_words(s) * s->word_bytes;
}
static inline double mem_scale_objects(const struct mem_scale *s, double shares)
{
	return shares * mem_scale_words(s);
}
static inline bool mem_scale_same(const struct mem_scale *a, const struct mem_scale *b)
{
	return a->doubt == b->doubt && a->rate == b->rate && a->word_bytes == b->word_bytes &&
	       a->weighted == b->weighted && a->by_object == b->by_object && a->each == b->each;
}
/* Samples, by scale. Zeroed memory is an empty sum, which is exactly 0 bytes. */
struct mem_sum {
	struct mem_part {
		struct mem_scale scale;
		uint64_t samples;
	} part[MEM_SUM_PARTS];
	uint32_t parts;
	/* Over further scales: the estimate, and the squared distances of its interval's ends. */
	double bytes, below, above;
};
struct mem_amount {
	double bytes;
	double low, high; /* of the interval; NAN: not known; high INFINITY: it may be any more */
};
/* 0 samples record that the scale was in use, so that the sum is not exactly 0. */
void mem_sum_add(struct mem_sum *s, const struct mem_scale *scale, uint64_t samples);
void mem_sum_merge(struct mem_sum *s, const struct mem_sum *other);
/* The estimate alone. */
double mem_sum_bytes(const struct mem_sum *s);
/* The number of words, estimated from independent samples, and its interval. */
struct mem_amount mem_words(uint64_t samples, double rate);
/* The amount of one scale. */
struct mem_amount mem_scale_amount(const struct mem_scale *scale, uint64_t samples);
struct mem_amount mem_sum_amount(const struct mem_sum *s);

#define MEM_SOURCES 3 /* enum ebt_alloc_source */
#define MEM_LIFETIME_TIMES \
	48 /* buckets: of 0 ns, and of each power of two; the last has all above */

struct mem_count {
	uint64_t objects, samples; /* sampled objects */
	double shares;		   /* mem_scale_objects() estimates all objects from it */
	uint64_t exact;		   /* of the samples, those that are words which were counted */
	uint64_t exact_objects;	   /* that have these samples */
};

/* What was allocated with one backtrace. */
struct mem_row {
	uint32_t stack; /* 0: without a backtrace */
	uint32_t band;	/* mem_bands_of(); 0: not asked for yet */
	bool selected;	/* by the filter's conditions on backtraces */
	struct mem_count alloc[MEM_SOURCES];
};

/* What became of the objects of a row. */
struct mem_fate {
	struct mem_count live, promoted, collected;
	uint64_t oldest_ns; /* when the oldest live object was allocated, after mem_model_end() */
	uint64_t *lifetime; /* samples of the collected objects, by bucket; NULL: none */
};

struct mem_process {
	struct mem_process *next; /* in the order of their first events */
	uint32_t process;	  /* its index; PROCESS_UNKNOWN also once it was released */
	uint32_t pid;		  /* 0: not known, or several */
	uint32_t processes;	  /* that it represents: 1, or those that ended and are added up */
	char comm[32];
	uint32_t executable, context; /* strings, held; 0: not known */
	struct mem_scale scale;
	/* Of small objects that are sampled periodically, each with more samples where such objects
	 * are many: the sum of their numbers of samples, and of the squares of these. */
	double small_samples, small_squares;
	double given_rate; /* if that of its samples is not known; 0: none */
	bool has_weights;  /* instead of a rate */
	/* The language of a runtime that is sampled without knowing what becomes of objects; NULL:
	 * the process is not sampled so. */
	const struct traits_language *periodic;
	bool samples_header;   /* of each object; it is not included in its words */
	bool is_of_memtrace;   /* sampled as memtrace does: each word with a rate that is known */
	uint32_t *row_of;      /* by stack id: the number of its row, from 1; 0: none */
	uint32_t stacks;       /* ids below this have an entry in row_of */
	struct mem_row *row;   /* row[0] is unused */
	struct mem_fate *fate; /* by row as `row`; NULL: it is not counted */
	uint32_t rows, cap;    /* rows: those in use are 1 .. rows */
	struct mem_objects objects;
	bool is_partial;	      /* not all of it was recorded: by its trace, or a loss */
	struct alloc_trace_lack lack; /* by its trace */
	bool has_fates;
	bool has_generations; /* of a runtime with a minor and a major heap, as far as is known */
	bool is_sum;	      /* of processes that ended */
};

static inline void mem_count_add(struct mem_count *c, struct mem_count more)
{
	c->objects += more.objects;
	/* Numbers of samples come from a file. */
	if (__builtin_add_overflow(c->samples, more.samples, &c->samples))
		c->samples = UINT64_MAX;
	c->shares += more.shares;
	if (__builtin_add_overflow(c->exact, more.exact, &c->exact))
		c->exact = UINT64_MAX;
	c->exact_objects += more.exact_objects;
}

/* What a count means in bytes; of words that were counted there is no doubt. */
static inline void mem_sum_add_count(struct mem_sum *sum, const struct mem_scale *scale,
				     const struct mem_count *c)
{
	const struct mem_scale counted = {.rate = 1,
					  .word_bytes = scale->word_bytes,
					  .weighted = true,
					  .doubt = scale->doubt};
	uint64_t exact = c->exact < c->samples ? c->exact : c->samples;
	if (exact)
		mem_sum_add(sum, &counted, exact);
	if (!exact || c->samples > exact)
		mem_sum_add(sum, scale, c->samples - exact);
}

/* The scale of what is alive. */
static inline struct mem_scale mem_process_live_scale(const struct mem_process *p)
{
	struct mem_scale s = p->scale;
	s.doubt = s.doubt == MEM_ALL_RECORDED ? MEM_ALL_RECORDED : MEM_ANY;
	return s;
}

/* What was added before is gone. */
static inline void mem_count_sub(struct mem_count *c, struct mem_count less)
{
	c->objects -= less.objects;
	c->samples -= less.samples < c->samples ? less.samples : c->samples;
	/* What rounding leaves is no object. */
	c->shares = c->objects && c->shares > less.shares ? c->shares - less.shares : 0;
}

static inline struct mem_count mem_object_count(const struct mem_object *o)
{
	return (struct mem_count){.objects = 1, .samples = o->samples, .shares = o->share};
}

/* The sum over all sources. */
static inline struct mem_count mem_row_alloc(const struct mem_row *r)
{
	struct mem_count sum = {0};
	for (unsigned i = 0; i < MEM_SOURCES; i++)
		mem_count_add(&sum, r->alloc[i]);
	return sum;
}

/* The bucket of a lifetime, and the least of a bucket. */
static inline unsigned mem_lifetime_bucket(uint64_t ns)
{
	unsigned bits = ns ? 64 - (unsigned)__builtin_clzll(ns) : 0;
	return bits < MEM_LIFETIME_TIMES ? bits : MEM_LIFETIME_TIMES - 1;
}
static inline uint64_t mem_lifetime_least(unsigned bucket)
{
	return bucket ? UINT64_C(1) << (bucket - 1) : 0;
}

/* The estimate of a number of samples alone. */
static inline double mem_process_bytes(const struct mem_process *p, uint64_t samples)
{
	return mem_scale_bytes(&p->scale, samples);
}

/* The share (process.c) of an object with this number of samples and words. */
static inline double mem_process_share(const struct mem_process *p, uint64_t samples, int64_t words,
				       uint32_t source)
{
	double n = words > 0 ? (double)words : 0;
	n += p->samples_header && source != EBT_ALLOC_EXTERNAL;
	return (double)samples / (n > 1 ? n : 1);
}

/* How the process is sampled, as far as the registry knows. given_rate: of samples with an unknown
 * rate; 0: none. */
struct mem_scale mem_process_scale(const struct process *p, const struct strings *strings,
				   double given_rate);
/* Initialises it for the process that has this index now. */
void mem_process_init(struct mem_process *p, const struct session *s, uint32_t process,
		      double given_rate);
void mem_process_done(struct mem_process *p, const struct session *s);
/* Notes that not all of the process was recorded. */
void mem_process_doubt(struct mem_process *p);
/* After all events: how many samples were taken as one. */
void mem_process_settle(struct mem_process *p);
/* No more events of it: releases all but its rows. */
void mem_process_end(struct mem_process *p);
/* Adds the rows of a process that ended to a sum of such, which is one itself and was sampled
 * alike; it keeps the name if it is the same. 0 or -ENOMEM: not all was added. */
int mem_process_add(struct mem_process *sum, struct mem_process *p, const struct session *s);
static inline bool mem_process_alike(const struct mem_process *a, const struct mem_process *b)
{
	struct mem_scale x = a->scale, y = b->scale;
	x.each = y.each = 0; /* of mem_process_settle() */
	return mem_scale_same(&x, &y) && a->has_weights == b->has_weights &&
	       a->periodic == b->periodic;
}
/* Copies what the registry knows of the process, which it has not released. */
void mem_process_know(struct mem_process *p, const struct session *s);

uint32_t mem_process_add_row(struct mem_process *p, const struct session *s,
			     const struct mem_filter *f, uint32_t stack); /* private */

/* The number of a stack's row, which is made if there is none; f NULL: all are selected. 0: no
 * memory. */
static inline uint32_t mem_process_row(struct mem_process *p, const struct session *s,
				       const struct mem_filter *f, uint32_t stack)
{
	uint32_t row = stack < p->stacks ? p->row_of[stack] : 0;
	return row ? row : mem_process_add_row(p, s, f, stack);
}

/* Counts an object as collected. 0 or -ENOMEM. */
int mem_fate_collect(struct mem_fate *f, const struct mem_object *o, uint64_t lifetime_ns);

#endif
