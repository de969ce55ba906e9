/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The comparison of two recordings (model/mem_diff.h), which the options name. The first one is
 * read by the report mem_diff_before(), which prints nothing, the second by one of the others.
 */
#ifndef SINK_MEM_DIFF_H
#define SINK_MEM_DIFF_H

#include "model/mem_diff.h"
#include "sink/mem.h"

int mem_diff_before(struct buf *b, const struct mem_view *v);
int mem_diff_text(struct buf *b, const struct mem_view *v);
int mem_diff_json(struct buf *b, const struct mem_view *v);

#endif
