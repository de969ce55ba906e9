/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/phases.h"

#include <stddef.h>

#include "session/languages.h"

const struct traits_phase phases_unknown = {.name = "unknown", .stop = TRAITS_STOPS};

static bool has_own(const struct language *l)
{
	return l->traits.phases.count && l->traits.phases.first >= PHASES_OWN;
}

const struct traits_phase *phases_find_other(uint32_t id)
{
	for (const struct language *const *l = languages; *l; l++) {
		const struct traits_phases *p = &(*l)->traits.phases;
		if (has_own(*l) && id - p->first < p->count)
			return &p->phase[id - p->first];
	}
	return NULL;
}

uint32_t phases_row_of_other(uint32_t id)
{
	uint32_t row = PHASES;
	for (const struct language *const *l = languages; *l; l++) {
		const struct traits_phases *p = &(*l)->traits.phases;
		if (!has_own(*l))
			continue;
		if (id - p->first < p->count)
			return row + (id - p->first) < PHASES_UNKNOWN ? row + (id - p->first)
								      : PHASES_UNKNOWN;
		row += p->count;
	}
	return PHASES_UNKNOWN;
}

const struct traits_phase *phases_at_other(uint32_t row)
{
	uint32_t first = PHASES;
	for (const struct language *const *l = languages; *l && row < PHASES_UNKNOWN; l++) {
		const struct traits_phases *p = &(*l)->traits.phases;
		if (!has_own(*l))
			continue;
		if (row - first < p->count)
			return &p->phase[row - first];
		first += p->count;
	}
	return &phases_unknown;
}

bool phases_next(uint32_t *id)
{
	uint32_t from = *id + 1, next = UINT32_MAX;
	if (from < PHASES) {
		*id = from;
		return true;
	}
	for (const struct language *const *l = languages; *l; l++) {
		const struct traits_phases *p = &(*l)->traits.phases;
		uint32_t at = from > p->first ? from : p->first;
		if (has_own(*l) && at - p->first < p->count && at < next)
			next = at;
	}
	*id = next;
	return next != UINT32_MAX;
}
