/* SPDX-License-Identifier: BSD-2-Clause */
/* Trees of functions (report/frame_tree.h) as folded stacks, which tools for flame graphs read: a
 * line for each stack with a value of its own, its functions from the outermost, separated by ";",
 * then the value. */
#ifndef REPORT_FOLDED_H
#define REPORT_FOLDED_H

#include "base/buf.h"
#include "report/frame_tree.h"

/* Private. */
struct folded {
	struct buf *out;
	struct buf text;   /* the names of the nodes from a root to the one that is being written */
	struct buf starts; /* size_t: where each name begins */
	size_t depth;
	/* The caller's, behind init(): writes the values of a node behind its path, with a space in
	 * front, in place of its own value. NULL: that. */
	void (*put_values)(void *ctx, uint32_t node, struct buf *b);
	void *ctx;
};

/* 0 or -ENOMEM; done() follows either. */
int folded_init(struct folded *f, struct buf *out);
void folded_done(struct folded *f);
/* Writes the lines of a tree, with `name` outside of all functions unless it is NULL, but for
 * stacks of fewer than `least` functions, or none. Returns the value of those. */
uint64_t folded_put(struct folded *f, const struct frame_tree *t, uint32_t root, const char *name,
		    size_t least);
/* 0 or the first error. */
static inline int folded_error(const struct folded *f)
{
	return f->text.err ? f->text.err : f->starts.err;
}

#endif
