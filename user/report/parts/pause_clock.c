/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/parts/pause_clock.h"

#include <errno.h>
#include <stdlib.h>

void pause_clock_done(struct pause_clock *c)
{
	free(c->waiting);
	*c = (struct pause_clock){0};
}

/* NULL: the thread does not wait. tid 0: a free one. */
static struct pause_thread *find_waiting(const struct pause_clock *c, uint32_t tid)
{
	for (unsigned i = 0; c->waiting && i < PAUSE_CLOCK_WAITING; i++)
		if (c->waiting[i].tid == tid)
			return &c->waiting[i];
	return NULL;
}

const struct pause_thread *pause_clock_next_waiting(const struct pause_clock *c, size_t *at)
{
	while (c->waiting && *at < PAUSE_CLOCK_WAITING) {
		const struct pause_thread *w = &c->waiting[(*at)++];
		if (w->tid)
			return w;
	}
	return NULL;
}

const struct pause_thread *pause_clock_end_waiting(struct pause_clock *c, uint32_t tid)
{
	struct pause_thread *w = find_waiting(c, tid);
	if (!w || --w->stopping)
		return NULL;
	w->tid = 0;
	return w;
}

int pause_clock_switch(struct pause_clock *c, uint32_t tid, uint64_t last_ns, uint64_t now_ns)
{
	struct pause_thread *w;
	int waits = 0;
	if (c->now.stopping && !c->now.tid)
		return 0;
	if (c->now.stopping) {
		if (!c->waiting && !(c->waiting = calloc(PAUSE_CLOCK_WAITING, sizeof(*w))))
			return -ENOMEM;
		w = find_waiting(c, 0);
		if (!w)
			return 0;
		pause_clock_spend(c, last_ns);
		*w = c->now;
		c->now = (struct pause_thread){0};
		waits = 1;
	}
	c->now.tid = tid;
	w = find_waiting(c, tid);
	if (w) {
		c->now = *w;
		c->now.begin_ns = now_ns;
		*w = (struct pause_thread){0};
	}
	return waits;
}
