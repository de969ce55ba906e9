/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports damage that sources found in their files, and facts that a file lacks. */
#ifndef ENGINE_DAMAGE_H
#define ENGINE_DAMAGE_H

#include <stdbool.h>

#include "base/messages.h"
#include "source/file/capture.h"
#include "source/file/memtrace.h"
#include "source/file/pagetrace.h"
#include "source/ring/ring.h"

/* A line for each damaged ring file. */
void damage_report_rings(const struct messages *r, const struct ring_source *rings);
/* A line if nothing shows the release that wrote a ring file, so the newest is assumed. */
void damage_report_assumed(const struct messages *r, struct ebt_cursor *c, const char *name);
/* A line if a capture is damaged or was interrupted. False: it was none, or could not be read. */
bool damage_report_capture(const struct messages *r, const struct capture_source *s);
/* A line if a memtrace trace is damaged or cut. False: it was none, or could not be read. */
bool damage_report_memtrace(const struct messages *r, const struct memtrace_source *s);
/* A line if a page trace is damaged or cut. False: it was none, or could not be read. */
bool damage_report_pagetrace(const struct messages *r, const struct pagetrace_source *s);

#endif
