/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/model/tree.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

static bool add_node(struct mem_tree *t, uint32_t stack, uint32_t parent)
{
	if (!array_room(t->of_stack, t->stacks, stack) ||
	    !array_room(t->node, t->node_cap, t->nodes))
		return false;
	t->node[t->nodes] = (struct mem_tree_node){.stack = stack, .parent = parent};
	t->of_stack[stack] = t->nodes++;
	return true;
}

int mem_tree_add(struct mem_tree *t, const struct stacks *stacks, uint32_t stack,
		 struct mem_count c)
{
	if (!t->nodes && !add_node(t, 0, 0))
		return -ENOMEM;
	uint32_t n = 0, id = stack;
	for (; id && (id >= t->stacks || !t->of_stack[id]); id = stacks_parent(stacks, id)) {
		if (!array_room(t->path, t->path_cap, n))
			return -ENOMEM;
		t->path[n++] = id;
	}
	uint32_t at = t->of_stack[id];
	while (n--) {
		if (!add_node(t, t->path[n], at))
			return -ENOMEM;
		at = t->nodes - 1;
	}
	mem_count_add(&t->node[at].own, c);
	return 0;
}

void mem_tree_sum(struct mem_tree *t)
{
	for (uint32_t i = t->nodes; i-- > 1;) {
		struct mem_tree_node *n = &t->node[i], *parent = &t->node[n->parent];
		mem_count_add(&parent->below, n->own);
		mem_count_add(&parent->below, n->below);
		n->next = parent->child;
		parent->child = i;
	}
}

void mem_tree_clear(struct mem_tree *t)
{
	for (uint32_t i = 0; i < t->nodes; i++)
		t->of_stack[t->node[i].stack] = 0;
	t->nodes = 0;
}

void mem_tree_done(struct mem_tree *t)
{
	free(t->node);
	free(t->of_stack);
	free(t->path);
	*t = (struct mem_tree){0};
}
