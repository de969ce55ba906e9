/* SPDX-License-Identifier: BSD-2-Clause */
/* The report and the lines of stat as text for people. */
#ifndef REPORT_STAT_TEXT_H
#define REPORT_STAT_TEXT_H

#include "base/buf.h"
#include "report/stat/report.h"

void stat_text_line(struct buf *b, const struct stat_line *l, bool heading);
void stat_text_report(struct buf *b, const struct stat_report *r);

#endif
