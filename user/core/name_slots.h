/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slots for what a sink prepares of the names of events: by kind, id, registered name and the
 * numbers of the process's runtime, which together decide what an event is called, in every process
 * alike. The sink keeps an array of NAME_SLOTS entries of its own; an entry is valid until its slot
 * is reported as new. Direct-mapped: names that share a slot replace each other.
 */
#ifndef CORE_NAME_SLOTS_H
#define CORE_NAME_SLOTS_H

#include "core/kinds.h"
#include "core/session.h"

#define NAME_SLOTS 1024

struct name_key {
	const uint16_t *raw_phase; /* of the runtime's traits */
	uint32_t id;
	uint32_t string; /* of a user event's name, held; else 0 */
	uint16_t kind;	 /* 0: free */
};

/* Fields are private but for the inline function below. */
struct name_slots {
	const struct session *session;
	struct name_key key[NAME_SLOTS];
};

void name_slots_init(struct name_slots *n, const struct session *s);
void name_slots_done(struct name_slots *n); /* also of zeroed memory */
/* The cold half of name_slots_find(). */
void name_slots_set(struct name_slots *n, uint32_t slot, const struct name_key *key);

/* The slot of an event's name; *ret_new: it was another name's, or free. */
static inline uint32_t name_slots_find(struct name_slots *n, const struct ebt_event *ev,
				       bool *ret_new)
{
	const struct processes *ps = &n->session->processes;
	struct name_key key = {.raw_phase = processes_at(ps, ev->process)->traits.raw_phase,
			       .id = ev->id,
			       .kind = ev->kind};
	if (kinds_get(ev->kind)->label == KINDS_LABEL_user)
		key.string = processes_user_string(ps, ev->process, ev->id);
	uint32_t slot = (key.id * 16 + key.kind + key.string * 37) % NAME_SLOTS;
	const struct name_key *k = &n->key[slot];
	*ret_new = k->kind != key.kind || k->id != key.id || k->string != key.string ||
		   k->raw_phase != key.raw_phase;
	if (*ret_new)
		name_slots_set(n, slot, &key);
	return slot;
}

#endif
