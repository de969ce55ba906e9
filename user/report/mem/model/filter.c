/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/model/filter.h"

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

static bool any_matches(const struct mem_glob *g, const struct session *s, uint32_t stack)
{
	for (; stack; stack = stacks_parent(s->stacks, stack)) {
		const struct frame *f = frames_get(s->frames, stacks_frame(s->stacks, stack));
		for (uint32_t i = 0; i < f->count; i++)
			if (position_matches(g, s, &f->position[i]))
				return true;
	}
	return false;
}

static bool site_matches(const struct mem_glob *g, const struct mem_wrappers *w,
			 const struct session *s, uint32_t stack)
{
	const struct frame_position *innermost = NULL, *nameless = NULL;
	for (; stack; stack = stacks_parent(s->stacks, stack)) {
		const struct frame *f = frames_get(s->frames, stacks_frame(s->stacks, stack));
		for (uint32_t i = f->count; i-- > 0;) {
			const struct frame_position *p = &f->position[i];
			const char *name = strings_text(s->strings, p->function);
			innermost = innermost ? innermost : p;
			if (mem_wrappers_has(w, name))
				nameless = NULL;
			else if (!mem_wrappers_nameless(name))
				return position_matches(g, s, nameless ? nameless : p);
			else if (!nameless)
				nameless = p;
		}
	}
	innermost = nameless ? nameless : innermost;
	return innermost && position_matches(g, s, innermost);
}

static bool glob_matches(const struct mem_glob *g, const struct mem_filter *f,
			 const struct session *s, uint32_t stack)
{
	return g->what == MEM_FILTER_SITE ? site_matches(g, &f->wrappers, s, stack)
					  : any_matches(g, s, stack);
}

bool mem_filter_stack(const struct mem_filter *f, const struct session *s, uint32_t stack)
{
	for (unsigned i = 0; i < f->globs; i++)
		if (glob_matches(&f->glob[i], f, s, stack) == f->glob[i].excludes)
			return false;
	return true;
}
