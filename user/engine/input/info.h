/* SPDX-License-Identifier: BSD-2-Clause */
/* The description of an input, for `ebtrace info`. */
#ifndef ENGINE_INPUT_INFO_H
#define ENGINE_INPUT_INFO_H

#include <ebtrace/cursor.h>
#include <ebtrace/event.h>
#include <ebtrace/memtrace.h>
#include <ebtrace/pagetrace.h>

#include "codec/capture/capture.h"
#include "session/totals.h"

#define INPUT_INFO_NAME_BYTES 64
#define INPUT_INFO_DAMAGES    8 /* offsets of damage that are kept */

struct input_info {
	const char *name; /* for messages: the input's, or process_name */
	char process_name[INPUT_INFO_NAME_BYTES];
	uint64_t kinds[EBT_KINDS]; /* events of each kind */
	/* A ring file. */
	struct ebt_cursor_info ring;
	uint64_t (*by_domain)[EBT_KINDS]; /* ring.max_domains of them */
	uint64_t first_ns, last_ns;
	bool has_time;	      /* the two are valid */
	struct totals losses; /* their sums, nothing else */
	uint64_t damage_offset[INPUT_INFO_DAMAGES];
	uint32_t damages;
	/* A capture; the session has its totals and processes. */
	struct capture_stats capture;
	struct capture_fault fault; /* count 0: none */
	/* A memtrace trace; the session has its totals and processes. */
	struct ebt_memtrace_counts memtrace;
	/* A page trace; the session has its totals and processes. */
	struct ebt_pagetrace_counts pagetrace;
	char reason[EBT_REASON_BYTES]; /* of the first damage; "": none */
};

#endif
