/* SPDX-License-Identifier: BSD-2-Clause */
/* What pauses were made of (report/stat/model/blame.h), as a part of the report of stat. */
#ifndef REPORT_STAT_BLAME_H
#define REPORT_STAT_BLAME_H

#include "base/json.h"
#include "report/stat/model/blame.h"

struct stat_report;

/* begin_ns: of the run, from which times are counted. */
void stat_blame_text(struct buf *b, const struct session *s, const struct blame_sums *m,
		     uint64_t begin_ns);
/* One sentence, a line of its own: what the longest pause was made of, and where it began. Nothing
 * if there was none. */
void stat_blame_sentence(struct buf *b, const struct session *s, const struct blame_sums *m);
/* As the member "blame" of the open object. */
void stat_blame_json(struct json *j, const struct session *s, const struct blame_sums *m);
/* A pause that is open at the end of an interval: a line of text; the member "open", null if it is
 * NULL. */
void stat_blame_open_text(struct buf *b, const struct blame_pause *p);
void stat_blame_open_json(struct json *j, const struct session *s, const struct blame_pause *p);
/* ", the longest by Gc.full_major at calls.ml:20 (Calls.collect)": of the pauses with an outermost
 * phase of the role; false, and nothing, if none has a stack. */
bool stat_blame_put_calls(struct buf *b, const struct session *s, const struct blame_sums *m,
			  enum traits_role role);
/* What the figures suggest, a line each; nothing if they suggest nothing. */
void stat_advice_text(struct buf *b, const struct stat_report *r);

#endif
