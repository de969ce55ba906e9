/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Enters into the session what the decoded events of a ring refer to: names of user events and
 * payloads; notes damage at their file, and flags the first event of the ring.
 */
#ifndef SOURCE_RING_ENTER_H
#define SOURCE_RING_ENTER_H

#include "session/session.h"
#include "source/ring/lane.h"

/* n > 0 events that ring_lane_read() returned with these payloads. 0 or -ENOMEM. */
int ring_enter(struct session *s, struct ring_lane *lane, struct ebt_event *ev, uint32_t n,
	       const void *payloads);

#endif
