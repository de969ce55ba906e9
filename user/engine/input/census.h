/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads an input to its end and counts its events, for `ebtrace info`. */
#ifndef ENGINE_INPUT_CENSUS_H
#define ENGINE_INPUT_CENSUS_H

#include "engine/context.h"
#include "engine/loop.h"
#include "stream/source.h"

/* Adds the source's events to ret_kinds, by kind; the session has their totals then. The name is
 * for messages. ENGINE_OK, or the reason has been reported. */
enum engine_end census_count(const struct engine *e, struct loop *l, const char *name,
			     struct source *source, uint64_t ret_kinds[EBT_KINDS]);

#endif
