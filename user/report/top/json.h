/* SPDX-License-Identifier: BSD-2-Clause */
/* A frame of top as JSON, an object of one line; top_schema() (top.h) describes it. */
#ifndef REPORT_TOP_JSON_H
#define REPORT_TOP_JSON_H

#include "base/buf.h"
#include "report/top/rows.h"

/* rows: their number at most; 0: all. */
void top_json(struct buf *b, const struct session *s, const struct top_rows *rows,
	      const struct top_order *order, uint64_t begin_ns, uint32_t most);

#endif
