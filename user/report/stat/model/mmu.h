/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Minimum mutator utilization: of all windows of a length the least share of time that the mutator
 * had in one. A window lies in one stretch of time that was watched without a hole. What is stopped
 * is a share: of a lane 0 or 1, of a process that of its domains which are stopped.
 *
 * The time stopped since the begin of the stretch is a function of time that changes its slope at
 * edges. A window in which it grows the most begins at an edge, or ends at one: so each edge is
 * visited twice for each length, when it comes and when time has passed it by the length, and those
 * of the longest window are kept. An edge costs about 10 visits of a few ns.
 *
 * A hole becomes known only behind it. mmu_end_at() takes windows back that end in it: of each
 * length the last MMU_CHANGES changes of the most stopped time are kept, older ones closer to each
 * other than to the present as one. What is taken back may then include windows before the hole,
 * never the reverse.
 *
 * Memory: at most MMU_EDGES edges of a second, and of all users of a room MMU_ROOM_BYTES. Where
 * there are more, those that are close to each other are dropped, with the time stopped between the
 * others unchanged. A window has a neighbour that begins or ends at an edge that is
 * left, so the most stopped time is off by at most half the time between two of these (gap_ns).
 */
#ifndef REPORT_STAT_MODEL_MMU_H
#define REPORT_STAT_MODEL_MMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MMU_WINDOWS    10 /* 1, 2, 5, 10 ... 1,000 ms */
#define MMU_EDGES      65536u
#define MMU_EDGES_MIN  64u /* that a user has whatever the room is */
#define MMU_CHANGES    4
#define MMU_ROOM_BYTES (64u << 20)

extern const uint64_t mmu_window_ns[MMU_WINDOWS];

/* Zeroed memory: none is in use. */
struct mmu_room {
	size_t bytes;
};

/* From `ns` on a share of the time is stopped. */
struct mmu_edge {
	uint64_t ns;
	double stopped_ns; /* in the stretch until then */
	double share;
};

/* The most stopped time changed with windows that end in [from_ns, to_ns]. */
struct mmu_change {
	uint64_t from_ns, to_ns;
	double was_ns; /* before; negative: there was no window */
};

struct mmu_most {
	double ns; /* the most stopped time of a window */
	bool any;  /* there was a window */
	uint8_t changes;
	struct mmu_change change[MMU_CHANGES]; /* the oldest first */
};

/* Zeroed memory, with `room` set: no stretch has begun. Private but for least and gap_ns. */
struct mmu {
	struct mmu_room *room;
	struct mmu_edge *edge;	    /* the first one of a stretch is its begin */
	uint32_t first, count, cap; /* those from first on are needed */
	uint64_t now_ns;
	uint32_t at[MMU_WINDOWS]; /* the first edge that time has not passed by the length */
	struct mmu_most most[MMU_WINDOWS];
	double least[MMU_WINDOWS]; /* of mmu_settle(): the share of the mutator; NAN: no window */
	uint64_t gap_ns;	   /* the longest time between edges with others dropped in it */
};

void mmu_done(struct mmu *m);
/* A stretch begins, where nothing is stopped; one that has not ended did with the last mmu_until()
 * or mmu_set(). 0 or -ENOMEM. */
int mmu_begin(struct mmu *m, uint64_t ns);
/* The stretch ends there. */
void mmu_end(struct mmu *m);
/* The stretch, if one has begun, ends at `ns` at the latest: windows that end behind it, of this
 * and of earlier stretches, do not count. */
void mmu_end_at(struct mmu *m, uint64_t ns);
/* The most by which stopped times of windows are off. */
static inline uint64_t mmu_within_ns(const struct mmu *m)
{
	return (m->gap_ns + 1) / 2;
}
/* Whether a stretch has begun, and not ended. */
static inline bool mmu_has_begun(const struct mmu *m)
{
	return m->count;
}
/* From `ns` on the share is stopped. Moments do not go back: an earlier one is the last one. 0 or
 * -ENOMEM. */
int mmu_set(struct mmu *m, uint64_t ns, double share);
/* Time has come to `ns`, if a stretch has begun. */
void mmu_until(struct mmu *m, uint64_t ns);
/* Sets `least`, as if a stretch that has not ended ended at `ns`, but goes on. */
void mmu_settle(struct mmu *m, uint64_t ns);
/* Keeps `least` alone. */
void mmu_release(struct mmu *m);

#endif
