// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/numberings.h"

#include <string.h>

#include "codec/ring/ids.h"
#include "session/phases.h"
#include "session/versions.h"

_Static_assert(RING_NUMBERINGS <= EBT_NUMBERINGS, "the programs have room for each");
_Static_assert((int)PHASES_UNKNOWN == (int)EBT_COUNT_UNKNOWN, "the programs have the same rows");

unsigned numberings_of(struct runtime_version version)
{
	return ring_numbering((enum ebt_release)versions_release(version));
}

bool numberings_phase(unsigned numbering, uint32_t number, uint32_t *ret_id)
{
	uint32_t known;
	if (!numbering) {
		*ret_id = number;
		return phases_find(number) != NULL;
	}
	const uint16_t *canonical = ring_numbering_phases(numbering, &known);
	if (number >= known)
		return false;
	*ret_id = canonical[number];
	return true;
}

void numberings_set_runs(struct ebt_phase_set ret[EBT_NUMBERINGS])
{
	memset(ret, 0, EBT_NUMBERINGS * sizeof(*ret));
	for (unsigned numbering = 0; numbering < RING_NUMBERINGS; numbering++)
		for (uint32_t number = 0, id; number < EBT_PHASE_IDS; number++)
			if (numberings_phase(numbering, number, &id) &&
			    phases_find(id)->stop == TRAITS_RUNS)
				ret[numbering].bits[number / 64] |= 1ull << number % 64;
}

static uint16_t row_of(uint32_t id)
{
	uint32_t row = phases_row(id);
	const struct traits_phase *p = phases_at(row);
	return (uint16_t)(row | (p->stop != TRAITS_RUNS ? EBT_COUNT_STOPS : 0) |
			  (p->roles & TRAITS_CYCLE ? EBT_COUNT_CYCLE : 0) |
			  (p->roles & TRAITS_COMPACTION ? EBT_COUNT_COMPACTION : 0));
}

void numberings_set_rows(uint16_t ret[EBT_NUMBERINGS][EBT_PHASE_IDS])
{
	for (unsigned numbering = 0; numbering < EBT_NUMBERINGS; numbering++)
		for (uint32_t number = 0, id; number < EBT_PHASE_IDS; number++)
			ret[numbering][number] =
				row_of(numbering < RING_NUMBERINGS &&
						       numberings_phase(numbering, number, &id)
					       ? id
					       : UINT32_MAX);
}
