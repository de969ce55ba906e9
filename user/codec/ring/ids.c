/* SPDX-License-Identifier: BSD-2-Clause */
#include "codec/ring/ids.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Ids have no gaps, so their number is the first that is unknown. */
enum {
	COUNTERS = 0
#define EBT_COUNTER_ID(id, name, unit, help) +1
#include <ebtrace/events.def>
	,
	LIFECYCLES = 0
#define EBT_LIFECYCLE_ID(id, name, help) +1
#include <ebtrace/events.def>
};
/* Since 5.3 the numbers are the canonical ones. */
static const uint16_t same_phases[] = {
#define EBT_PHASE(id, name, stops) [id] = id,
#include <ebtrace/events.def>
};

/* 5.0, 5.1: the first 40. 5.2 appended the four of compaction. */
static const uint16_t old_phases[] = {
	0,  1,	2,  3,	4,  5,	6,  7,	8,  10, 11, 12, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
	25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
};
#define PHASES_5_0 40
#define NO	   RING_NO_RAW
static const uint16_t old_raw_phases[] = {
	0,  1,	2,  3,	4,  5,	6,  7,	8,  NO, 9,  10, 11, NO, NO, 12, 13,
	14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
	31, 32, 33, NO, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, NO, NO,
};
static const uint16_t oldest_raw_phases[] = {
	0,  1,	2,  3,	4,  5,	6,  7,	8,  NO, 9,  10, 11, NO, NO, 12, 13,
	14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
	31, 32, 33, NO, 34, 35, 36, 37, 38, 39, NO, NO, NO, NO, NO, NO,
};
#undef NO

static bool is_old(enum ebt_release r)
{
	return r >= EBT_RELEASE_OCAML_5_0 && r <= EBT_RELEASE_OCAML_5_2;
}

unsigned ring_numbering(enum ebt_release release)
{
	return !is_old(release) ? 0 : release == EBT_RELEASE_OCAML_5_2 ? 2 : 1;
}

const uint16_t *ring_numbering_phases(unsigned numbering, uint32_t *n)
{
	if (!numbering) {
		*n = ARRAY_SIZE(same_phases);
		return same_phases;
	}
	*n = numbering == 2 ? ARRAY_SIZE(old_phases) : PHASES_5_0;
	return old_phases;
}

const uint16_t *ring_canonical_phases(enum ebt_release release, uint32_t *n)
{
	return ring_numbering_phases(ring_numbering(release), n);
}

const uint16_t *ring_raw_phases(enum ebt_release release, uint32_t *n)
{
	*n = is_old(release) ? ARRAY_SIZE(old_raw_phases) : 0;
	if (!*n)
		return NULL;
	return release == EBT_RELEASE_OCAML_5_2 ? old_raw_phases : oldest_raw_phases;
}

uint32_t ring_counters(void)
{
	return COUNTERS;
}
uint32_t ring_lifecycles(void)
{
	return LIFECYCLES;
}

const char *ring_release_name(enum ebt_release release)
{
	switch (release) {
	case EBT_RELEASE_AUTO:
		return "auto";
	case EBT_RELEASE_EBTRACE:
		return "ebtrace";
	case EBT_RELEASE_OCAML_5_0:
		return "ocaml 5.0";
	case EBT_RELEASE_OCAML_5_1:
		return "ocaml 5.1";
	case EBT_RELEASE_OCAML_5_2:
		return "ocaml 5.2";
	case EBT_RELEASE_OCAML_5_3:
		return "ocaml 5.3";
	case EBT_RELEASE_OCAML_5_4:
		return "ocaml 5.4";
	case EBT_RELEASE_OCAML_5_5:
		return "ocaml 5.5";
	}
	return "unknown";
}
