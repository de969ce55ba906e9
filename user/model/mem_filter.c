/* SPDX-License-Identifier: BSD-2-Clause */
#include "model/mem_filter.h"

#include <fnmatch.h>
#include <math.h>

void mem_filter_init(struct mem_filter *f)
{
	*f = (struct mem_filter){
		.lifetime_ns = {0, INFINITY},
		.size_bytes = {0, INFINITY},
	};
}

static bool position_matches(const struct mem_glob *g, const struct session *s,
			     const struct frame_position *p)
{
	uint32_t id = g->what == MEM_FILTER_FILE ? p->file : p->function;
	const char *text = strings_text(s->strings, id);
	return text && !fnmatch(g->pattern, text, 0);
}

static bool glob_matches(const struct mem_glob *g, const struct session *s, uint32_t stack)
{
	for (; stack; stack = stacks_parent(s->stacks, stack)) {
		const struct frame *f = frames_get(s->frames, stacks_frame(s->stacks, stack));
		uint32_t from = g->what == MEM_FILTER_SITE && f->count ? f->count - 1 : 0;
		for (uint32_t i = from; i < f->count; i++)
			if (position_matches(g, s, &f->position[i]))
				return true;
		if (g->what == MEM_FILTER_SITE && f->count)
			return false;
	}
	return false;
}

bool mem_filter_stack(const struct mem_filter *f, const struct session *s, uint32_t stack)
{
	for (unsigned i = 0; i < f->globs; i++)
		if (glob_matches(&f->glob[i], s, stack) == f->glob[i].excludes)
			return false;
	return true;
}
