/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/page_tracks.h"

#include <stdio.h>

void page_tracks_init(struct page_tracks *t, const struct session *s,
		      const struct derived_visitor *v, void *ctx)
{
	*t = (struct page_tracks){.visitor = v, .ctx = ctx, .counters = {.session = s}};
}

void page_tracks_done(struct page_tracks *t)
{
	page_counters_done(&t->counters);
}

static int put(struct page_tracks *t, const struct page_counters_state *s, uint32_t id,
	       const char *name, uint64_t pages)
{
	return t->visitor->counter(t->ctx, &(struct derived_counter){.ts = s->ts,
								     .process = s->process,
								     .id = id,
								     .name = name,
								     .value = pages});
}

/* Pages that a P allocated and no P has freed. */
static uint64_t pages_of(const struct pages_owners *o, uint32_t slot)
{
	uint64_t freed = 0;
	for (uint32_t by = 0; by < o->count; by++)
		freed += pages_owners_freed(o, slot, by);
	return o->owner[slot].allocated > freed ? o->owner[slot].allocated - freed : 0;
}

static int put_state(struct page_tracks *t, const struct page_counters_state *s)
{
	const uint64_t *n = s->model->heap.count;
	const struct pages_owners *o = &s->model->owners;
	int err = put(t, s, DERIVED_PAGES_ALLOCATED, "allocated pages", n[PAGES_ALLOCATED]);
	if (!err)
		err = put(t, s, DERIVED_PAGES_FREE, "free pages", n[PAGES_FREE]);
	if (!err)
		err = put(t, s, DERIVED_PAGES_SCAVENGED, "scavenged pages", n[PAGES_SCAVENGED]);
	/* Threads come and go: too many for a track each. */
	for (uint32_t slot = 1;
	     !s->model->opt.is_space && slot < o->count && slot <= PAGE_TRACKS_PS && !err; slot++) {
		char name[48];
		int32_t p = o->owner[slot].p;
		snprintf(name, sizeof(name), "pages allocated by P %d", p);
		err = put(t, s, (uint32_t)(DERIVED_PAGES_OF_P + p + 1), name, pages_of(o, slot));
	}
	return err;
}

int page_tracks_event(struct page_tracks *t, const struct ebt_event *ev)
{
	struct page_counters_state state;
	int err = 0;
	if (page_counters_due(&t->counters, ev, &state))
		err = put_state(t, &state);
	return err ? err : page_counters_event(&t->counters, ev);
}

int page_tracks_forget(struct page_tracks *t, uint32_t process)
{
	struct page_counters_state state;
	int err = 0;
	if (page_counters_last(&t->counters, process, &state))
		err = put_state(t, &state);
	page_counters_forget(&t->counters, process);
	return err;
}

int page_tracks_end(struct page_tracks *t)
{
	uint32_t process;
	int err = 0;
	while (!err && page_counters_any(&t->counters, &process))
		err = page_tracks_forget(t, process);
	return err;
}
