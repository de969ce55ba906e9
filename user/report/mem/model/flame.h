/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The samples of a model of mem as trees of functions, one for each program: processes with one
 * name, if they were sampled in the same way. Values of the trees are samples.
 */
#ifndef REPORT_MEM_MODEL_FLAME_H
#define REPORT_MEM_MODEL_FLAME_H

#include "report/frame_tree.h"
#include "report/mem/model/mem.h"

struct mem_flame_program {
	const char *name; /* of a process of the model */
	struct mem_scale scale;
	uint32_t root;
};

struct mem_flame {
	struct frame_tree tree;
	struct mem_flame_program *program; /* in the order of their names */
	uint32_t programs;
};

/* The model must not be freed before it. 0 or -ENOMEM; done() works after either. */
int mem_flame_make(struct mem_flame *f, const struct mem_model *m, mem_pick *pick);
void mem_flame_done(struct mem_flame *f);

#endif
