/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/ring/losses.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void ring_losses_done(struct ring_losses *l)
{
	free(l->ev);
	*l = (struct ring_losses){0};
}

bool ring_losses_add(struct ring_losses *l, const struct ring_loss *loss)
{
	if (!array_reserve(l->ev, l->room, l->count))
		return false;
	uint64_t last_ns = l->count ? l->ev[l->count - 1].ts : 0;
	l->ev[l->count++] = (struct ebt_event){
		.kind = EBT_LOST,
		.ts = loss->ts > last_ns ? loss->ts : last_ns,
		.pos = loss->since_ns,
		.process = loss->process,
		.domain = loss->is_of_ring ? loss->domain : EBT_NO_DOMAIN,
		.cpu = EBT_NO_CPU,
		.seq = loss->seq,
		.flags = (uint16_t)(EBT_F_RING | (loss->is_of_ring ? EBT_F_SEQ : 0)),
		.arg = {loss->events, loss->words},
	};
	return true;
}

size_t ring_losses_read(struct ring_losses *l, uint64_t until_ns, struct ebt_event *ev, size_t cap)
{
	uint32_t n = 0;
	while (n < l->count && n < cap && l->ev[n].ts <= until_ns) {
		ev[n] = l->ev[n];
		n++;
	}
	l->count -= n;
	if (n && l->count)
		memmove(l->ev, l->ev + n, l->count * sizeof(*l->ev));
	return n;
}
