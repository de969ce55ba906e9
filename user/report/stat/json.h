/* SPDX-License-Identifier: BSD-2-Clause */
/* The report and the lines of stat as JSON, an object a line; stat_schema() describes them. */
#ifndef REPORT_STAT_JSON_H
#define REPORT_STAT_JSON_H

#include "base/buf.h"
#include "report/stat/report.h"

void stat_json_line(struct buf *b, const struct stat_line *l);
void stat_json_report(struct buf *b, const struct stat_report *r);

#endif
