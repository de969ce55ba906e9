/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When the traced processes are scanned: by the clock, sooner where something has changed, later
 * where a scan would need too much of a CPU. Processes that are found are probed. What is
 * due of single processes is read between the scans.
 */
#ifndef ENGINE_LIVE_SCAN_H
#define ENGINE_LIVE_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/live/everyone.h"
#include "engine/live/probing.h"
#include "engine/live/ring_files.h"
#include "engine/live/traced.h"
#include "engine/loop.h"

/* Zeroed memory: no scans. Fields are private. */
struct scan {
	struct loop *loop;
	struct everyone *everyone; /* NULL: single processes are traced */
	struct traced *traced;
	struct ring_files *files;
	struct probing *probing;
	/* The first ring, of a program of ours, may wrap within milliseconds. */
	bool hurried;
	uint64_t began_ns;
	struct loop_timer timer;
	uint64_t at_ns;	    /* of the next scan */
	uint64_t births_ns; /* of the next search for children; UINT64_MAX: scans do that */
	uint64_t cost_ns;   /* CPU time of the last one */
	uint64_t all_ns;    /* of the next one that is not of new processes alone */
	uint64_t
		rests_until_ns; /* behind one that took long: nothing brings the next one forward */
};

/* The first scan is when the loop runs. All that it is given outlives scan_end(). */
void scan_begin(struct scan *s, struct loop *l, struct everyone *everyone, struct traced *traced,
		struct ring_files *files, struct probing *p, bool hurried);
/* No more scans by the clock; all zero is allowed. */
void scan_end(struct scan *s);
/* Scan at once, as is done when a process has exited. Does nothing before scan_begin() and after
 * scan_end(). */
void scan_soon(struct scan *s);
/* Reads what is due of processes that are new, or have changed. Does nothing before scan_begin()
 * and after scan_end(). 0 or -errno. */
int scan_due(struct scan *s);

#endif
