/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/pages/model/timeline.h"

#include <string.h>

#define FIRST_WIDTH_NS 1000

void pages_timeline_begin(struct pages_timeline *t, uint64_t ns, const uint64_t now[PAGES_COUNTS])
{
	t->begin_ns = ns;
	t->width_ns = FIRST_WIDTH_NS;
	t->count = 1;
	t->end_ns = ns + FIRST_WIDTH_NS;
	t->point[0] = (struct pages_point){.most = now[PAGES_ALLOCATED]};
}

static struct pages_point point_of(const uint64_t now[PAGES_COUNTS],
				   const struct pages_moved *moved)
{
	struct pages_point p = {.most = now[PAGES_ALLOCATED], .moved = *moved};
	memcpy(p.count, now, sizeof(p.count));
	return p;
}

static void halve(struct pages_timeline *t)
{
	for (uint32_t i = 0; i < PAGES_TIMELINE_POINTS / 2; i++) {
		const struct pages_point *a = &t->point[2 * i], *b = a + 1;
		uint64_t most = a->most > b->most ? a->most : b->most;
		t->point[i] = *b;
		t->point[i].most = most;
	}
	t->count = PAGES_TIMELINE_POINTS / 2;
	t->width_ns *= 2;
}

void pages_timeline_finish(struct pages_timeline *t, const uint64_t now[PAGES_COUNTS],
			   const struct pages_moved *moved)
{
	if (!t->count)
		return;
	struct pages_point *p = &t->point[t->count - 1];
	uint64_t most = p->most;
	*p = point_of(now, moved);
	p->most = most;
}

void pages_timeline_advance(struct pages_timeline *t, uint64_t ns, const uint64_t now[PAGES_COUNTS],
			    const struct pages_moved *moved)
{
	struct pages_point same = point_of(now, moved);
	pages_timeline_finish(t, now, moved);
	while ((ns - t->begin_ns) / t->width_ns >= PAGES_TIMELINE_POINTS) {
		/* Buckets without an event have the state of the one before. */
		for (; t->count < PAGES_TIMELINE_POINTS; t->count++)
			t->point[t->count] = same;
		halve(t);
	}
	uint32_t last = (uint32_t)((ns - t->begin_ns) / t->width_ns);
	for (; t->count <= last; t->count++)
		t->point[t->count] = same;
	t->end_ns = t->begin_ns + t->count * t->width_ns;
}

void pages_timeline_amend(struct pages_timeline *t, uint64_t from_ns, uint64_t to_ns,
			  uint64_t pages)
{
	for (uint32_t i = 0; i < t->count; i++) {
		struct pages_point *p = &t->point[i];
		uint64_t begin = t->begin_ns + i * t->width_ns, end = begin + t->width_ns;
		if (begin < to_ns && end > from_ns)
			p->most += pages;
		if (end <= from_ns || end > to_ns)
			continue;
		p->count[PAGES_ALLOCATED] += pages;
		p->count[PAGES_UNSEEN] -=
			p->count[PAGES_UNSEEN] < pages ? p->count[PAGES_UNSEEN] : pages;
	}
}
