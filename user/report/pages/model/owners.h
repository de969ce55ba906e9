/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processors of a runtime (Go's P), or threads of a process, that allocate, free and scavenge
 * pages, each with a slot of a dense index, and how many pages of each which one freed. Slot 0 is
 * of those beyond the limit of slots, together. Zeroed memory is empty.
 */
#ifndef REPORT_PAGES_MODEL_OWNERS_H
#define REPORT_PAGES_MODEL_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGES_OWNERS_MAX 1024 /* slots */
#define PAGES_OWNERS_PS	 65536

struct pages_owner {
	int32_t p; /* of slot 0 without a meaning */
	bool used; /* an event was of it */
	uint64_t events;
	uint64_t allocated, freed, scavenged; /* pages, by it */
};

struct pages_slot {
	int32_t p;
	uint32_t slot; /* 0: there is none yet */
};

struct pages_owners {
	uint32_t count, cap;	   /* slots in use, slot 0 included; of the matrix */
	struct pages_owner *owner; /* by slot */
	uint64_t *freed;	   /* [slot that allocated * cap + slot that freed]: pages */
	struct pages_slot *slots;  /* by p + 1 modulo 2^16: the newest of it */
};

void pages_owners_done(struct pages_owners *o);
/* Finds the slot of a P, or assigns one; -1 is a P, too. 0 or -ENOMEM. */
int pages_owners_find(struct pages_owners *o, int32_t p, uint32_t *ret_slot);
/* Sets the counts to 0. */
void pages_owners_clear(struct pages_owners *o);

/* 0 or -ENOMEM. */
static inline int pages_owners_slot(struct pages_owners *o, int32_t p, uint32_t *ret_slot)
{
	const struct pages_slot *s = o->slots ? &o->slots[(uint16_t)(p + 1)] : NULL;
	if (!s || s->p != p || !s->slot)
		return pages_owners_find(o, p, ret_slot);
	*ret_slot = s->slot;
	return 0;
}

static inline uint64_t pages_owners_freed(const struct pages_owners *o, uint32_t of, uint32_t by)
{
	return o->freed[(uint64_t)of * o->cap + by];
}

#endif
