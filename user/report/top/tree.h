/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows of processes as a tree: children behind their parents, siblings in the order of the
 * rows. */
#ifndef REPORT_TOP_TREE_H
#define REPORT_TOP_TREE_H

#include "report/top/row.h"

/*
 * Sorts rows, which are in the order of siblings, and sets depth, open and is_last. A process whose
 * parent is in no row is a root. Parents are untrusted: a circle of them is broken. 0 or -ENOMEM:
 * the rows are as they were.
 */
int top_tree_make(struct top_rows *rows);

#endif
