// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/numberings.h"

#include <string.h>

#include "codec/ring/ids.h"
#include "session/phases.h"
#include "session/versions.h"

_Static_assert(RING_NUMBERINGS <= EBT_NUMBERINGS, "the programs have room for each");

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
