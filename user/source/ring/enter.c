/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/ring/enter.h"

#include "session/kinds.h"
#include "source/ring/file.h"

enum {
#define EBT_LIFECYCLE_ID(number, name, help) LIFECYCLE_##name = number,
#include <ebtrace/events.def>
};

static int enter_event(struct session *s, struct ring_lane *lane, struct ebt_event *ev,
		       const void *payloads)
{
	/* Damage of the file's header, which belongs to no domain, was noted as it was found. */
	if (ev->kind == EBT_DAMAGE && ev->domain != EBT_NO_DOMAIN)
		ring_file_damage(lane->file, ev->arg[0],
				 ev->arg[1] ? "a record" : "a head and a tail that fit", NULL);
	if (kinds_family(ev->kind) == KINDS_user) {
		int err = ring_file_learn(lane->file, s, ev->id);
		if (err)
			return err;
	}
	if (ev->flags & EBT_F_PAYLOAD)
		return session_put_blob(s, ev, (const char *)payloads + ev->arg[0], ev->arg[1]);
	return 0;
}

/* Of a ring whose events have ordinals. */
static bool is_counted(const struct ebt_event *ev)
{
	return ev->flags & EBT_F_SEQ || (ev->kind == EBT_LOST && ev->arg[0] != EBT_LOST_UNCOUNTED);
}

static void enter_thread(struct ring_owners *o, struct ebt_event *ev)
{
	bool spawns = ev->kind == EBT_LIFECYCLE && ev->id == LIFECYCLE_domain_spawn;
	if (ev->kind >= EBT_LOST)
		ring_owners_lose(o);
	else
		ev->tid = ring_owners_next(o, ev->pos, spawns);
}

int ring_enter(struct session *s, struct ring_lane *lane, struct ebt_event *ev, uint32_t n,
	       const void *payloads)
{
	int err = 0;
	/* Phases, counters and lifecycles, most events of a runtime, are complete. */
	for (uint32_t i = 0; i < n && !err; i++)
		if (ev[i].kind >= EBT_ALLOC_SIZES)
			err = enter_event(s, lane, &ev[i], payloads);
	for (uint32_t i = 0; i < n && lane->has_owners; i++)
		enter_thread(&lane->owners, &ev[i]);
	for (uint32_t i = 0; i < n && !lane->begun; i++) {
		lane->begun = is_counted(&ev[i]);
		ev[i].flags |= lane->begun ? EBT_F_FIRST : 0;
	}
	lane->last_ns = ev[n - 1].ts;
	return err;
}
