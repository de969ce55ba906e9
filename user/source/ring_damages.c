/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/ring_damages.h"

#include <errno.h>
#include <stdlib.h>

int ring_damages_keep(struct ring_damages *d, uint32_t number, const struct ring_damage *damage)
{
	struct file_damage *more = realloc(d->of, (d->count + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	d->of = more;
	more[d->count++] = (struct file_damage){number, *damage};
	return 0;
}

void ring_damages_done(struct ring_damages *d)
{
	for (uint32_t i = 0; i < d->count; i++)
		free((char *)(uintptr_t)d->of[i].damage.name);
	free(d->of);
}

void ring_damages_pick(struct file_damage *best, uint32_t from, uint32_t number,
		       const struct ring_damage *damage)
{
	if (damage->count && number >= from && (!best->damage.count || number < best->number))
		*best = (struct file_damage){number, *damage};
}

void ring_damages_pick_kept(const struct ring_damages *d, struct file_damage *best, uint32_t from)
{
	for (uint32_t i = 0; i < d->count; i++)
		ring_damages_pick(best, from, d->of[i].number, &d->of[i].damage);
}
