/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of a command's guest in the loop (struct engine_guest), for the runs that have a
 * loop. */
#ifndef ENGINE_GUEST_H
#define ENGINE_GUEST_H

#include "engine/context.h"

/* 0 or -errno. */
static inline int guest_join(const struct engine *e, struct loop *l)
{
	return e->guest ? e->guest->join(e->guest->ctx, l) : 0;
}
static inline void guest_leave(const struct engine *e, struct loop *l)
{
	if (e->guest)
		e->guest->leave(e->guest->ctx, l);
}
/* Whether the guest has asked for the end of the run. */
static inline bool guest_ends(const struct engine *e)
{
	return e->guest && e->guest->ends;
}

#endif
