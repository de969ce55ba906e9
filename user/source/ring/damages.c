/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/ring/damages.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"

int ring_damages_keep(struct ring_damages *d, uint32_t number, const struct ring_damage *damage)
{
	if (!array_more(d->of, d->count))
		return -ENOMEM;
	uint32_t at = d->count++;
	for (; at && d->of[at - 1].number > number; at--)
		d->of[at] = d->of[at - 1];
	d->of[at] = (struct file_damage){number, *damage};
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
	uint32_t at = 0;
	for (uint32_t left = d->count; left;) {
		uint32_t half = left / 2;
		bool before = d->of[at + half].number < from;
		at += before ? half + 1 : 0;
		left = before ? left - half - 1 : half;
	}
	if (at < d->count)
		ring_damages_pick(best, from, d->of[at].number, &d->of[at].damage);
}
