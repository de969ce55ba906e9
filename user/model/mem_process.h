/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the model of mem (mem.h) counts of a process: the samples of its allocations, by stack. The
 * rows are dense; a table from the session's stack ids to them makes a count a load and two
 * additions. Each row holds its stack.
 */
#ifndef MODEL_MEM_PROCESS_H
#define MODEL_MEM_PROCESS_H

#include "core/session.h"
#include "model/mem_amount.h"

#define MEM_SOURCES 3 /* enum ebt_alloc_source */

struct mem_count {
	uint64_t objects, samples;
};

/* What was allocated with one backtrace. */
struct mem_row {
	uint32_t stack; /* 0: without a backtrace */
	struct mem_count alloc[MEM_SOURCES];
};

struct mem_process {
	struct mem_process *next; /* in the order of their first events */
	uint32_t process;	  /* its index; PROCESS_UNKNOWN also once it was released */
	uint32_t pid;		  /* 0: not known */
	char comm[32];
	uint32_t executable, context; /* strings, held; 0: not known */
	struct mem_scale scale;
	bool has_scale;	     /* false: a sample counts as a word */
	uint32_t *row_of;    /* by stack id: the number of its row, from 1; 0: none */
	uint32_t stacks;     /* ids below this have an entry in row_of */
	struct mem_row *row; /* row[0] is unused */
	uint32_t rows, cap;  /* rows: those in use are 1 .. rows */
};

static inline void mem_count_add(struct mem_count *c, uint64_t objects, uint64_t samples)
{
	c->objects += objects;
	/* Numbers of samples come from a file. */
	if (__builtin_add_overflow(c->samples, samples, &c->samples))
		c->samples = UINT64_MAX;
}

/* The sum over all sources. */
static inline struct mem_count mem_row_alloc(const struct mem_row *r)
{
	struct mem_count sum = {0};
	for (unsigned i = 0; i < MEM_SOURCES; i++)
		mem_count_add(&sum, r->alloc[i].objects, r->alloc[i].samples);
	return sum;
}

/* Of the process that has this index now. */
void mem_process_init(struct mem_process *p, const struct session *s, uint32_t process);
void mem_process_done(struct mem_process *p, const struct session *s);
/* Copies what the registry knows of the process, which it has not released. */
void mem_process_know(struct mem_process *p, const struct session *s);

uint32_t mem_process_add_row(struct mem_process *p, const struct session *s,
			     uint32_t stack); /* private */

/* The number of a stack's row, which is made if there is none. 0: no memory. */
static inline uint32_t mem_process_row(struct mem_process *p, const struct session *s,
				       uint32_t stack)
{
	uint32_t row = stack < p->stacks ? p->row_of[stack] : 0;
	return row ? row : mem_process_add_row(p, s, stack);
}

#endif
