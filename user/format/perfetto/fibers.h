/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tracks of fibers (format/fiber_tracks.h) in a Perfetto trace: below the track of their
 * domain, with arrows as flows from the instant of an eio.put to a running slice.
 */
#ifndef FORMAT_PERFETTO_FIBERS_H
#define FORMAT_PERFETTO_FIBERS_H

#include "format/fiber_tracks.h"
#include "format/perfetto/tracks.h"

enum perfetto_fibers_note {
	PERFETTO_FIBERS_FIBER,
	PERFETTO_FIBERS_CONTEXT,
	PERFETTO_FIBERS_TYPE,
	PERFETTO_FIBERS_OPERATION,
	PERFETTO_FIBERS_NOTES,
};

struct perfetto_fibers {
	const struct session *session;
	struct packets *packets;
	struct fiber_tracks *tracks;
	uint32_t note[PERFETTO_FIBERS_NOTES]; /* numbers of packets_intern_note(); 0: none yet */
};

/* Initialises zeroed memory; both pointers are kept. 0 or -ENOMEM. done() works after either. */
int perfetto_fibers_init(struct perfetto_fibers *f, const struct session *s, struct packets *p);
void perfetto_fibers_done(struct perfetto_fibers *f);

#endif
