/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When the followed processes are scanned: by the clock, sooner where something has changed, later
 * where a scan takes so long that it would need too much of a CPU. Who is found is probed.
 */
#ifndef ENGINE_LIVE_SCAN_H
#define ENGINE_LIVE_SCAN_H

#include "engine/live/probing.h"
#include "engine/live/ring_files.h"
#include "engine/loop.h"

struct scan {
	struct loop *loop;
	struct follow *follow;
	struct ring_files *files;
	struct probing *probing;
	/* The first ring, of a program of ours, may wrap within milliseconds. */
	bool hurried;
	uint64_t began_ns;
	struct loop_timer timer;
	uint64_t at_ns; /* of the next scan */
	uint64_t
		rests_until_ns; /* behind one that took long: nothing brings the next one forward */
	uint64_t young_until_ns; /* a process that was added last may not have its ring yet */
};

/* The first scan is when the loop runs. All that it is given outlives scan_end(). */
void scan_begin(struct scan *s, struct loop *l, struct follow *f, struct ring_files *files,
		struct probing *p, bool hurried);
/* No more scans by the clock; all zero is allowed. */
void scan_end(struct scan *s);
/* A process has ended: scan at once. Does nothing before scan_begin() and after scan_end(). */
void scan_soon(struct scan *s);
/* A process was added: it is scanned again until it has begun. Before scan_begin() it has no
 * effect. */
void scan_new(struct scan *s);
/* A process has done something that a scan may find. Likewise. */
void scan_after(struct scan *s, enum bpf_change change);

#endif
