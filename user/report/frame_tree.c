/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/frame_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* A stack while values are merged: a node of the prefix tree, linked from parent to children. */
struct frame_tree_stack {
	uint64_t value; /* its own; once its children have been left, with theirs */
	uint32_t child, next;
	uint32_t node;
	bool is_linked;
	bool has_names; /* it or a stack that extends it has a frame that was resolved */
};

static void add_to(uint64_t *sum, uint64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = UINT64_MAX;
}

/* A node or a label more, zeroed. Returns its index; 0: no memory. */
static uint32_t add_node(struct frame_tree *t, uint32_t parent, uint32_t label)
{
	if (!array_reserve(t->node, t->node_cap, t->nodes))
		return 0;
	struct frame_tree_node *n = &t->node[t->nodes];
	*n = (struct frame_tree_node){.label = label, .parent = parent};
	n->same_label = t->label[label].first;
	t->label[label].first = t->nodes;
	return t->nodes++;
}

static uint32_t add_label(struct frame_tree *t, const char *text)
{
	if (!array_reserve(t->label, t->label_cap, t->labels))
		return 0;
	t->label[t->labels] = (struct frame_tree_label){.text = text};
	return t->labels++;
}

int frame_tree_init_named(struct frame_tree *t, const struct strings *strings)
{
	*t = (struct frame_tree){.strings = strings};
	/* Entries 0: as the result of a function their index means "no memory". */
	add_label(t, "");
	if (t->labels)
		add_node(t, 0, 0);
	return t->nodes ? 0 : -ENOMEM;
}

int frame_tree_init(struct frame_tree *t, const struct session *s)
{
	int err = frame_tree_init_named(t, s->strings);
	t->session = s;
	return err ? err : display_names_new(s->strings, &t->names);
}

void frame_tree_done(struct frame_tree *t)
{
	free(t->node);
	free(t->label);
	free(t->frame_label);
	free(t->stack);
	display_names_free(t->names);
	map_done(&t->child_of);
	map_done(&t->label_of);
}

static uint32_t label_of_shown(struct frame_tree *t, uint32_t string)
{
	uint64_t *known = map_put(&t->label_of, string);
	if (!known)
		return 0;
	if (!*known)
		*known = add_label(t,
				   string ? strings_text(t->strings, string) : FRAME_TREE_UNKNOWN);
	return (uint32_t)*known;
}

static uint32_t label_of_string(struct frame_tree *t, uint32_t name)
{
	return label_of_shown(t, display_name(t->names, name));
}

static uint32_t label_of_address(struct frame_tree *t, const struct frame *f)
{
	uint32_t label = add_label(t, "");
	struct frame_tree_label *l = &t->label[label];
	if (label)
		frames_bare_text(f, l->address);
	return label;
}

/* The label of a frame's position i. 0: no memory. */
static uint32_t label_of(struct frame_tree *t, uint32_t frame, const struct frame *f, uint32_t i)
{
	if (f->count > 1)
		return label_of_string(t, f->position[i].function);
	if (!array_room(t->frame_label, t->frames, frame))
		return 0;
	if (!t->frame_label[frame])
		t->frame_label[frame] = f->count ? label_of_string(t, f->position[0].function)
					: f->has_address ? label_of_address(t, f)
							 : label_of_string(t, 0);
	return t->frame_label[frame];
}

/* 0: no memory. */
static uint32_t child_of(struct frame_tree *t, uint32_t parent, uint32_t label)
{
	uint64_t *known = map_put(&t->child_of, (uint64_t)parent << 32 | label);
	if (!known)
		return 0;
	if (!*known)
		*known = add_node(t, parent, label);
	return (uint32_t)*known;
}

/* The node of a function below `parent`, or the one of its outermost call. 0: no memory. */
static uint32_t push(struct frame_tree *t, uint32_t parent, uint32_t label)
{
	if (t->keeps_recursion ? t->node[parent].label == label : t->label[label].on_path)
		return parent;
	t->label[label].on_path = true;
	return child_of(t, parent, label);
}

uint32_t frame_tree_root(struct frame_tree *t)
{
	return add_node(t, 0, 0);
}

uint32_t frame_tree_child(struct frame_tree *t, uint32_t parent, uint32_t name)
{
	uint32_t label = label_of_shown(t, name);
	return label ? child_of(t, parent, label) : 0;
}

/* Enters a stack; its parent has been entered. 0: no memory. */
static uint32_t enter(struct frame_tree *t, uint32_t id)
{
	uint32_t frame = stacks_frame(t->session->stacks, id);
	uint32_t node = t->stack[stacks_parent(t->session->stacks, id)].node;
	const struct frame *f = frames_get(t->session->frames, frame);
	bool is_glue = t->stack[id].has_names || (t->without_addresses && f->has_address);
	bool is_left_out = !f->count && is_glue;
	for (uint32_t i = 0; i < frames_texts(f) && node && !is_left_out; i++) {
		uint32_t label = label_of(t, frame, f, i);
		node = label ? push(t, node, label) : 0;
	}
	t->stack[id].node = node;
	if (node)
		add_to(&t->node[node].self, t->stack[id].value);
	return node;
}

static void note_position(struct frame_tree_node *n, const struct frame_position *p, uint64_t value)
{
	bool has_line = p->has_line && p->line; /* a trace has a zero where none is known */
	bool is_first = !n->file && !n->has_line;
	bool is_other = p->file != n->file || p->line != n->line || has_line != n->has_line;
	n->more_positions |= !is_first && is_other;
	if (!is_first && value <= n->heaviest)
		return;
	n->heaviest = value;
	n->file = p->file;
	n->line = p->line;
	n->has_line = has_line;
}

/* Leaves a stack. Its children have been left: its value includes theirs. */
static void leave(struct frame_tree *t, uint32_t id)
{
	uint32_t parent = stacks_parent(t->session->stacks, id), frame;
	frame = stacks_frame(t->session->stacks, id);
	const struct frame *f = frames_get(t->session->frames, frame);
	struct frame_tree_stack *s = &t->stack[id];
	for (uint32_t at = s->node; at != t->stack[parent].node; at = t->node[at].parent) {
		struct frame_tree_node *n = &t->node[at];
		t->label[n->label].on_path = false;
		for (uint32_t i = 0; i < f->count; i++)
			if (f->count == 1 || label_of(t, frame, f, i) == n->label) {
				note_position(n, &f->position[i], s->value);
				break;
			}
	}
	add_to(&t->stack[parent].value, s->value);
	*s = (struct frame_tree_stack){0};
}

/* Links a stack and those that it extends to their parents. */
static void link_stack(struct frame_tree *t, uint32_t id)
{
	bool has_names = false;
	while (id) {
		const struct frame *f =
			frames_get(t->session->frames, stacks_frame(t->session->stacks, id));
		uint32_t parent = stacks_parent(t->session->stacks, id);
		struct frame_tree_stack *s = &t->stack[id];
		has_names |= f->count != 0;
		if (s->is_linked && s->has_names >= has_names)
			return;
		s->has_names |= has_names;
		if (!s->is_linked) {
			s->is_linked = true;
			s->next = t->stack[parent].child;
			t->stack[parent].child = id;
		}
		id = parent;
	}
}

int frame_tree_add(struct frame_tree *t, const struct frame_tree_value *value, size_t n,
		   uint32_t *ret_root)
{
	const struct stacks *stacks = t->session->stacks;
	uint32_t root = add_node(t, 0, 0), id = 0;
	if (!root || !array_room(t->stack, t->stacks, stacks->table.used))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		add_to(&t->stack[value[i].stack].value, value[i].value);
		link_stack(t, value[i].stack);
	}
	t->node[root].self = t->stack[0].value;
	t->stack[0].node = root;
	for (;;) {
		uint32_t child = t->stack[id].child;
		if (child) {
			t->stack[id].child = t->stack[child].next;
			id = child;
			if (!enter(t, id))
				return -ENOMEM;
		} else if (id) {
			uint32_t parent = stacks_parent(stacks, id);
			leave(t, id);
			id = parent;
		} else {
			break;
		}
	}
	t->stack[0] = (struct frame_tree_stack){0};
	*ret_root = root;
	return 0;
}

static int by_name(const void *a, const void *b, void *ctx)
{
	const struct frame_tree *t = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = strcmp(t->label[x].text, t->label[y].text);
	return order ? order : x < y ? -1 : x > y;
}

int frame_tree_sort(struct frame_tree *t)
{
	uint32_t *order = malloc(t->labels * sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->labels; i++) {
		order[i] = i;
		/* The array does not move any more. */
		if (t->label[i].address[0])
			t->label[i].text = t->label[i].address;
	}
	qsort_r(order, t->labels, sizeof(*order), by_name, t);
	/* A node is behind its parent. */
	for (uint32_t i = t->nodes - 1; i; i--) {
		add_to(&t->node[i].total, t->node[i].self);
		add_to(&t->node[t->node[i].parent].total, t->node[i].total);
	}
	/* Each label's nodes become the first of their siblings, the last label first. */
	for (uint32_t i = t->labels; i-- > 0;)
		for (uint32_t n = t->label[order[i]].first; n; n = t->node[n].same_label) {
			struct frame_tree_node *parent = &t->node[t->node[n].parent];
			if (!t->node[n].label)
				continue;
			t->node[n].next = parent->child;
			parent->child = n;
		}
	free(order);
	return 0;
}
