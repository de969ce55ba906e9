/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lanes of a page trace merged in order of time, then of P, then of lane: a binary tree whose
 * leaves are lanes, in order of P. Each inner node merges its two children into a buffer of its own
 * when that is empty, without a branch for which child is next, as processors cannot predict it; the
 * root merges to the caller's events. A lane is not read before its first block's
 * time is reached, and leaves the tree at its end.
 */
#ifndef CODEC_PAGETRACE_MERGE_H
#define CODEC_PAGETRACE_MERGE_H

#include "codec/pagetrace/lane.h"

struct pagetrace_merge;

/* Keeps both pointers; `lane` is an array as the index has it. 0 or -ENOMEM. */
int pagetrace_merge_new(const struct pagetrace_trace *t, struct pagetrace_lane *lane,
			struct pagetrace_merge **ret);
void pagetrace_merge_free(struct pagetrace_merge *m);
ssize_t pagetrace_merge_read(struct pagetrace_merge *m, struct ebt_pagetrace_event *ev, size_t cap);

#endif
