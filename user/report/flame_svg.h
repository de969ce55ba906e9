/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Draws trees of functions (report/frame_tree.h) as one SVG file that needs no other: its root on
 * top, each function as wide as its value. Its script zooms, searches and shows what the mouse or
 * the keys are on; without a script it is a picture with tooltips.
 *
 * The size is bounded: functions narrower than FLAME_SHARE_MIN of all, beyond the FLAME_FRAMES
 * widest, or deeper than FLAME_LEVELS are merged into one frame a caller, and counted.
 */
#ifndef REPORT_FLAME_SVG_H
#define REPORT_FLAME_SVG_H

#include "base/buf.h"
#include "report/frame_tree.h"

#define FLAME_SHARE_MIN (1.0 / 20000)
#define FLAME_FRAMES	20000
#define FLAME_LEVELS	500

/* A tree; its values have a unit of their own. */
struct flame_part {
	const char *name; /* of its root */
	uint32_t root;
	double unit; /* a value times this is its width */
};

struct flame_svg {
	const char *title;
	const char *lines;  /* more above the picture, each ends with a newline */
	const char *legend; /* below it: what width and colour mean */
	const char *unit;   /* of a part's width: "bytes" */
	const struct frame_tree *tree;
	const struct flame_part *part; /* side by side */
	size_t parts;
	/* Appends what a value means, as text: "3.1 MiB". */
	void (*put_value)(void *ctx, size_t part, uint64_t value, struct buf *b);
	/* Appends what the values of a node mean, in place of its share and put_value(); may be
	 * NULL. */
	void (*put_node)(void *ctx, uint32_t node, struct buf *b);
	/* The colour of a node that is no root, in place of that of its module: its number in
	 * flame.css, or false for grey; may be NULL. */
	bool (*colour)(void *ctx, uint32_t node, unsigned *ret);
	void *ctx;
};

/* 0 or -ENOMEM; b has its own error. */
int flame_svg_put(struct buf *b, const struct flame_svg *f);

#endif
