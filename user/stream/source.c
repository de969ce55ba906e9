/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/source.h"

#include <errno.h>

int source_follow(struct source *s, const struct timebase *output)
{
	uint64_t shift_ns;
	if (!timebase_shift(&s->timebase, output, &shift_ns))
		return -ENOTSUP;
	s->shift_ns = shift_ns;
	return 0;
}

void source_shift(const struct source *s, struct ebt_event *ev, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		ev[i].ts += s->shift_ns;
		if (ev[i].kind == EBT_LOST && !(ev[i].flags & EBT_F_NO_SINCE))
			EBT_LOST_SINCE(&ev[i]) += s->shift_ns;
	}
}
