/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/release.h"

#include "codec/ring_ids.h"

struct traits release_traits(enum ebt_release release)
{
	struct traits t = {0};
	if (release == EBT_RELEASE_EBTRACE) {
		t.language = TRAITS_OTHER;
		t.release = release;
	} else if (release >= EBT_RELEASE_OCAML_5_0 && release <= EBT_RELEASE_OCAML_5_5) {
		t.language = TRAITS_OCAML;
		t.has_version = true;
		t.major = 5;
		t.minor = (uint16_t)(release - EBT_RELEASE_OCAML_5_0);
		t.release = release;
		t.raw_phase = ring_raw_phases(release, &t.raw_phases);
	}
	return t;
}
