/* SPDX-License-Identifier: BSD-2-Clause */
/* What -U asks for may cost the traced programs much: that is refused before anything is attached,
 * with the price, unless --many allows it. */
#ifndef ENGINE_LIVE_MARKER_LIMITS_H
#define ENGINE_LIVE_MARKER_LIMITS_H

#include "engine/context.h"

struct inspect;

/* ENGINE_OK, or ENGINE_MISUSED with the reason reported: a marker that fires on every call, or more
 * than MARKER_REQUEST_SITES sites in one of the processes or in the program. Files that are mapped
 * later have the same limit, each by itself. */
enum engine_end marker_limits_check(const struct engine *e, struct inspect *inspect);

#endif
