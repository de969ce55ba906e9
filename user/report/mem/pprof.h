/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report of mem as a profile for pprof (pprof.h): what was allocated and what is alive at the
 * end, in objects and bytes, by backtrace. Bytes are estimates; they are rounded so that their sum
 * is the rounded total. It needs MEM_FATES.
 */
#ifndef REPORT_MEM_PPROF_H
#define REPORT_MEM_PPROF_H

#include "report/mem/mem.h"

int mem_pprof(struct buf *b, const struct mem_view *v);

#endif
