/* SPDX-License-Identifier: BSD-2-Clause */
/* What a timeline viewer shows beside the events, computed of them: counters of a process, and the
 * sites that allocated most. The same for every format. */
#ifndef FORMAT_DERIVED_H
#define FORMAT_DERIVED_H

#include <stdbool.h>
#include <stdint.h>

/* Numbers of the counters of a process: parts of track ids, only ever appended to. */
enum derived_id {
	DERIVED_LIVE = 0,
	DERIVED_PROMOTED = 1,
	DERIVED_PAGES_ALLOCATED = 2,
	DERIVED_PAGES_FREE = 3,
	DERIVED_PAGES_SCAVENGED = 4,
	DERIVED_PAGES_OF_P = 16, /* + P + 1 */
};

/* Holds from ts on. */
struct derived_counter {
	uint64_t ts;
	uint32_t process;
	uint32_t id;	  /* enum derived_id */
	const char *name; /* valid during the call */
	bool is_bytes;	  /* else pages */
	uint64_t value;
};

/* A site: all processes together. */
struct derived_site {
	unsigned rank; /* from 0 */
	/* "3.2 MiB (41.2 %) List.map (list.ml:10:2-8)"; valid during the call */
	const char *name;
	uint64_t bytes, low_bytes, high_bytes; /* low and high: of the 95 % interval */
	uint64_t objects, samples;
};
#define DERIVED_SITES "biggest allocation sites"

/* What a sink does with them. 0 or -errno. */
struct derived_visitor {
	int (*counter)(void *ctx, const struct derived_counter *c);
	int (*site)(void *ctx, const struct derived_site *site);
};

#endif
