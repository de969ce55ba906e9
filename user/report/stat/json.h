/* SPDX-License-Identifier: BSD-2-Clause */
/* The report of stat as JSON, an object of one line; stat_schema() describes it. */
#ifndef REPORT_STAT_JSON_H
#define REPORT_STAT_JSON_H

#include "base/buf.h"
#include "report/stat/report.h"

void stat_json_report(struct buf *b, const struct stat_report *r);

#endif
