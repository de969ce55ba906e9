/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/stat_phases.h"

static const bool goes_on[STAT_PHASES + 1] = {
	[STAT_PHASE_domain_condition_wait] = true,
};

static const char *const names[STAT_PHASES + 1] = {
#define EBT_PHASE(id, name) [id] = #name,
#include <ebtrace/events.def>
	[STAT_PHASES] = "unknown",
};

bool stat_phase_stops(uint32_t index)
{
	return !goes_on[index];
}

const char *stat_phase_name(uint32_t index)
{
	return names[index];
}
