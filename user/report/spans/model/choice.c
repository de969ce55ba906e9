/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/spans/model/choice.h"

#include <fnmatch.h>

#include "session/kinds.h"
#include "session/phases.h"

bool span_choice_matches(const struct span_choice *c, const char *name)
{
	for (unsigned i = 0; i < c->count; i++)
		if (!fnmatch(c->globs[i], name, 0))
			return true;
	return !c->count;
}

bool span_choice_matches_a_phase(const struct span_choice *c)
{
	for (uint32_t id = UINT32_MAX; c->count && phases_next(&id);)
		if (span_choice_matches(c, kinds_phase_name(id)))
			return true;
	return false;
}

static void note_seen(struct span_choice *c, uint32_t text)
{
	c->seen_more |= c->seen_count == SPANS_SEEN;
	if (c->seen_count < SPANS_SEEN)
		c->seen[c->seen_count++] = text;
}

bool span_choice_wants(struct span_choice *c, struct span_sums *sums, const char *name)
{
	if (!c->count)
		return true;
	uint32_t text = span_sums_text(sums, name);
	uint64_t *known = text ? map_put(&c->matches, text) : NULL;
	if (!known)
		return span_choice_matches(c, name);
	if (!*known) {
		*known = span_choice_matches(c, name) ? 2 : 1;
		if (*known == 1)
			note_seen(c, text);
	}
	return *known == 2;
}

void span_choice_done(struct span_choice *c)
{
	map_done(&c->matches);
}
