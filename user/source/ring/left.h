/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rings whose words are left unread: they count as lost, and the reader goes on behind them. With
 * our extension block the loss is exact in events, else in words.
 */
#ifndef SOURCE_RING_LEFT_H
#define SOURCE_RING_LEFT_H

#include "source/ring/file.h"
#include "source/ring/lane.h"
#include "source/ring/losses.h"

/* Whether the words of a ring are left: its first ones, and its damage, are read all the same. */
bool ring_left_applies(const struct ring_file *f, uint32_t domain, const struct ring_lane *lane);
/*
 * Leaves the words up to the last look out. Words that were fetched before them come first: without
 * effect until they have been decoded, when f->undrained is set. reports: what has been left since
 * the last report goes to *ret, if it can be counted now; true: there is some.
 */
bool ring_left_skip(struct ring_file *f, uint32_t domain, struct ring_lane *lane, bool reports,
		    struct ring_loss *ret);

#endif
