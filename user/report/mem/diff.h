/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The comparison of two recordings (report/mem/model/diff.h), which the options name. The first one
 * is read by the report mem_diff_before(), which prints nothing, the second by one of the others.
 */
#ifndef REPORT_MEM_DIFF_H
#define REPORT_MEM_DIFF_H

#include "report/mem/mem.h"
#include "report/mem/model/diff.h"

int mem_diff_before(struct buf *b, const struct mem_view *v);
int mem_diff_text(struct buf *b, const struct mem_view *v);
int mem_diff_json(struct buf *b, const struct mem_view *v);

#endif
