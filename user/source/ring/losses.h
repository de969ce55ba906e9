/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Losses of a process that belong to none of its rings' lanes: events of threads that found no
 * ring, rings and files that did not fit the budget, words that are left unread. A queue in time
 * order, which is lane 0 of the ring source.
 */
#ifndef SOURCE_RING_LOSSES_H
#define SOURCE_RING_LOSSES_H

#include <ebtrace/event.h>
#include <stdbool.h>
#include <stddef.h>

struct ring_losses {
	struct ebt_event *ev;
	uint32_t count, room;
};

struct ring_loss {
	uint32_t process;
	uint64_t since_ns, ts;
	uint64_t events; /* or EBT_LOST_UNCOUNTED */
	uint64_t words;
	/* Of one ring, and of its events up to this ordinal, without it: join() counts them. */
	bool is_of_ring;
	uint16_t domain;
	uint32_t seq;
};

/* Zeroed memory is an empty queue. */
void ring_losses_done(struct ring_losses *l);
/* Appends a loss; its ts is raised to that of the last one. False: no memory; the caller keeps
 * it. */
bool ring_losses_add(struct ring_losses *l, const struct ring_loss *loss);
/* Removes the losses up to until_ns, oldest first; returns their number. */
size_t ring_losses_read(struct ring_losses *l, uint64_t until_ns, struct ebt_event *ev, size_t cap);

#endif
