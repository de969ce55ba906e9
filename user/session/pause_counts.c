/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/pause_counts.h"

const char *pause_counts_key(unsigned count)
{
	static const char *const keys[] = {
#define X(CONSTANT, key) [CONSTANT] = #key,
		PAUSE_COUNTS_LIST(X)
#undef X
	};
	return keys[count];
}

/* PAUSE_UNKNOWN becomes 0: "not known" in arguments of this type. */
int pause_counts_put(struct session *s, struct ebt_event *ev, const struct pause_counts *u)
{
	struct event_args_payload p = {0};
	for (unsigned i = 0; i < PAUSE_COUNTS; i++)
		p.word[i] = u->count[i] + 1;
	return session_put_blob(s, ev, &p, EVENT_ARGS_BYTES(PAUSE_COUNTS));
}

bool pause_counts_get(const struct session *s, const struct ebt_event *ev, struct pause_counts *ret)
{
	struct event_args_payload p;
	if (ev->kind != EBT_END || !(ev->flags & EBT_F_PAYLOAD))
		return false;
	event_args_payload(s, ev, &p);
	for (unsigned i = 0; i < PAUSE_COUNTS; i++)
		ret->count[i] = p.word[i] - 1;
	return true;
}

void pause_counts_add(struct pause_counts *sum, const struct pause_counts *u)
{
	for (unsigned i = 0; i < PAUSE_COUNTS; i++) {
		bool known = sum->count[i] != PAUSE_UNKNOWN && u->count[i] != PAUSE_UNKNOWN;
		sum->count[i] = known ? sum->count[i] + u->count[i] : PAUSE_UNKNOWN;
	}
}
