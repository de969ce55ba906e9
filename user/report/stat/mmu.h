/* SPDX-License-Identifier: BSD-2-Clause */
/* Minimum mutator utilization (report/stat/model/mmu.h) as a part of the report of stat, and as a
 * picture. */
#ifndef REPORT_STAT_MMU_H
#define REPORT_STAT_MMU_H

#include "base/json.h"
#include "report/stat/report.h"

/* A table: a row for the process, and for each of its domains. Nothing if it was not measured. */
void stat_mmu_text(struct buf *b, const struct stat_process *p);
/* The members "mmu" and "mmu_within_ns" of the open object; nothing if it was not measured. */
void stat_mmu_json(struct json *j, const struct stat_process *p);
void stat_mmu_lane_json(struct json *j, const struct stat_lane *l);
/* A picture: a curve of the process and of each of its domains, or of each of several processes;
 * those with the most GC time. 0 or -ENOMEM. */
int stat_mmu_svg(struct buf *b, const struct stat_report *r);

#endif
