/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares what two models of mem allocated, or what of it is alive, by site. A site is a function:
 * name and file, as the positions in it change with the source. A frame that was not resolved is
 * its address.
 *
 * The models may be of different sessions, one freed before the other is read: the diff has its own
 * strings. Values are bytes, bytes in a second, or shares of all bytes in per cent, each with its
 * interval of 95 %; the time and the sum of all bytes are taken as exact. The interval of a
 * difference combines those of its two values by the squares of their distances; a difference is
 * within the noise of sampling if its interval includes 0.
 */
#ifndef REPORT_MEM_MODEL_DIFF_H
#define REPORT_MEM_MODEL_DIFF_H

#include "base/map.h"
#include "report/mem/model/mem.h"
#include "session/strings.h"

enum mem_per { MEM_PER_RUN = 0, MEM_PER_TIME = 1, MEM_PER_ALLOC = 2 };

enum { MEM_DIFF_BEFORE = 0, MEM_DIFF_AFTER = 1, MEM_DIFF_SIDES = 2 };

struct mem_difference {
	struct mem_amount value[MEM_DIFF_SIDES];
	struct mem_amount change; /* after - before */
	bool is_noise;
};

struct mem_diff_site {
	uint32_t name, file;		    /* strings of the diff, held; file 0: not known */
	bool has[MEM_DIFF_SIDES];	    /* there were samples of it */
	struct mem_sum sum[MEM_DIFF_SIDES]; /* private */
	struct mem_difference difference;
};

/* What a side is of. */
struct mem_diff_side {
	uint32_t program; /* string: its first program, held; 0: no allocation */
	uint64_t elapsed_ns;
	struct mem_amount bytes; /* in all */
	struct mem_sum all;	 /* private; sums of no samples beside it */
	struct mem_sum none;
};

struct mem_diff {
	struct strings *strings;
	enum mem_per per;
	bool live; /* the caller's: compares what is alive, of models with MEM_FATES */
	struct mem_diff_side side[MEM_DIFF_SIDES];
	struct mem_difference total;
	struct mem_diff_site *site; /* after finish() those with the largest changes first */
	uint32_t sites, cap;
	struct map by_name; /* name and file → index + 1; private */
};

/* 0 or -ENOMEM; done() works after either, and of zeroed memory. */
int mem_diff_init(struct mem_diff *d, enum mem_per per);
void mem_diff_done(struct mem_diff *d);
/* Adds all of a model, which has ended, to a side. 0 or -ENOMEM. */
int mem_diff_add(struct mem_diff *d, unsigned side, const struct mem_model *m);
/* Computes the differences, when both sides were added. */
void mem_diff_finish(struct mem_diff *d);

#endif
