/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/name_slots.h"

void name_slots_init(struct name_slots *n, const struct session *s)
{
	*n = (struct name_slots){.session = s};
}

void name_slots_done(struct name_slots *n)
{
	for (unsigned i = 0; i < NAME_SLOTS && n->session; i++)
		strings_drop(n->session->strings, n->key[i].string);
}

void name_slots_set(struct name_slots *n, uint32_t slot, const struct name_key *key)
{
	strings_hold(n->session->strings, key->string);
	strings_drop(n->session->strings, n->key[slot].string);
	n->key[slot] = *key;
}
