/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/profile/model/places.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "session/kinds.h"

static uint64_t key_of(uint32_t process, uint32_t number)
{
	return (uint64_t)process << 32 | number;
}

void places_done(struct places *p)
{
	free(p->domain);
	map_done(&p->by_number);
	map_done(&p->threads);
	*p = (struct places){0};
}

static const struct places_domain *find(const struct places *p, uint32_t process, uint16_t number)
{
	const uint64_t *at = map_get(&p->by_number, key_of(process, number));
	return at ? &p->domain[*at - 1] : NULL;
}

/* NULL: no memory. */
static struct places_domain *make(struct places *p, uint32_t process, uint16_t number)
{
	uint64_t *at = map_put(&p->by_number, key_of(process, number));
	if (!at || *at)
		return at ? &p->domain[*at - 1] : NULL;
	if (!array_reserve(p->domain, p->room, p->domains)) {
		map_delete(&p->by_number, key_of(process, number));
		return NULL;
	}
	p->domain[p->domains++] = (struct places_domain){.process = process, .number = number};
	*at = p->domains;
	return &p->domain[p->domains - 1];
}

static void enter(struct places_domain *d, uint32_t id)
{
	if (d->depth < PLACE_DEPTH)
		d->row[d->depth] = (uint16_t)phases_row(id);
	d->depth++;
}

/* A phase that begins inside of another one ends before it, or its end was not seen. */
static void leave(struct places_domain *d, uint32_t id)
{
	uint32_t row = phases_row(id), depth = d->depth;
	while (depth && (depth > PLACE_DEPTH || d->row[depth - 1] != row))
		depth--;
	if (depth)
		d->depth = depth - 1;
}

static int note_thread(struct places *p, const struct ebt_event *ev)
{
	uint64_t *domain = map_put(&p->threads, key_of(ev->process, ev->tid));
	if (!domain)
		return -ENOMEM;
	*domain = ev->domain + 1ull;
	return 0;
}

int places_event(struct places *p, const struct ebt_event *ev)
{
	bool is_loss = ev->kind == EBT_LOST;
	if (ev->domain == EBT_NO_DOMAIN || !(is_loss || kinds_is_of_lane(ev->kind)))
		return 0;
	struct places_domain *d = make(p, ev->process, ev->domain);
	if (!d)
		return -ENOMEM;
	d->is_known = !is_loss;
	if (is_loss)
		d->depth = 0;
	else if (ev->kind == EBT_BEGIN)
		enter(d, ev->id);
	else if (ev->kind == EBT_END)
		leave(d, ev->id);
	return ev->tid && !is_loss ? note_thread(p, ev) : 0;
}

uint16_t places_find(const struct places *p, const struct ebt_event *sample, unsigned *ret_place)
{
	const uint64_t *by_thread = map_get(&p->threads, key_of(sample->process, sample->tid));
	uint16_t number = sample->domain != EBT_NO_DOMAIN ? sample->domain
			  : by_thread			  ? (uint16_t)(*by_thread - 1)
							  : EBT_NO_DOMAIN;
	*ret_place = PLACE_OUTSIDE;
	if (number == EBT_NO_DOMAIN)
		return number;
	const struct places_domain *d = find(p, sample->process, number);
	*ret_place = d && d->is_known ? PLACE_MUTATOR : PLACE_SILENT;
	uint32_t depth = !d ? 0 : d->depth < PLACE_DEPTH ? d->depth : PLACE_DEPTH;
	/* The innermost phase, if any around it stops the mutator. */
	for (uint32_t i = 0; i < depth; i++)
		if (phases_stop(d->row[i]))
			*ret_place = d->row[depth - 1];
	return number;
}

void places_forget(struct places *p, uint32_t process)
{
	for (uint32_t i = 0; i < p->domains;) {
		struct places_domain *d = &p->domain[i];
		if (d->process != process) {
			i++;
			continue;
		}
		map_delete(&p->by_number, key_of(process, d->number));
		*d = p->domain[--p->domains];
		if (i < p->domains)
			*map_get(&p->by_number, key_of(d->process, d->number)) = i + 1;
	}
	/* Deleting moves others: it begins anew until none is left. */
	size_t at = 0;
	for (struct map_slot *s; (s = map_next(&p->threads, &at));) {
		if (s->key >> 32 != process)
			continue;
		map_delete(&p->threads, s->key);
		at = 0;
	}
}
