/* SPDX-License-Identifier: BSD-2-Clause */
/* Flame graphs of allocations (report/mem/model/flame.h), as text and as a picture. */
#ifndef REPORT_MEM_FLAME_H
#define REPORT_MEM_FLAME_H

#include "report/mem/mem.h"

/*
 * Folded stacks: a line for each path, "a;b;c SAMPLES", as memtrace's own tool writes them. Paths
 * of one function are left out as there; a message names their samples. With several programs the
 * first function is the program's name.
 */
int mem_flame_folded(struct buf *b, const struct mem_view *v);
/* An interactive SVG (flame_svg.h), in bytes. */
int mem_flame_svg(struct buf *b, const struct mem_view *v);

#endif
