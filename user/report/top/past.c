/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/top/past.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "session/stacks.h"

#define SAMPLES_MAX (1u << 20) /* of one object */

static void free_past(struct top_past *p, struct session *s)
{
	for (unsigned i = 0; p->site && i < TOP_SITES; i++)
		frames_drop(s->frames, p->site[i].frame);
	free(p->site);
	free(p);
}

void top_pasts_done(struct top_pasts *ps, struct session *s)
{
	struct top_past *p;
	for (size_t at = 0; (p = ptrarray_next(&ps->by_process, &at));)
		free_past(p, s);
	ptrarray_done(&ps->by_process);
	for (uint32_t i = 0; i < ps->kept_count; i++)
		free_past(ps->kept[i], s);
	free(ps->kept);
	*ps = (struct top_pasts){0};
}

int top_pasts_release(struct top_pasts *ps, uint32_t process, uint32_t number)
{
	if (!ptrarray_get(&ps->by_process, process))
		return 0;
	if (!array_reserve(ps->kept, ps->kept_cap, ps->kept_count))
		return -ENOMEM;
	struct top_past *p = ptrarray_remove(&ps->by_process, process);
	p->number = number;
	ps->kept[ps->kept_count++] = p;
	return 0;
}

static bool is_listed(const struct stat_process *first, uint32_t number)
{
	while (first && (first->process || first->number != number))
		first = first->next;
	return first;
}

void top_pasts_prune(struct top_pasts *ps, struct session *s, const struct stat_process *first)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < ps->kept_count; i++)
		if (is_listed(first, ps->kept[i]->number))
			ps->kept[kept++] = ps->kept[i];
		else
			free_past(ps->kept[i], s);
	ps->kept_count = kept;
}

struct top_past *top_pasts_of(const struct top_pasts *ps, const struct stat_process *p)
{
	if (p->process)
		return ptrarray_get(&ps->by_process, p->process);
	for (uint32_t i = 0; i < ps->kept_count; i++)
		if (ps->kept[i]->number == p->number)
			return ps->kept[i];
	return NULL;
}

void top_pasts_forget(struct top_pasts *ps, struct session *s, uint32_t process)
{
	struct top_past *p = ptrarray_remove(&ps->by_process, process);
	if (p)
		free_past(p, s);
}

struct top_past *top_pasts_make(struct top_pasts *ps, uint32_t process)
{
	bool is_new;
	return ptrarray_make(&ps->by_process, process, &is_new);
}

/* The two largest parts; the second may be none. */
static void put_parts(const struct blame_split *s, struct top_pause *ret)
{
	for (unsigned i = 0; i < BLAME_PARTS; i++) {
		unsigned to = s->ns[i] > ret->part_ns[0] ? 0 : 1;
		if (s->ns[i] <= ret->part_ns[to])
			continue;
		if (!to) {
			ret->part[1] = ret->part[0];
			ret->part_ns[1] = ret->part_ns[0];
		}
		ret->part[to] = (uint8_t)i;
		ret->part_ns[to] = s->ns[i];
	}
}

void top_past_pause(struct top_past *p, const struct blame_pause *pause)
{
	struct top_pause *to = &p->pause[p->pauses++ % TOP_PAUSES];
	*to = (struct top_pause){
		.end_ns = pause->end_ns,
		.ns = pause->ns,
		.row = pause->row,
		.tid = pause->tid,
		.domain = pause->domain,
		.waited_for = pause->culprit.ns ? pause->culprit.domain : EBT_NO_DOMAIN,
	};
	put_parts(&pause->split, to);
	if (pause->split.longest.ns)
		memcpy(to->cause, pause->split.longest.comm, sizeof(to->cause));
}

/* The site of a frame, or the one with the fewest samples, which then is another's. */
static struct top_site *find_site(struct top_past *p, struct session *s, uint32_t frame)
{
	struct top_site *least = p->site;
	for (unsigned i = 0; i < TOP_SITES; i++) {
		struct top_site *site = &p->site[i];
		if (site->frame == frame)
			return site;
		if (site->samples < least->samples)
			least = site;
	}
	/* The new one may have had as many before (Metwally's space saving). */
	frames_hold(s->frames, frame);
	frames_drop(s->frames, least->frame);
	least->frame = frame;
	return least;
}

int top_past_alloc(struct top_past *p, struct session *s, const struct ebt_event *ev)
{
	uint32_t frame = ev->stack ? stacks_frame(s->stacks, ev->stack) : 0;
	uint64_t samples = ev->pos && ev->pos <= SAMPLES_MAX ? ev->pos : 1;
	p->samples += samples;
	if (!frame)
		return 0;
	if (!p->site && !(p->site = calloc(TOP_SITES, sizeof(*p->site))))
		return -ENOMEM;
	struct top_site *site = find_site(p, s, frame);
	site->samples += samples;
	return 0;
}
