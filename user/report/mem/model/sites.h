/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The numbers of processes (process.h) by function: what a function allocates itself (it is the
 * innermost of the backtrace) and what is allocated below it. A function that is more than once in
 * a backtrace counts once. Functions are equal if name and file are; of a frame with inlined
 * functions the innermost one counts. A frame that was not resolved counts as its caller, at most
 * two in a row; else it is a function of its own. The innermost functions of a backtrace that wrap
 * an allocator (wrappers.h) count as the one that calls them, unless all of it are wrappers; so do
 * functions without a name that they call.
 *
 * A site is a function with allocations of its own, and the positions in it. Its callers are the
 * functions anywhere above it.
 */
#ifndef REPORT_MEM_MODEL_SITES_H
#define REPORT_MEM_MODEL_SITES_H

#include "base/map.h"
#include "report/mem/model/process.h"
#include "report/mem/model/tree.h"

struct mem_measure {
	struct mem_count count; /* of processes with scales that may differ: without shares */
	struct mem_sum sum;
	double objects; /* the estimate of all objects */
	uint64_t taken; /* independent samples that carry the estimate */
};

struct mem_position {
	uint32_t line, start_char, end_char;
	bool has_line, has_chars;
	struct mem_measure measure;
};

struct mem_caller {
	uint32_t function; /* its index */
	struct mem_measure measure;
};

struct mem_function {
	uint32_t name, file; /* strings; 0: not known */
	uint32_t frame;	     /* one that was not resolved; 0: it was, or there is no backtrace */
	struct mem_measure self, total;
	struct mem_measure
		above; /* not innermost, or not only: the allocation may be its own, too */
	struct mem_position *position; /* after mem_sites_sort() those with the most bytes first */
	uint32_t positions, position_cap;
	struct mem_caller *caller; /* most bytes first, after mem_sites_callers() or _next() */
	uint32_t callers, caller_cap;
	/* Private. */
	bool wants_callers;
	uint32_t on_path;   /* how often it is on the path through the tree */
	uint32_t caller_of; /* site + 1: it is caller[caller_at] of that site */
	uint32_t caller_at;
};

/* A frame's function, and its position there. */
struct mem_frame {
	uint32_t function, position; /* from 1; 0: not looked up */
	uint8_t inlined;	     /* the index of the function among those of the frame */
	bool resolved, is_wrapper, is_nameless;
};

/* A stack, as sites are found in it. */
struct mem_stack {
	uint32_t frame;	    /* the innermost, or the one in its place */
	uint32_t outer;	    /* the innermost frame that is resolved; 0: none */
	uint32_t end;	    /* the stack without the innermost wrappers; 0: all of it are */
	uint8_t unresolved; /* frames inside of outer, as far as they matter */
	bool wraps;	    /* its innermost frame is a wrapper, or without a name inside of one */
	bool is_known;
};

struct mem_sites {
	const struct session *session;
	struct mem_wrappers wrappers;
	struct mem_function *function;
	uint32_t functions, function_cap;
	uint32_t *by_self, *by_total; /* indices, those with the most bytes first */
	struct mem_measure all;
	/* Private. */
	bool of_live;
	struct map by_name;  /* name and file → index + 1 */
	struct map wrapping; /* names → 1, 2 that of a wrapper */
	struct mem_frame *frame;
	uint32_t frames;
	struct mem_stack *stack; /* by id */
	uint32_t stacks;
	uint64_t reclaimed; /* stacks->reclaimed of what is known of stacks */
	uint32_t *path;	    /* stacks that are looked up now */
	uint32_t path_cap;
	struct mem_tree tree;
};

/* What a report is about, of a row. */
typedef struct mem_count mem_pick(const struct mem_process *p, uint32_t row);

/* Pick what was allocated; what of it is alive; what was collected. */
struct mem_count mem_pick_alloc(const struct mem_process *p, uint32_t row);
struct mem_count mem_pick_live(const struct mem_process *p, uint32_t row);
struct mem_count mem_pick_collected(const struct mem_process *p, uint32_t row);

/* Zeroed memory is empty, but for the session and the wrappers, which the caller sets. first: of a
 * list of processes. 0 or -ENOMEM; done() works after either. */
int mem_sites_make(struct mem_sites *t, const struct mem_process *first, mem_pick *pick);
/* Then: the callers of the sites by_self[0 .. count). 0 or -ENOMEM. */
int mem_sites_callers(struct mem_sites *t, const struct mem_process *first, mem_pick *pick,
		      uint32_t count);
/* Instead: of each the next function outside of it that is no wrapper, which counts a byte once. */
int mem_sites_next(struct mem_sites *t, const struct mem_process *first, mem_pick *pick,
		   uint32_t count);
/* The index of the function that is the site of a stack that was counted; UINT32_MAX: no memory. */
uint32_t mem_sites_site(struct mem_sites *t, uint32_t stack);
void mem_sites_done(struct mem_sites *t);

#endif
