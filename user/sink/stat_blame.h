/* SPDX-License-Identifier: BSD-2-Clause */
/* What pauses were made of (model/blame.h), as a part of the report of stat. */
#ifndef SINK_STAT_BLAME_H
#define SINK_STAT_BLAME_H

#include "base/json.h"
#include "model/blame.h"

struct stat_report;

/* begin_ns: of the run, from which times are counted. */
void stat_blame_text(struct buf *b, const struct session *s, struct blame *m, uint64_t begin_ns);
/* As the member "blame" of the open object. */
void stat_blame_json(struct json *j, const struct session *s, struct blame *m);
/* What the figures suggest, a line each; nothing if they suggest nothing. */
void stat_advice_text(struct buf *b, const struct stat_report *r);

#endif
