/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counts of an output or of a run, and the one list of them: the struct, their sum over the
 * outputs of a rotated run, what a capture keeps, and how each report shows them come from it. The
 * pump counts (pump.h); every sink's summary shows the same numbers under the same keys.
 */
#ifndef SESSION_TOTALS_H
#define SESSION_TOTALS_H

#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * X(name, sum, shown, kept): name is the key, too. Rows are in the order in which they are shown.
 *   sum    SUM: added; FIRST, LAST: that of the first or last output that has one
 *   shown  SUMMARY: always; WHOLE: only where every total is; HIDDEN: never, it qualifies another
 *   kept   position in a capture's totals, from 1; never reused; 0: not kept
 */
#define TOTALS(X)                                                                                  \
	/* delivered, without losses, damage and changes of processes */                           \
	X(events, SUM, SUMMARY, 1)                                                                 \
	X(first_ns, FIRST, WHOLE, 8)                                                               \
	X(last_ns, LAST, WHOLE, 9)                                                                 \
	/* events of any kind that have a time; 0: first_ns and last_ns are not known */           \
	X(timed, SUM, HIDDEN, 10)                                                                  \
	/* lost events as far as known; the losses with an unknown number of events; lost words */ \
	X(lost_events, SUM, SUMMARY, 2)                                                            \
	X(lost_uncounted, SUM, HIDDEN, 0)                                                          \
	X(lost_words, SUM, SUMMARY, 3)                                                             \
	/* those three for the time before the tracer attached; not in the lost ones */            \
	X(history_events, SUM, SUMMARY, 4)                                                         \
	X(history_uncounted, SUM, HIDDEN, 0)                                                       \
	X(history_words, SUM, SUMMARY, 5)                                                          \
	/* uncounted losses while probes were not in place yet, and how long that was */           \
	X(unwatched, SUM, HIDDEN, 0)                                                               \
	X(unwatched_ns, SUM, SUMMARY, 0)                                                           \
	/* events that came after later ones had been delivered */                                 \
	X(late, SUM, SUMMARY, 6)                                                                   \
	/* places of the input that are damaged, and the allocations known to be lost there */     \
	X(damaged, SUM, SUMMARY, 7)                                                                \
	X(lost_allocs, SUM, HIDDEN, 0)

struct totals {
#define X(name, sum, shown, kept) uint64_t name;
	TOTALS(X)
#undef X
};

/* Adds those of the output that follows. */
void totals_add(struct totals *t, const struct totals *next);

/* Subtracts those of an earlier moment of the same run; first_ns stays. */
void totals_since(struct totals *t, const struct totals *earlier);

#define TOTALS_KEPT 10
/*
 * To the numbers that a capture keeps, and back; those that it does not keep become 0. A capture's
 * lost_events and lost_words include its history.
 */
void totals_pack(const struct totals *from, uint64_t ret[TOTALS_KEPT]);
void totals_unpack(const uint64_t kept[TOTALS_KEPT], struct totals *ret);

/* A total as it is shown. */
struct totals_row {
	const char *key; /* static */
	uint64_t value;
	bool known; /* false: some of what it counts was not counted */
};

/*
 * The next row from *at on, which moves behind it; false at the end. Start with *at = 0. Without
 * `whole`: those of a summary, unwatched_ns only where probes were not in place for some time.
 */
bool totals_next(const struct totals *t, bool whole, unsigned *at, struct totals_row *ret);
/* Writes the rows as members of the open object; what is not known is null. */
void totals_put_json(struct json *j, const struct totals *t, bool whole);

#endif
