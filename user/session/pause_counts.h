/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel counted of a thread in a pause, unpacked: the arguments of the EBT_END of the
 * pause's outermost phase, if both of its ends were probed. Each count may be unknown.
 */
#ifndef SESSION_PAUSE_COUNTS_H
#define SESSION_PAUSE_COUNTS_H

#include "session/event_args.h"

/* X(CONSTANT, key), in the order of events.def; keys are those of all outputs. */
#define PAUSE_COUNTS_LIST(X)                       \
	X(PAUSE_RUN_DELAY, run_delay_ns)           \
	X(PAUSE_VOLUNTARY, voluntary_switches)     \
	X(PAUSE_INVOLUNTARY, involuntary_switches) \
	X(PAUSE_MINOR_FAULTS, minor_faults)        \
	X(PAUSE_MAJOR_FAULTS, major_faults)        \
	X(PAUSE_MIGRATIONS, migrations)            \
	X(PAUSE_FAULT_NS, fault_ns)

enum pause_count {
#define X(CONSTANT, key) CONSTANT,
	PAUSE_COUNTS_LIST(X)
#undef X
		PAUSE_COUNTS /* their number */
};

#define PAUSE_UNKNOWN UINT64_MAX

struct pause_counts {
	uint64_t count[PAUSE_COUNTS]; /* PAUSE_UNKNOWN: not counted */
};

/* The key of a count; static. */
const char *pause_counts_key(unsigned count);
/* Writes them as the arguments of an EBT_END. 0 or -ENOMEM. */
int pause_counts_put(struct session *s, struct ebt_event *ev, const struct pause_counts *u);
/* Reads the counts of an event. False: it has none, and *ret is unchanged. */
bool pause_counts_get(const struct session *s, const struct ebt_event *ev,
		      struct pause_counts *ret);
/* Adds to a sum, zeroes at first: what one pause lacks the sum lacks. */
void pause_counts_add(struct pause_counts *sum, const struct pause_counts *u);
/* The thread ran, or could have, from the begin to the end. */
static inline bool pause_counts_never_blocked(const struct pause_counts *u)
{
	return !u->count[PAUSE_VOLUNTARY] && u->count[PAUSE_RUN_DELAY] != PAUSE_UNKNOWN;
}

#endif
