/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts of stacks, summed up over the session's tree of stacks (session/stacks.h): what a stack
 * and all that extend it have together. The work is linear in the number of stacks that were added
 * and of those that they extend, however deep they are.
 */
#ifndef REPORT_MEM_MODEL_TREE_H
#define REPORT_MEM_MODEL_TREE_H

#include "report/mem/model/process.h"
#include "session/stacks.h"

/* Node 0 is the empty stack; the index of any other node is higher than that of its parent. */
struct mem_tree_node {
	uint32_t stack, parent;
	uint32_t child, next;	/* after mem_tree_sum(); 0: none */
	struct mem_count own;	/* of the stack itself */
	struct mem_count below; /* of all that extend it, after mem_tree_sum() */
};

/* Zeroed memory is an empty tree. Readers use node and nodes. */
struct mem_tree {
	struct mem_tree_node *node;
	uint32_t nodes, node_cap;
	uint32_t *of_stack; /* by stack: its node; 0: none */
	uint32_t stacks;    /* entries of of_stack */
	uint32_t *path;	    /* stacks that get nodes */
	uint32_t path_cap;
};

/* The stack must be held until mem_tree_clear(). 0 or -ENOMEM; done() and clear() work after
 * either. */
int mem_tree_add(struct mem_tree *t, const struct stacks *stacks, uint32_t stack,
		 struct mem_count c);
/* Once, after the last stack was added. */
void mem_tree_sum(struct mem_tree *t);
/* The tree is empty again. Memory is kept. */
void mem_tree_clear(struct mem_tree *t);
void mem_tree_done(struct mem_tree *t);

#endif
