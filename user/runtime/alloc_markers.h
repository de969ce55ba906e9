/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The markers of sampled allocations: ours (alloc, promote, collect of provider ebtrace) and those
 * of OpenTelemetry's contract (otel_memory:alloc and free), which any allocator may have; and those
 * of a heap's pages (page_alloc, page_free, page_scavenge of ebtrace). Each site's note has the
 * locations of its arguments.
 */
#ifndef RUNTIME_ALLOC_MARKERS_H
#define RUNTIME_ALLOC_MARKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/notes.h"
#include "elf/usdt_args.h"

enum alloc_marker {
	ALLOC_MARKER_ALLOC,
	ALLOC_MARKER_PROMOTE,
	ALLOC_MARKER_COLLECT,
	ALLOC_MARKER_OTEL_ALLOC,
	ALLOC_MARKER_OTEL_FREE,
	ALLOC_MARKER_PAGE_ALLOC,
	ALLOC_MARKER_PAGE_FREE,
	ALLOC_MARKER_PAGE_SCAVENGE,
	ALLOC_MARKERS, /* none of them */
};

static inline bool alloc_marker_is_of_pages(enum alloc_marker m)
{
	return m >= ALLOC_MARKER_PAGE_ALLOC && m < ALLOC_MARKERS;
}

/* The marker of a site, with its arguments, at least as many as the marker needs, in *ret.
 * ALLOC_MARKERS: the site is of no marker. */
enum alloc_marker alloc_marker_of(const struct notes_site *site, struct usdt_args *ret);
/* The number of sites of markers in a file. */
uint32_t alloc_markers_count(int fd);

#endif
