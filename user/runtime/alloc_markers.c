/* SPDX-License-Identifier: BSD-2-Clause */
#include "runtime/alloc_markers.h"

#include <string.h>

#define TAIL 3 /* ring, ts, pos */

static const struct {
	const char *provider, *name;
	unsigned args;
} markers[ALLOC_MARKERS] = {
	[ALLOC_MARKER_ALLOC] = {"ebtrace", "alloc", 4 + TAIL},
	[ALLOC_MARKER_PROMOTE] = {"ebtrace", "promote", 1 + TAIL},
	[ALLOC_MARKER_COLLECT] = {"ebtrace", "collect", 1 + TAIL},
	[ALLOC_MARKER_OTEL_ALLOC] = {"otel_memory", "alloc", 3},
	[ALLOC_MARKER_OTEL_FREE] = {"otel_memory", "free", 1},
	[ALLOC_MARKER_PAGE_ALLOC] = {"ebtrace", "page_alloc", 2 + TAIL},
	[ALLOC_MARKER_PAGE_FREE] = {"ebtrace", "page_free", 2 + TAIL},
	[ALLOC_MARKER_PAGE_SCAVENGE] = {"ebtrace", "page_scavenge", 2 + TAIL},
};

enum alloc_marker alloc_marker_of(const struct notes_site *site, struct usdt_args *ret)
{
	for (enum alloc_marker m = 0; m < ALLOC_MARKERS; m++)
		if (!strcmp(site->provider, markers[m].provider) &&
		    !strcmp(site->name, markers[m].name))
			return !usdt_args_parse(site->args, ret, NULL) &&
					       ret->count >= markers[m].args
				       ? m
				       : ALLOC_MARKERS;
	return ALLOC_MARKERS;
}

uint32_t alloc_markers_count(int fd)
{
	struct notes notes;
	struct usdt_args args;
	uint32_t n = 0;
	if (notes_read(fd, NULL, &notes))
		return 0;
	for (uint32_t i = 0; i < notes.sites; i++)
		n += alloc_marker_of(&notes.site[i], &args) != ALLOC_MARKERS;
	notes_done(&notes);
	return n;
}
