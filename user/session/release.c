/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/release.h"

#include "codec/ring/ids.h"
#include "session/language.h"

struct traits release_traits(enum ebt_release release)
{
	struct traits t = language_traits(release);
	if (t.language)
		t.raw_phase = ring_raw_phases(release, &t.raw_phases);
	return t;
}
