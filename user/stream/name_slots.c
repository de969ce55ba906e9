/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/name_slots.h"

void name_slots_init(struct name_slots *n, const struct session *s)
{
	*n = (struct name_slots){.session = s};
}

void name_slots_done(struct name_slots *n)
{
	for (unsigned i = 0; i < NAME_SLOTS && n->session; i++)
		strings_drop(n->session->strings, n->key[i].string);
}

uint32_t name_slots_find_any(struct name_slots *n, const struct ebt_event *ev, bool *ret_new)
{
	const struct processes *ps = &n->session->processes;
	struct name_key key = {.kind_and_id = (uint64_t)ev->kind << 32 | ev->id,
			       .raw_phase = processes_at(ps, ev->process)->traits.raw_phase};
	/* The name may change: the inline half must not find it by its id. */
	if (kinds_get(ev->kind)->label == KINDS_LABEL_user) {
		key.kind_and_id |= NAME_SLOTS_USER;
		key.string = processes_user_string(ps, ev->process, ev->id);
	}
	uint32_t slot = (ev->id * 16 + ev->kind + key.string * 37) % NAME_SLOTS;
	struct name_key *k = &n->key[slot];
	*ret_new = k->kind_and_id != key.kind_and_id || k->string != key.string ||
		   k->raw_phase != key.raw_phase;
	if (!*ret_new)
		return slot;
	strings_hold(n->session->strings, key.string);
	strings_drop(n->session->strings, k->string);
	*k = key;
	return slot;
}
