/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slots for what a sink prepares of the names of events: by kind, id, registered name and the
 * numbers of the process's runtime, which together decide what an event is called, in every process
 * alike. The sink keeps an array of NAME_SLOTS entries of its own; an entry is valid until its slot
 * is reported as new. Direct-mapped: names that share a slot replace each other.
 */
#ifndef STREAM_NAME_SLOTS_H
#define STREAM_NAME_SLOTS_H

#include "session/kinds.h"
#include "session/session.h"

#define NAME_SLOTS	1024
#define NAME_SLOTS_USER (1ull << 63)

struct name_key {
	uint64_t kind_and_id; /* kind << 32 | id; 0: free; of user events with NAME_SLOTS_USER */
	const uint16_t *raw_phase; /* of the runtime's traits */
	uint32_t string;	   /* of a user event's name, held; else 0 */
};

/* Fields are private but for the inline function below. */
struct name_slots {
	const struct session *session;
	struct name_key key[NAME_SLOTS];
};

void name_slots_init(struct name_slots *n, const struct session *s);
void name_slots_done(struct name_slots *n); /* also of zeroed memory */
/* The cold half of name_slots_find(): of user events, and of names that are new. */
uint32_t name_slots_find_any(struct name_slots *n, const struct ebt_event *ev, bool *ret_new);

/* The slot of an event's name; *ret_new: it was another name's, or free. */
static inline uint32_t name_slots_find(struct name_slots *n, const struct ebt_event *ev,
				       bool *ret_new)
{
	const struct process *p = processes_at(&n->session->processes, ev->process);
	uint32_t slot = (ev->id * 16 + ev->kind) % NAME_SLOTS;
	const struct name_key *k = &n->key[slot];
	if (k->kind_and_id != ((uint64_t)ev->kind << 32 | ev->id) ||
	    k->raw_phase != p->traits.raw_phase)
		return name_slots_find_any(n, ev, ret_new);
	*ret_new = false;
	return slot;
}

#endif
