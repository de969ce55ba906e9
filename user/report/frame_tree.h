/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Merges values of interned stacks (session/stacks.h) into trees of functions, as flame graphs show
 * them. A function is its name as the source has it, whatever its file and line; functions that
 * were inlined into a frame are nodes of their own. A function that is below itself, directly or
 * not, is not another node: what it calls belongs to its outermost call. A frame that was not
 * resolved is "$" and its address in decimal, or "?"; it is left out if it calls any function that
 * was, as the start of a program and the glue of a runtime do, and wherever the caller wants none
 * but "?".
 *
 * The work is linear in the number of different stacks with their prefixes, not in their depth.
 * Values are sums of what the caller counts (samples, nanoseconds); they stop at UINT64_MAX.
 */
#ifndef REPORT_FRAME_TREE_H
#define REPORT_FRAME_TREE_H

#include "base/map.h"
#include "session/display_names.h"
#include "session/session.h"

#define FRAME_TREE_UNKNOWN "?"

struct frame_tree_node {
	uint32_t label;		      /* its name; of a root 0 */
	uint32_t parent, child, next; /* nodes; 0: none */
	uint64_t self, total;	      /* total: with all nodes below */
	/* The position of the call, or of the event, with the largest value. */
	uint32_t file, line;
	bool has_line;
	bool more_positions; /* and there are others */
	uint64_t heaviest;   /* private: the value of that position */
	uint32_t same_label; /* private */
};

struct frame_tree_label {
	const char *text;
	char address[FRAMES_BARE_BYTES]; /* private: "$" and the address */
	bool on_path;			 /* private */
	uint32_t first;			 /* private: a node with this label */
};

struct frame_tree_stack; /* private */

/* Readers use `node`, `label` and `strings`. Entry 0 of both is none. */
struct frame_tree {
	struct frame_tree_node *node;
	struct frame_tree_label *label;
	uint32_t nodes, labels;	       /* entries in use, with the first one */
	bool without_addresses;	       /* the caller's, for the next frame_tree_add() */
	bool keeps_recursion;	       /* likewise: only a function that calls itself is one node */
	const struct strings *strings; /* those that the files of nodes are of */
	/* Private. */
	const struct session *session;
	struct display_names *names;
	uint32_t node_cap, label_cap;
	struct map child_of;	 /* parent and label → node */
	struct map label_of;	 /* string, of a shown name → label */
	uint32_t *frame_label;	 /* by frame id: its label, if it has one position or none */
	uint32_t frames, stacks; /* entries of frame_label and stack */
	struct frame_tree_stack *stack;
};

struct frame_tree_value {
	uint32_t stack;
	uint64_t value;
};

/* Keeps `s`. The stacks added must be held until done(). 0 or -ENOMEM, and done() follows
 * either. */
int frame_tree_init(struct frame_tree *t, const struct session *s);
/* A tree that the caller makes of names, strings of `strings`: it adds roots and children, and sets
 * the values of nodes but for the totals. As frame_tree_init(). */
int frame_tree_init_named(struct frame_tree *t, const struct strings *strings);
void frame_tree_done(struct frame_tree *t); /* also of zeroed memory */
/*
 * Makes a separate tree from values; several of them may be of the same stack. Its root is
 * *ret_root; values of stack 0 are the root's own. 0 or -ENOMEM, and then only done() may follow.
 */
int frame_tree_add(struct frame_tree *t, const struct frame_tree_value *value, size_t n,
		   uint32_t *ret_root);
/* A root more, and the child with this name, which is added if there is none. 0: no memory, and
 * then only done() may follow. */
uint32_t frame_tree_root(struct frame_tree *t);
uint32_t frame_tree_child(struct frame_tree *t, uint32_t parent, uint32_t name);
/* Sums up the totals and puts siblings in the order of their names, by bytes; once, after all
 * values are there. 0 or -ENOMEM. */
int frame_tree_sort(struct frame_tree *t);

/* The name of a node that is not a root. */
static inline const char *frame_tree_name(const struct frame_tree *t, uint32_t node)
{
	return t->label[t->node[node].label].text;
}

/* The node after this one in the tree of `root`, parents first; 0 at the end. */
static inline uint32_t frame_tree_next(const struct frame_tree *t, uint32_t root, uint32_t node)
{
	if (t->node[node].child)
		return t->node[node].child;
	for (; node != root; node = t->node[node].parent)
		if (t->node[node].next)
			return t->node[node].next;
	return 0;
}

#endif
