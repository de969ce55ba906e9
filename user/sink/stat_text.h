/* SPDX-License-Identifier: BSD-2-Clause */
/* The report and the lines of stat as text for people. */
#ifndef SINK_STAT_TEXT_H
#define SINK_STAT_TEXT_H

#include "base/buf.h"
#include "sink/stat_report.h"

void stat_text_line(struct buf *b, const struct stat_line *l, bool heading);
void stat_text_report(struct buf *b, const struct stat_report *r);

#endif
