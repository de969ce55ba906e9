/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/ring_losses.h"

#include <stdlib.h>
#include <string.h>

void ring_losses_done(struct ring_losses *l)
{
	free(l->ev);
	*l = (struct ring_losses){0};
}

bool ring_losses_add(struct ring_losses *l, const struct ring_loss *loss)
{
	if (l->count == l->room) {
		uint32_t room = l->room ? 2 * l->room : 16;
		struct ebt_event *ev = realloc(l->ev, room * sizeof(*ev));
		if (!ev)
			return false;
		l->ev = ev;
		l->room = room;
	}
	uint64_t last_ns = l->count ? l->ev[l->count - 1].ts : 0;
	l->ev[l->count++] = (struct ebt_event){
		.kind = EBT_LOST,
		.ts = loss->ts > last_ns ? loss->ts : last_ns,
		.pos = loss->since_ns,
		.process = loss->process,
		.domain = EBT_NO_DOMAIN,
		.cpu = EBT_NO_CPU,
		.flags = EBT_F_RING,
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
