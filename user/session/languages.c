/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/languages.h"

#include <string.h>

const struct language *const languages[LANGUAGES_MAX + 1] = {
	&language_ebtrace_probes,
	&language_ocaml,
	&language_cxx,
};

const struct language *languages_find(const char *name, size_t len)
{
	for (const struct language *const *l = languages; *l; l++)
		if (strlen((*l)->traits.name) == len && !memcmp((*l)->traits.name, name, len))
			return *l;
	return NULL;
}

const char languages_requirement[] = "be an OCaml 5 program or link libebtrace-probes";
const char languages_advice[] = "start it with OCAML_RUNTIME_EVENTS_START=1 (OCaml 5), or link "
				"libebtrace-probes";
const char languages_functions[] = "functions of OCaml's runtime";
const char languages_allocs[] = "allocations of OCaml";
const char languages_sampled[] = "OCaml 5 in native code";
const char languages_common_dir[] = "OCAML_RUNTIME_EVENTS_DIR"; /* our library reads it, too */
