/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The comparison of two profiles (report/profile/model/diff.h), which the options name. The first
 * one is read by profile_diff_before(), which prints nothing, the second by one of the others.
 */
#ifndef REPORT_PROFILE_DIFF_H
#define REPORT_PROFILE_DIFF_H

#include "report/profile/model/diff.h"
#include "report/profile/profile.h"
#include "report/schema.h"

int profile_diff_before(struct buf *b, const struct profile_view *v);
int profile_diff_text(struct buf *b, const struct profile_view *v);
int profile_diff_json(struct buf *b, const struct profile_view *v);
int profile_diff_folded(struct buf *b, const struct profile_view *v);
int profile_diff_svg(struct buf *b, const struct profile_view *v);

/* The objects of the schema of profile_diff_json(), but for "share" and "stacks"; the first one is
 * the document. */
#define PROFILE_DIFF_PARTS 5
extern const struct schema_part profile_diff_parts[PROFILE_DIFF_PARTS];

#endif
