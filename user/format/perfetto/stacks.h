/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks of events in a Perfetto trace, each written once and referred to by number: a Callstack,
 * with each frame's function, file and line and, where it is known, the path and build id of its
 * mapping; and the text that the note "stack" of events refers to. A stack that is longer than the
 * session's max_stack, or than a packet has room for, is cut: both have its innermost functions,
 * and say so.
 *
 * Stacks are held as long as their numbers are in use. All are written anew, with new numbers,
 * beyond PERFETTO_STACKS and when the packets have dropped their names.
 */
#ifndef FORMAT_PERFETTO_STACKS_H
#define FORMAT_PERFETTO_STACKS_H

#include "base/map.h"
#include "format/perfetto/packet.h"

#define PERFETTO_STACKS 16384

struct perfetto_stacks {
	const struct session *session;
	struct packets *packets;
	/* The numbers of what was written: by the session's id of a string, frame or stack, or by
	 * path << 32 | build id. Those of a frame's positions follow each other. */
	struct map functions, sources, mappings, frames, stacks;
	uint32_t left_out;   /* the number of the frame for what is left out; 0: not written */
	uint32_t no_mapping; /* the number of the mapping without a path; 0: not written */
	uint32_t next_iid;   /* of all of them; a number is never used again */
	uint32_t first_iid;  /* of the packets, when the numbers were assigned */
};

/* Initialises zeroed memory; both pointers are kept. */
void perfetto_stacks_init(struct perfetto_stacks *k, const struct session *s, struct packets *p);
void perfetto_stacks_done(struct perfetto_stacks *k);
/* The number of a stack, which is written if it is new; 0: there is no memory. Before the packet is
 * opened that refers to it, behind the names that it has. */
uint32_t perfetto_stacks_number(struct perfetto_stacks *k, uint32_t stack);

#endif
