/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is lost of a process's rings beside their own lanes: events of threads that found no ring,
 * rings and files for which there was no memory. A short queue, in order of time, which is lane 0
 * of the ring source; what finds it full waits with its owner and is told later.
 */
#ifndef SOURCE_RING_LOSSES_H
#define SOURCE_RING_LOSSES_H

#include <ebtrace/event.h>
#include <stdbool.h>
#include <stddef.h>

#define RING_LOSSES_MAX 64

struct ring_losses {
	struct ebt_event ev[RING_LOSSES_MAX];
	uint32_t count;
};

struct ring_loss {
	uint32_t process;
	uint64_t since_ns, ts;
	uint64_t events; /* or EBT_LOST_UNCOUNTED */
	uint64_t words;
};

/* Behind the last one, whose `ts` is the least that it can have. False: no room now. */
bool ring_losses_tell(struct ring_losses *l, const struct ring_loss *loss);
/* Hands out those up to until_ns, oldest first; returns their number. */
size_t ring_losses_read(struct ring_losses *l, uint64_t until_ns, struct ebt_event *ev, size_t cap);

#endif
