/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/pages/model/owners.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 16

void pages_owners_done(struct pages_owners *o)
{
	free(o->owner);
	free(o->freed);
	free(o->slots);
	*o = (struct pages_owners){0};
}

static int grow(struct pages_owners *o)
{
	uint32_t cap = o->cap ? 2 * o->cap : FIRST_CAP;
	struct pages_owner *owner = calloc(cap, sizeof(*owner));
	uint64_t *freed = calloc((size_t)cap * cap, sizeof(*freed));
	struct pages_slot *slots = o->slots ? o->slots : calloc(PAGES_OWNERS_PS, sizeof(*slots));
	if (!owner || !freed || !slots) {
		free(owner);
		free(freed);
		if (slots != o->slots)
			free(slots);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < o->count; i++) {
		owner[i] = o->owner[i];
		memcpy(freed + (size_t)i * cap, o->freed + (size_t)i * o->cap,
		       o->count * sizeof(*freed));
	}
	free(o->owner);
	free(o->freed);
	o->owner = owner;
	o->freed = freed;
	o->slots = slots;
	o->cap = cap;
	o->count = o->count ? o->count : 1;
	return 0;
}

int pages_owners_find(struct pages_owners *o, int32_t p, uint32_t *ret_slot)
{
	struct pages_slot *slot = o->slots ? &o->slots[(uint16_t)(p + 1)] : NULL;
	/* Numbers of threads share entries of the index. */
	for (uint32_t i = 1; slot && slot->slot && i < o->count; i++) {
		if (o->owner[i].p != p)
			continue;
		*slot = (struct pages_slot){p, i};
		*ret_slot = i;
		return 0;
	}
	if (o->count == PAGES_OWNERS_MAX) {
		o->owner[0].used = true;
		*ret_slot = 0;
		return 0;
	}
	if (o->count == o->cap && grow(o))
		return -ENOMEM;
	o->owner[o->count] = (struct pages_owner){.p = p, .used = true};
	o->slots[(uint16_t)(p + 1)] = (struct pages_slot){p, o->count};
	*ret_slot = o->count++;
	return 0;
}

void pages_owners_clear(struct pages_owners *o)
{
	for (uint32_t i = 0; i < o->count; i++)
		o->owner[i] = (struct pages_owner){.p = o->owner[i].p, .used = o->owner[i].used};
	if (o->count)
		memset(o->freed, 0, (size_t)o->cap * o->cap * sizeof(*o->freed));
}
