/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/spans/model/choice.h"

#include <fnmatch.h>
#include <stdlib.h>

#include "base/array.h"
#include "session/kinds.h"
#include "session/phases.h"

/* Of the name of a text. */
enum { NOT_ASKED, MATCHES, MATCHES_NOT };

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

bool span_choice_wants(struct span_choice *c, const char *name, uint32_t text)
{
	if (!c->count)
		return true;
	if (!text || !array_room(c->matches, c->matches_count, text))
		return span_choice_matches(c, name);
	uint8_t *known = &c->matches[text];
	if (*known == NOT_ASKED) {
		*known = span_choice_matches(c, name) ? MATCHES : MATCHES_NOT;
		if (*known == MATCHES_NOT)
			note_seen(c, text);
	}
	return *known == MATCHES;
}

void span_choice_done(struct span_choice *c)
{
	free(c->matches);
}
